"""One door for every document: what is it, and what does it say? Small ones are read at once, others elsewhere.

The kind is told by content first: a feed served as text/html is a feed, and an error page served as application/rss+xml
is a page. The Content-Type only decides among documents without a telling root. A source of known kind is read as that
kind, and one that turned into something else says so instead of being misread.

Reading never holds up the loop: large documents are read in a process of their own, because parsing holds the
interpreter for as long as it takes, and because a document may be made to take forever or all memory. It is a fresh
interpreter fed through pipes, not a fork (the crawler has threads) and not `multiprocessing` (which would run the
caller's own main module again). It is started on first need. One that exceeds the time or dies is killed and replaced,
and only the document it was reading is lost.

Results come back in slices, decoded one at a time with the loop let in between, so that fifty thousand items cost many
short moments instead of one long one.
"""

from __future__ import annotations

import asyncio
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Literal

import msgspec

from recrawl.config import HintSwitches
from recrawl.crawl.reading import decoding, hub_links, publisher_hints
from recrawl.crawl.reading.feeds import read_feed
from recrawl.crawl.reading.findings import Findings, FoundItem, UnreadableError
from recrawl.crawl.reading.in_full import NOTHING, Asked, judged
from recrawl.crawl.reading.json_feed import is_json_feed, read_json_feed
from recrawl.crawl.reading.json_text import read_json
from recrawl.crawl.reading.numbers import BY_TEXT
from recrawl.crawl.reading.page_selection import WhatCounts, is_json_path
from recrawl.crawl.reading.pages import read_bytes, read_page, read_text
from recrawl.crawl.reading.pdf_text import is_pdf, read_pdf
from recrawl.crawl.reading.sitemaps import read_sitemap, read_text_sitemap
from recrawl.crawl.work_limit import NeedsPatience, hurried
from recrawl.store.records import SourceKind

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
_COMMAND = "from recrawl.crawl.reading.readers import serve; serve()"
Shape = Literal["feed", "json feed", "sitemap", "html", "text", "other"]
_SHAPES: dict[str, Shape] = {
    "rss": "feed", "rdf": "feed", "feed": "feed", "channel": "feed", "urlset": "sitemap", "sitemapindex": "sitemap",
    "html": "html", "head": "html", "body": "html",
}  # fmt: skip
_NAMES: dict[Shape, str] = {
    "feed": "a feed", "json feed": "a JSON feed", "sitemap": "a sitemap", "html": "an HTML page", "text": "plain text",
    "other": "neither text nor markup",
}  # fmt: skip
_TEXTUAL = ("text/", "application/json", "application/xml", "application/javascript", "application/yaml")


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Something fetched, and how to read it. Plain data: it may travel to another process.

    Parameters
        url: where it came from in the end; relative links are resolved against it
        kind: what it is known to be; "auto" to find out
        content_type: as the server said
        headers: of the response, names in lower case
        now: of the fetch, Unix seconds
        counts: what of a page is compared
        keep_text: bytes of a page's text that are kept
        switches: which of the publisher's hints count
        marked: whether to say, of a page, which parts count
        asked: what is wanted of the items of a list besides
    """

    url: str
    body: bytes
    now: float
    kind: SourceKind = "auto"
    content_type: str = ""
    headers: Mapping[str, str] = {}
    counts: WhatCounts = WhatCounts()
    keep_text: int = 200_000
    switches: HintSwitches = HintSwitches()
    marked: bool = False
    asked: Asked = NOTHING


def read(document: Document) -> Findings:
    """What it says; UnreadableError if it cannot be read, or is not what it should be."""
    body = decoding.utf8(document.body, document.content_type)
    shape, start = shape_of(body, document.content_type)
    findings = _read_as(document, shape, body[start:] if start else body)
    findings = hub_links.completed(findings, document.headers, document.url)
    if document.asked.rules and findings.items:
        findings = msgspec.structs.replace(findings, items=judged(findings.items, document.asked))
    stay = publisher_hints.of_headers(document.headers, document.now, document.switches)
    if stay is None:
        return findings
    return msgspec.structs.replace(findings, stay_away_s=publisher_hints.longest(findings.stay_away_s, stay))


def shape_of(body: bytes, content_type: str = "") -> tuple[Shape, int]:
    """What a document in UTF-8 looks like, and where it starts."""
    if body == decoding.REFUSED:
        return "other", 0
    root, start = decoding.document_start(body)
    if root in _SHAPES:
        return _SHAPES[root], start
    kind = content_type.partition(";")[0].strip().lower()
    if body[:200].lstrip()[:1] == b"{" and is_json_feed(body):
        return "json feed", 0
    if "html" in kind or (root and not kind):
        return "html", 0
    if kind.startswith(_TEXTUAL) or kind.endswith(("+xml", "+json")) or (not kind and b"\0" not in body[:1024]):
        return "text", 0
    return "other", 0


def _read_as(document: Document, shape: Shape, body: bytes) -> Findings:
    kind, counts, keep = document.kind, document.counts, document.keep_text
    if kind in ("feed", "sitemap") and not body.strip():
        raise UnreadableError(f"expected a {kind}, but this is empty")
    if kind in ("auto", "page") and is_pdf(document.body) and not counts.select and counts.digest == "text":
        found = read_pdf(document.body, document.now, counts, keep, document.marked)
        return found or read_bytes(document.body, counts, may_be_text=True)
    if kind in ("auto", "feed"):
        if shape == "feed":
            return read_feed(body, document.url, document.now, document.switches, document.asked)
        if shape == "json feed":
            return read_json_feed(body, document.url, document.now, document.asked)
    if kind in ("auto", "sitemap"):
        if shape == "sitemap":
            return read_sitemap(body, document.url, document.now, document.switches)
        if kind == "sitemap" and shape == "text":
            return read_text_sitemap(body, document.url)
    if kind == "auto" and not body.strip():
        raise UnreadableError("the document is empty, so what it should be cannot be told")
    if kind in ("feed", "sitemap"):
        raise UnreadableError(f"expected a {kind}, but this is {_NAMES[shape]}")
    how = (counts, keep, document.body, document.marked)
    if shape in ("text", "json feed") and (is_json_path(counts.select) or not counts.select):
        return read_json(body, document.now, *how) or read_text(body, document.now, *how)
    if is_json_path(counts.select):
        raise UnreadableError(f"the selector {counts.select[:200]!r} is for JSON, but this is {_NAMES[shape]}")
    if counts.select or shape in ("html", "feed", "sitemap"):
        return read_page(body, document.url, document.now, *how)
    return read_bytes(document.body, counts)


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
            with suppress(NeedsPatience), hurried():
                return read(document)
        return await self._read_elsewhere(document)

    def _is_small(self, document: Document) -> bool:
        """Whether it takes no more than a few hundredths of a second, however it is made."""
        body, size = document.body, len(document.body)
        counts = document.counts
        if (
            counts.takes_patience
            or document.asked.takes_patience
            or document.marked
            or size >= self._large
            or is_pdf(body)
        ):
            return False
        if size * SLOW_COUNT >= self._large and (document.asked or not _is_list(document)):
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
            counts = document.counts
            by_pattern = {"ignored": counts.ignore_text, "kept": counts.keep_text, "a condition": counts.matching,
                          "the number": counts.number.startswith(BY_TEXT)}  # fmt: skip
            what = next((word for word, rule in by_pattern.items() if rule), "")
            patterns = f", perhaps for what is {what} by a pattern" if what else ""
            patterns = ", perhaps for the pattern of a rule" if document.asked.takes_patience else patterns
            raise UnreadableError(f"reading it took more than {limit_s:.3g} s{patterns}") from None
        except (OSError, EOFError, ValueError) as error:
            raise UnreadableError("reading it took more memory than allowed, or broke the reader") from error
        finally:
            if not asked.done() or asked.exception() is not None:
                await _ended(worker, asked)


def _is_list(document: Document) -> bool:
    """Whether it will be read as a feed or sitemap in XML."""
    return document.kind != "page" and decoding.document_start(document.body)[0] in decoding.LIST_ROOTS


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
