"""JSON lines: one event per line, appended to a file or written to standard output."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from recrawl.crawl.outlets.base import BATCH, NotDeliveredError, OutletClosedError
from recrawl.errors import OutputError
from recrawl.store.records import Event

STDOUT = "-"


class FileOutlet:
    """Appends to a file, opened again when it was moved away (log rotation); `-` is standard output.

    Lines are on disk before they count as delivered. A line torn by a crash or a full disk is ended, so that it spoils
    no other, and its event comes again. Writing happens in a thread that nobody waits for at the end, since a pipe
    whose reader has stopped reading blocks for ever.

    Parameters
        path: where to write, or `-`
        descriptor: what `-` stands for
    """

    batch = BATCH

    def __init__(self, path: str, descriptor: int = 1) -> None:
        self._path = None if path == STDOUT else os.path.abspath(path)
        self._file = descriptor if self._path is None else -1
        self._writing = threading.Lock()
        self.name = f"file:{self._path or STDOUT}"
        if self._path is not None:
            _check(Path(self._path))

    async def deliver(self, events: Sequence[Event]) -> None:
        """Write the lines, flushed."""
        lines = b"".join(event.body + b"\n" for event in events)
        try:
            await _in_thread(lambda: self._append(lines))
        except OSError as error:
            self._forget()
            if error.errno in (errno.EPIPE, errno.EBADF):
                raise OutletClosedError("nobody reads the events any more") from error
            raise NotDeliveredError(f"cannot write events: {error.strerror or error}") from error

    async def close(self) -> None:
        """Close the file, unless a write is stuck in it; standard output is not ours to close."""
        if self._writing.acquire(blocking=False):
            self._forget()
            self._writing.release()

    def _append(self, lines: bytes) -> None:
        with self._writing:
            if self._path is not None and not self._still_there():
                self._forget()
                self._file = _opened(self._path)
            _write(self._file, lines)
            if stat.S_ISREG(os.fstat(self._file).st_mode):
                os.fsync(self._file)

    def _still_there(self) -> bool:
        """Whether the open file is the one of that name."""
        if self._file < 0 or self._path is None:
            return False
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._file))
        except FileNotFoundError:
            return False

    def _forget(self) -> None:
        if self._path is not None and self._file >= 0:
            os.close(self._file)
            self._file = -1


def _check(path: Path) -> None:
    """Say now what would fail later, without opening: opening a named pipe waits for its reader."""
    if path.is_dir():
        raise OutputError(f"cannot write events to {path}: it is a directory")
    if not path.parent.is_dir():
        raise OutputError(f"cannot write events to {path}: there is no directory {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise OutputError(f"cannot write events to {path}: permission denied")


def _opened(path: str) -> int:
    """Open for appending; a torn last line is ended first."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if stat.S_ISREG(os.fstat(file).st_mode) and _torn(path):
            _write(file, b"\n")
    except BaseException:
        os.close(file)
        raise
    return file


def _torn(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            return size > 0 and file.read(1) != b"\n"
    except PermissionError:  # may be written but not read: a line too many is harmless
        return True


def _write(file: int, data: bytes) -> None:
    """Write all of it."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


async def _in_thread(work: Callable[[], None]) -> None:
    """Run in a thread of its own that does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def tell(error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as problem:
            error = problem
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, error)

    threading.Thread(target=run, name="recrawl-events", daemon=True).start()
    await done
