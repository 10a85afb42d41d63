"""Requests to a small synthetic web by a client that believes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from recrawl.clock import ManualClock
from recrawl.synthweb.faults import Rule
from recrawl.synthweb.server import SynthWeb
from recrawl.synthweb.world import World

PATIENCE_S = 20.0


@dataclass
class Answer:
    """What a client that believes nothing read off the socket."""

    raw: bytes
    reset: bool

    @property
    def status(self) -> int:
        return int(self.raw.split()[1])

    @property
    def headers(self) -> dict[str, str]:
        lines = self.raw.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}

    @property
    def body(self) -> bytes:
        body = self.raw.partition(b"\r\n\r\n")[2]
        return unchunked(body) if self.headers.get("transfer-encoding") == "chunked" else body


def unchunked(data: bytes) -> bytes:
    parts, place, length = [], 0, -1
    while length and place < len(data):
        line = data.index(b"\r\n", place)
        length = int(data[place:line], 16)
        parts.append(data[line + 2 : line + 2 + length])
        place = line + 4 + length
    return b"".join(parts)


async def get(url: str, most: int = 1 << 27, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
    """One request on a connection of its own; stops after `most` bytes."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    sent = {"Host": where.netloc, "User-Agent": "raw", "Connection": "close", "Content-Length": str(len(body))}
    lines = [f"{n.replace('_', '-')}: {v}" for n, v in {**sent, **headers}.items()]
    target = where.path + (f"?{where.query}" if where.query else "")
    writer.write("\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""]).encode() + body)
    got, reset = bytearray(), False
    try:
        async with asyncio.timeout(PATIENCE_S):
            while len(got) < most and (part := await reader.read(1 << 20)):
                got += part
    except ConnectionResetError:
        reset = True
    finally:
        writer.transport.abort()
    return Answer(bytes(got), reset)


def served(
    visit: Callable[[SynthWeb], Awaitable[None]],
    *rules: Rule,
    clock: ManualClock | None = None,
    hub: bool = False,
    **world: object,
) -> SynthWeb:
    """Run a visit to a small web; returns the web, stopped, with its log."""

    async def go() -> SynthWeb:
        made = World.make(**{"sources": 12, "hosts": 3, "law": "steady", "rate_spread": 0.3, **world})
        async with SynthWeb(made, clock=clock, faults=rules, speed=3600.0, hub=hub) as web:
            await visit(web)
        return web

    return asyncio.run(go())
