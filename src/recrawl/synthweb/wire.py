"""Bytes on the wire: answers prepared once and written as they are, and one exchange between a client and this web.

aiohttp reads the requests; answers bypass its response machinery, both because the same bytes are sent over and over
and because misbehaving servers must be able to write what no library would.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING

from aiohttp import web

from recrawl.synthweb.documents import View
from recrawl.synthweb.ledger import SeenRequest

if TYPE_CHECKING:
    from recrawl.synthweb.faults.rules import Rule

LONGEST_WAIT_S = 600.0


class Sent(web.StreamResponse):
    """Tells aiohttp that the answer has been written already, and whether the connection may be used again."""

    def __init__(self, kept: bool) -> None:
        super().__init__()
        self._kept = kept

    @property
    def keep_alive(self) -> bool:
        """Whether another request may follow."""
        return self._kept

    async def prepare(self, request: web.BaseRequest) -> None:
        """Nothing is left to prepare."""

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to write."""


KEPT, ENDED = Sent(kept=True), Sent(kept=False)


def head(status: int, headers: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> bytes:
    """Status line and headers, without the blank line that ends them."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        reason = "Unknown"
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in pairs)]
    return ("\r\n".join(lines) + "\r\n").encode("utf-8", "surrogateescape")


def whole(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    """A complete answer."""
    return head(status, {**(headers or {}), "Content-Length": str(len(body))}) + b"\r\n" + body


def http_date(moment: float) -> str:
    """As HTTP writes it: whole seconds, rounded down."""
    return formatdate(int(moment), usegmt=True)


class Exchange:
    """One request that meets a fault: what is asked, what an honest answer would be, and the connection itself."""

    def __init__(
        self,
        request: web.BaseRequest,
        entry: SeenRequest,
        rule: Rule,
        *,
        bases: Sequence[str],
        host: int,
        view: View | None,
        honest: Callable[[], bytes],
        turn: int,
    ) -> None:
        self.request = request
        self.entry = entry
        self.rule = rule
        self.bases = bases
        self.host = host
        self.view = view
        self.honest = honest
        self.turn = turn
        """How often this rule has struck before."""

    @property
    def base(self) -> str:
        """The URL of the host asked, without a slash."""
        return self.bases[self.host]

    @property
    def path(self) -> str:
        """What was asked for, without the query."""
        return self.entry.path.partition("?")[0]

    def send(self, data: bytes) -> None:
        """Write; a client that is gone ends the exchange."""
        transport = self.request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError
        transport.write(data)

    async def drain(self) -> None:
        """Wait until the client has taken what was written."""
        await asyncio.sleep(0)
        await self.request.writer.drain()

    async def stream(self, data: bytes) -> None:
        """Write one chunk of a chunked body and wait until it is taken."""
        self.send(b"%x\r\n%b\r\n" % (len(data), data))
        await self.drain()

    def begin(self, status: int, headers: Mapping[str, str], chunked: bool = True) -> None:
        """Write the head of an answer whose body follows in pieces."""
        self.entry.status = status
        framing = {"Transfer-Encoding": "chunked"} if chunked else {}
        self.send(head(status, {**headers, **framing}) + b"\r\n")

    def answer(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        """Write a complete answer."""
        self.entry.status = status
        self.send(whole(status, body, headers))

    async def wait(self, seconds: float = LONGEST_WAIT_S) -> None:
        """Let the client wait; it may well go away."""
        await asyncio.sleep(seconds)

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        reset(self.request)


def reset(request: web.BaseRequest) -> None:
    """End the connection of a request with a TCP reset."""
    transport = request.transport
    if transport is None:
        return
    known = transport.get_extra_info("socket")
    if known is not None and known.fileno() >= 0:
        with socket.socket(fileno=os.dup(known.fileno())) as same:
            same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
