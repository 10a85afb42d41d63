"""Little on the wire, much when unpacked: decompression and entity bombs, made while they are sent.

A deflate stream flushed in full after every block repeats byte for byte, so one block is compressed once and sent over
and over; what it unpacks to is blank space within an XML document.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable, Iterator

import brotli

from recrawl.synthweb.faults.statuses import Fault
from recrawl.synthweb.wire import Exchange

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdCompressor
else:
    from backports.zstd import ZstdCompressor

BOMB_BYTES = 1 << 30
BLOCK = b" " * (1 << 20)
OPENING = b'<?xml version="1.0"?><rss version="2.0"><channel><title>' + b" " * 100
GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
XML = {"Content-Type": "application/xml"}


def blank_gzip(size: int) -> Iterator[bytes]:
    """A valid gzip file of an XML opening and blanks, about `size` bytes unpacked."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    yield GZIP_HEAD + deflate.compress(OPENING) + deflate.flush(zlib.Z_FULL_FLUSH)
    block = deflate.compress(BLOCK) + deflate.flush(zlib.Z_FULL_FLUSH)
    check, length = zlib.crc32(OPENING), len(OPENING)
    for _ in range(max(size // len(BLOCK), 1)):
        yield block
        check, length = zlib.crc32(BLOCK, check), length + len(BLOCK)
    yield b"\x03\x00" + struct.pack("<II", check, length & 0xFFFFFFFF)


def nested_gzip(size: int) -> Iterator[bytes]:
    """A gzip file of such a gzip file."""
    outer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    for part in blank_gzip(size):
        yield outer.compress(part)
    yield outer.flush()


def blank_brotli(size: int) -> Iterator[bytes]:
    """The same for brotli."""
    packer = brotli.Compressor(quality=1)
    yield packer.process(OPENING) + packer.flush()
    for _ in range(max(size // len(BLOCK), 1)):
        yield packer.process(BLOCK) + packer.flush()
    yield packer.finish()


def blank_zstd(size: int) -> Iterator[bytes]:
    """The same for zstd."""
    packer = ZstdCompressor()
    yield packer.compress(OPENING, packer.FLUSH_BLOCK)
    for _ in range(max(size // len(BLOCK), 1)):
        yield packer.compress(BLOCK, packer.FLUSH_BLOCK)
    yield packer.flush()


def bomb(make: Callable[[int], Iterator[bytes]], headers: dict[str, str]) -> Fault:
    """A body of about `size` bytes once unpacked (1 GiB unless the rule says)."""

    async def explode(x: Exchange) -> bool:
        x.begin(200, headers)
        for part in make(x.rule.size or BOMB_BYTES):
            if part:
                await x.stream(part)
        x.send(b"0\r\n\r\n")
        return True

    return explode


def entity_bomb(depth: int = 10) -> bytes:
    """A feed whose title is 10^depth words long, once its entities are expanded."""
    lines = ['<!ENTITY a0 "lol">']
    lines += [f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, depth + 1)]
    return _feed("\n".join(lines), f"&a{depth};")


def quadratic_bomb(length: int = 100_000, uses: int = 20_000) -> bytes:
    """A feed with one long entity used often: no nesting for a counter to notice."""
    return _feed(f'<!ENTITY a "{"a" * length}">', "&a;" * uses)


def external_entity(url: str) -> bytes:
    """A feed whose title is whatever is at a URL."""
    return _feed(f'<!ENTITY file SYSTEM "{url}">', "&file;")


def _feed(entities: str, title: str) -> bytes:
    return (
        f'<?xml version="1.0"?>\n<!DOCTYPE rss [\n{entities}\n]>\n<rss version="2.0"><channel><title>{title}</title>'
        f"<item><guid>synth:entity</guid><title>{title}</title></item></channel></rss>\n"
    ).encode()


def xml(make: Callable[[Exchange], bytes]) -> Fault:
    """A document made for the request."""

    async def send(x: Exchange) -> bool:
        x.answer(200, make(x), XML)
        return True

    return send


BOMBS: dict[str, Fault] = {
    "bomb_gzip": bomb(blank_gzip, {**XML, "Content-Encoding": "gzip"}),
    "bomb_deflate": bomb(lambda size: (part for part in _as_zlib(size)), {**XML, "Content-Encoding": "deflate"}),
    "bomb_gzip_file": bomb(blank_gzip, {"Content-Type": "application/gzip"}),
    "bomb_nested": bomb(nested_gzip, {**XML, "Content-Encoding": "gzip, gzip"}),
    "bomb_nested_file": bomb(nested_gzip, {"Content-Type": "application/gzip", "Content-Encoding": "gzip"}),
    "bomb_brotli": bomb(blank_brotli, {**XML, "Content-Encoding": "br"}),
    "bomb_zstd": bomb(blank_zstd, {**XML, "Content-Encoding": "zstd"}),
    "entity_bomb": xml(lambda x: entity_bomb()),
    "entity_quadratic": xml(lambda x: quadratic_bomb()),
    "entity_external_file": xml(lambda x: external_entity("file:///etc/passwd")),
    "entity_external_http": xml(lambda x: external_entity(f"{x.base}/canary")),
}


def _as_zlib(size: int) -> Iterator[bytes]:
    packer = zlib.compressobj(6)
    yield packer.compress(OPENING)
    for _ in range(max(size // len(BLOCK), 1)):
        yield packer.compress(BLOCK)
    yield packer.flush()
