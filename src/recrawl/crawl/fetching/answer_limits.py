"""What answers may cost, one alone and all together. Servers are strangers: some send more than anybody asked for.

- *Around the body* (`Framing`). Interim answers (1xx), header lines, the framing and extensions of chunks and trailers
  are worth nothing and cost time on the event loop, so all of it together is bounded. One read of the network brings
  at most 256 KB, some tens of milliseconds in the worst case; the count is looked at after each.
- *Unpacked* (`unpacked`). A few kilobytes can unfold to gigabytes. Every decoder is asked for at most one byte more
  than is allowed, layer by layer: an answer may be compressed on its way (Content-Encoding, a list) and be a compressed
  file besides (`sitemap.xml.gz`). Nothing else is unpacked.
- *In memory at once* (`MemoryBudget`). Sixty-four visits of ten megabytes each: bounds on single documents do not bound
  them together. Small bodies pass freely. One that grows past `SMALL_BYTES` needs memory for all it may become, and its
  connection is not read until there is some. It keeps it until the document has been read. Memory is asked for once per
  document and given in order of asking, so that nobody waits for somebody who waits.
"""

from __future__ import annotations

import asyncio
import sys
import zlib
from collections import deque
from collections.abc import Callable
from typing import Protocol

import brotli

from recrawl.crawl.fetching.transport import TransportError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_INTERIM = 32
"""Answers before the answer: 100 Continue, 102 Processing, 103 Early Hints."""
MAX_BESIDE_BYTES = 131_072
"""Beside the body, and a quarter of the body more: chunks of twenty bytes pass, chunks of one byte without end not."""
ACCEPTED = "gzip, deflate, br, zstd"
"""For the Accept-Encoding header."""
MAX_LAYERS = 3
"""Of Content-Encoding; more is nobody's honest answer."""
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD_WINDOW_LOG = 23
"""At most 8 MiB of window [RFC 9659]: a frame may ask for gigabytes of it before the first byte comes out."""
MAX_MEMBERS = 100
"""Of one gzip or zstd stream: each costs a copy of what is left, and empty ones bring nothing for it."""
SMALL_BYTES = 128 * 1024
"""Bodies up to this need no memory of the budget."""
MOST_BYTES = 16_000_000
"""For all large bodies together; a single document may have more if the settings let it."""


class Framing:
    """Counts of one answer."""

    __slots__ = ("interim", "received")

    def __init__(self) -> None:
        self.received = 0
        self.interim = 0

    def excess(self, body_bytes: int) -> str:
        """What there is too much of after `received` bytes, so many of them body; empty if all is well."""
        if self.interim > MAX_INTERIM:
            return f"more than {MAX_INTERIM} interim answers"
        if self.received - body_bytes > MAX_BESIDE_BYTES + body_bytes // 4:
            return "too much around the body"
        return ""


def unpacked(body: bytes, content_encoding: str, max_bytes: int, *, cut: bool = False) -> bytes:
    """The body with its Content-Encoding and, if what is left is a gzip file, that undone.

    TransportError "too large" if any layer holds more than `max_bytes`, "protocol" if one is damaged or unknown. A body
    that says it is compressed and plainly is not is taken as it is: servers do that. With `cut`, what is too large is
    cut instead of refused.
    """
    for name in reversed(_layers(content_encoding)):
        body = _undone(name, body, max_bytes, cut)
    if body.startswith(GZIP_MAGIC):
        body = _undone("gzip", body, max_bytes, cut)
    return body


def _layers(content_encoding: str) -> list[str]:
    if not content_encoding:
        return []
    names = [name.strip().lower().removeprefix("x-") for name in content_encoding.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if len(names) > MAX_LAYERS:
        raise TransportError("protocol", f"the answer is compressed {len(names)} times over")
    if any(name not in _DECODERS for name in names):
        raise TransportError("protocol", "the answer is encoded in a way that was not asked for")
    return names


def _undone(name: str, body: bytes, max_bytes: int, cut: bool) -> bytes:
    if not body:
        return body
    try:
        plain = _DECODERS[name](body, max_bytes + 1)
    except (zlib.error, brotli.error, zstd.ZstdError, EOFError) as error:
        raise TransportError("protocol", f"the answer is damaged: not valid {name}") from error
    if len(plain) > max_bytes:
        if cut:
            return plain[:max_bytes]
        raise TransportError("too large", f"the answer unpacks to more than {max_bytes} bytes")
    return plain


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def _members(body: bytes, room: int, magic: bytes, decoder: Callable[[], _Decoder]) -> bytes:
    """One member after another, `room` bytes at most; what follows the last one and is no member is padding."""
    parts: list[bytes] = []
    while body.startswith(magic):
        if len(parts) == MAX_MEMBERS:
            raise EOFError("too many members")
        member = decoder()
        parts.append(member.decompress(body, room))
        room -= len(parts[-1])
        if room <= 0:
            break
        if not member.eof:
            raise EOFError("cut short")
        body = member.unused_data
    return b"".join(parts) if parts else body


def _gunzip(body: bytes, room: int) -> bytes:
    return _members(body, room, GZIP_MAGIC, lambda: zlib.decompressobj(16 + zlib.MAX_WBITS))


def _unzstd(body: bytes, room: int) -> bytes:
    options = {int(zstd.DecompressionParameter.window_log_max): ZSTD_WINDOW_LOG}
    return _members(body, room, ZSTD_MAGIC, lambda: zstd.ZstdDecompressor(options=options))


def _inflate(body: bytes, room: int) -> bytes:
    """With the zlib header the standard asks for, or without, as some servers send it."""
    try:
        return _inflated(body, room, zlib.MAX_WBITS)
    except zlib.error:
        return _inflated(body, room, -zlib.MAX_WBITS)


def _inflated(body: bytes, room: int, window: int) -> bytes:
    decoder = zlib.decompressobj(window)
    plain = decoder.decompress(body, room)
    if len(plain) < room and not decoder.eof:
        raise EOFError("cut short")
    return plain


def _unbrotli(body: bytes, room: int) -> bytes:
    """The decoder may give somewhat more than it is asked for, and less at a time than there is."""
    decoder = brotli.Decompressor()
    parts = [decoder.process(body, output_buffer_limit=room)]
    room -= len(parts[0])
    while room > 0 and not decoder.is_finished():
        part = decoder.process(b"", output_buffer_limit=room)
        if not part:
            raise EOFError("cut short")
        parts.append(part)
        room -= len(part)
    return b"".join(parts)


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}


class MemoryBudget:
    """Memory for large bodies."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._taken = 0
        self._queue: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def taken(self) -> int:
        """Bytes spoken for."""
        return self._taken

    def share(self) -> MemoryShare:
        """The part of one visit."""
        return MemoryShare(self)

    async def take(self, size: int) -> None:
        """Wait for so much memory, and take it."""
        if not self._queue and self._fits(size):
            self._taken += size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give(size)
            else:
                if (size, turn) in self._queue:  # unless somebody who gave memory back has passed it over already
                    self._queue.remove((size, turn))
                self._serve()
            raise

    def give(self, size: int) -> None:
        """Give memory back."""
        self._taken -= size
        self._serve()

    def _serve(self) -> None:
        while self._queue and self._fits(self._queue[0][0]):
            size, turn = self._queue.popleft()
            if not turn.done():
                self._taken += size
                turn.set_result(None)

    def _fits(self, size: int) -> bool:
        return self._taken + size <= self._most or not self._taken


class MemoryShare:
    """What one visit has in memory; `free` it when the document is no longer needed."""

    __slots__ = ("_memory_budget", "_size")

    def __init__(self, memory_budget: MemoryBudget) -> None:
        self._memory_budget = memory_budget
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes it has beyond a small body; 0 for none."""
        return self._size

    async def take(self, size: int) -> None:
        """Wait for memory for a body of up to so many bytes, unless it has some already."""
        if not self._size:
            await self._memory_budget.take(size)
            self._size = size

    def shrink(self, size: int) -> None:
        """The body turned out to have so many bytes: give back the rest."""
        if size < self._size:
            self._memory_budget.give(self._size - size)
            self._size = size

    def free(self) -> None:
        """Give all of it back."""
        self.shrink(0)
