"""Reading that never holds up the loop: small documents at once, large ones in a process of their own.

A process, because parsing holds the interpreter for as long as it takes, and because a document may be made to take
forever or all memory. It is a fresh interpreter fed through pipes, not a fork (the crawler has threads) and not
`multiprocessing` (which would run the caller's own main module again). It is started on first need. One that exceeds
the time or dies is killed and replaced, and only the document it was reading is lost.

Results come back in slices, decoded one at a time with the loop let in between, so that fifty thousand items cost many
short moments instead of one long one.
"""

from __future__ import annotations

import asyncio
import struct
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO

import msgspec

from recrawl.crawl.decoding import LIST_ROOTS, document_start
from recrawl.crawl.findings import Findings, FoundItem, UnreadableError
from recrawl.crawl.reading import Document, NeedsPatience, read

SLICE = 1000
"""Items looked at at a stretch."""
SLOW_COUNT = 8
"""How many times longer a byte takes that is not of a list in XML: every line is looked at for what changes by itself.
What bytes cost at worst is in docs/design/008-reading.md."""
MOST_ELEMENTS = 5000
"""Tags, or braces, past which a document is large whatever its size."""
LEAST_S, PER_MB_S = 10.0, 2.0
"""How long reading may take, the start of the process included. An ordinary page takes a hundredth of a second: one
that was made to take for ever does not keep the others waiting for as long as the largest document may need."""
MEMORY = 1 << 30
"""Bytes of address space a reading process may take."""
_LENGTH = struct.Struct("<Q")
_COMMAND = "from recrawl.crawl.readers import serve; serve()"


class Readers:
    """Reads documents, each within a bounded time.

    Parameters
        workers: processes for large documents
        large: bytes from which a document goes to a process; what is no list in XML counts `SLOW_COUNT` times its size
        timeout_s: for the largest document, waiting not included; smaller ones have less
    """

    def __init__(self, workers: int = 1, large: int = 256_000, timeout_s: float = 30.0) -> None:
        self._large = large
        self.timeout_s = timeout_s
        self._workers = [_Worker() for _ in range(workers)]
        self._closed = False
        self._free: asyncio.Queue[_Worker] | None = None
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="reader")

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the processes that are up."""
        return tuple(pid for worker in self._workers if (pid := worker.pid) is not None)

    async def read(self, document: Document) -> Findings:
        """What it says; UnreadableError if it cannot be read, or not in time."""
        if self._is_small(document):
            try:
                return read(document, patience=False)
            except NeedsPatience:
                pass
        return await self._read_elsewhere(document)

    def _is_small(self, document: Document) -> bool:
        """Whether it takes no more than a few hundredths of a second, however it is made."""
        body, size = document.body, len(document.body)
        counts = document.counts
        if counts.select or counts.ignore or counts.ignore_text or document.marked or size >= self._large:
            return False
        if size * SLOW_COUNT >= self._large and not _is_list(document):
            return False
        return body.count(b"<") + body.count(b"{") < MOST_ELEMENTS

    async def close(self) -> None:
        """End the processes; what they were reading is not read."""
        self._closed = True
        for worker in self._workers:
            worker.kill()
        await asyncio.to_thread(self._threads.shutdown)

    async def _read_elsewhere(self, document: Document) -> Findings:
        if self._closed:
            raise UnreadableError("not read: the readers are closed")
        if self._free is None:
            self._free = asyncio.Queue()
            for each in self._workers:
                self._free.put_nowait(each)
        worker = await self._free.get()
        try:
            slices = await self._answer(worker, document)
        finally:
            self._free.put_nowait(worker)
        return await _put_together(slices)

    async def _answer(self, worker: _Worker, document: Document) -> list[bytes]:
        limit_s = min(self.timeout_s, LEAST_S + PER_MB_S * len(document.body) / 1e6)
        asked = asyncio.get_running_loop().run_in_executor(self._threads, worker.ask, document)
        try:
            return await asyncio.wait_for(asyncio.shield(asked), limit_s)
        except TimeoutError:
            patterns = ", perhaps for what is ignored by a pattern" if document.counts.ignore_text else ""
            raise UnreadableError(f"reading it took more than {limit_s:.3g} s{patterns}") from None
        except (OSError, EOFError, ValueError) as error:
            raise UnreadableError("reading it took more memory than allowed, or broke the reader") from error
        finally:
            if not asked.done() or asked.exception() is not None:
                await _ended(worker, asked)


def _is_list(document: Document) -> bool:
    """Whether it will be read as a feed or sitemap in XML."""
    return document.kind != "page" and document_start(document.body)[0] in LIST_ROOTS


async def _ended(worker: _Worker, asked: asyncio.Future[list[bytes]]) -> None:
    """Kill it until the thread that asks it notices: it may have been about to start."""
    while True:
        worker.kill()
        await asyncio.wait([asked], timeout=0.05)
        if asked.done():
            if not asked.cancelled():
                asked.exception()  # known: it was ended; else the loop would complain of it later
            return


class _Worker:
    """One process, and the pipes to it; used by one thread at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Its process id while it is up."""
        process = self._process
        return None if process is None else process.pid

    def ask(self, document: Document) -> list[bytes]:
        """Send a document, wait for the slices of the answer."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        _send(process.stdin, msgspec.msgpack.encode(msgspec.structs.replace(document, body=b"")))
        _send(process.stdin, document.body)
        process.stdin.flush()
        count = _LENGTH.unpack(_exactly(process.stdout, _LENGTH.size))[0]
        return [_receive(process.stdout) for _ in range(count)]

    def kill(self) -> None:
        """End it; whoever waits for its answer meets the end of the pipe."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.kill()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _COMMAND],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self._process


def serve() -> None:
    """What a reading process does: read documents from its standard input until that ends."""
    _limit_memory()
    wanted, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while True:
        try:
            settings = _receive(wanted)
        except EOFError:
            return
        document = msgspec.msgpack.decode(settings, type=Document)
        answer = _answered(msgspec.structs.replace(document, body=_receive(wanted)))
        answers.write(_LENGTH.pack(len(answer)))
        for part in answer:
            _send(answers, part)
        answers.flush()


def _answered(document: Document) -> list[bytes]:
    """The head of the findings or the complaint, then slices of the items."""
    encode: Callable[[object], bytes] = msgspec.msgpack.Encoder().encode
    try:
        findings = read(document)
    except UnreadableError as error:
        return [encode(str(error))]
    items = findings.items
    head = encode(msgspec.structs.replace(findings, items=()))
    return [head, *(encode(items[start : start + SLICE]) for start in range(0, len(items), SLICE))]


_HEAD: msgspec.msgpack.Decoder[Findings | str] = msgspec.msgpack.Decoder(Findings | str)
_ITEMS: msgspec.msgpack.Decoder[list[FoundItem]] = msgspec.msgpack.Decoder(list[FoundItem])


async def _put_together(slices: list[bytes]) -> Findings:
    head = _HEAD.decode(slices[0])
    if isinstance(head, str):
        raise UnreadableError(head)
    items: list[FoundItem] = []
    for part in slices[1:]:
        items += _ITEMS.decode(part)
        await asyncio.sleep(0)
    return msgspec.structs.replace(head, items=tuple(items))


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(_LENGTH.pack(len(data)))
    pipe.write(data)


def _receive(pipe: IO[bytes]) -> bytes:
    return _exactly(pipe, _LENGTH.unpack(_exactly(pipe, _LENGTH.size))[0])


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _limit_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, ValueError, OSError):
        return
