"""Decompression that cannot be made to explode.

A few kilobytes can unfold to gigabytes. Every decoder below is asked for at most one byte more than is allowed, so what
a bomb costs is bounded by the limit, whatever it holds, and layer upon layer: an answer may be compressed on its way
(Content-Encoding, a list) and be a compressed file besides (`sitemap.xml.gz`). Nothing else is unpacked.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Protocol

import brotli

from recrawl.crawl.transport import TransportError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

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
