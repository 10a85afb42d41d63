"""The only way from a page in the browser to the network: a proxy on loopback that connects to checked addresses.

Every page gets a proxy of its own, so that what goes through is counted for it and ends with it. Names are looked up
here, and the connection goes to the address that was checked (`fetching.address_guard`): a redirect, a name that
answers differently the second time, or an address in whatever spelling gains nothing.

Speaks as much HTTP as a browser needs of a proxy: CONNECT, and absolute addresses without TLS, one request for each
connection. Refuses everything else.
"""

from __future__ import annotations

import asyncio
import re
import socket
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aiohappyeyeballs

from recrawl.crawl.fetching import address_guard, dns

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

CONNECT_S, HEAD_S = 10.0, 10.0
MOST_HEAD = 65_536
MOST_CONNECTIONS = 100
"""Of one page at once."""
PIECE = 65_536
MOST_REFUSALS = 5
"""That are told in words."""
_CONNECT = re.compile(rb"CONNECT (\[[0-9a-fA-F:.]+\]|[^\s:\[\]/@]+):([0-9]{1,5}) HTTP/1\.[01]\r\n")
_PLAIN = re.compile(rb"([A-Z]{1,20}) (http://[^\s]+) HTTP/1\.[01]\r\n")
_DROPPED = re.compile(
    rb"^(?:proxy-[a-z-]+|connection|keep-alive|upgrade|te|trailer):[^\n]*\n", re.IGNORECASE | re.MULTILINE
)
_ANSWER = re.compile(rb"^(?:connection|keep-alive):[^\n]*\n", re.IGNORECASE | re.MULTILINE)


class GuardedProxy:
    """The network of one page.

    Parameters
        most_bytes: that may come in; then everything is closed
    """

    def __init__(self, resolver: dns.Resolver, guard: address_guard.Guard, most_bytes: int) -> None:
        self._resolver, self._guard, self._most_bytes = resolver, guard, most_bytes
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.received = 0
        self.refused = 0
        self.refusals: dict[str, None] = {}

    async def open(self) -> int:
        """Begin to listen; the port."""
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0, limit=MOST_HEAD)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """End every connection."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def is_spent(self) -> bool:
        """Whether more came in than may."""
        return self.received > self._most_bytes

    async def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._tasks) >= MOST_CONNECTIONS or self.is_spent:
            self._refuse("too many connections at once" if not self.is_spent else "too much came in")
            writer.close()
            return
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_S):
            head = await reader.readuntil(b"\r\n\r\n")
        if found := _CONNECT.match(head):
            there = await self._reached(found[1].decode("ascii", "replace"), int(found[2]), writer)
            if there is not None:
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                await self._relay(reader, writer, *there)
            return
        plain = _PLAIN.match(head)
        host, port, target = _parts(plain[2].decode("ascii", "replace")) if plain else ("", 0, "")
        if not plain or not host:
            writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            return
        there = await self._reached(host, port, writer)
        if there is not None:
            rest = _DROPPED.sub(b"", head[plain.end() :])
            there[1].write(plain[1] + f" {target} HTTP/1.1\r\nConnection: close\r\n".encode() + rest)
            await self._relay(reader, writer, *there, plain=True)

    async def _reached(
        self, host: str, port: int, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection to a checked address of a host; None if there is none, which the browser is told."""
        try:
            async with asyncio.timeout(CONNECT_S):
                return await self._connected(host.strip("[]"), port)
        except address_guard.RefusedAddressError as error:
            self._refuse(str(error))
            writer.write(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n")
        except (OSError, TimeoutError, UnicodeError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n")
        return None

    async def _connected(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not 0 < port < 65_536:
            raise OSError("no such port")
        found = await self._resolver.resolve(host, port)
        infos = [
            (each["family"], socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (each["host"], port, 0, 0)[: _width(each)])
            for each in found
        ]
        connected = await aiohappyeyeballs.start_connection(infos, socket_factory=self._guard.socket)
        return await asyncio.open_connection(sock=connected)

    async def _relay(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        far_reader: asyncio.StreamReader,
        far_writer: asyncio.StreamWriter,
        plain: bool = False,
    ) -> None:
        """Both ways, until one of them ends."""
        out = asyncio.create_task(self._copy(reader, far_writer))
        try:
            if plain:
                await self._copy_head(far_reader, writer)
            back = asyncio.create_task(self._copy(far_reader, writer, counted=True))
            try:
                # A browser may close its half when it has asked; the answer ends what was begun.
                await back
            finally:
                back.cancel()
        finally:
            out.cancel()
            await asyncio.gather(out, return_exceptions=True)
            far_writer.close()

    async def _copy_head(self, far_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The head of an answer, which is made to be the last on its connection."""
        head = await far_reader.readuntil(b"\r\n\r\n")
        self.received += len(head)
        start, _, rest = head.partition(b"\r\n")
        writer.write(start + b"\r\nConnection: close\r\n" + _ANSWER.sub(b"", rest))

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counted: bool = False) -> None:
        with suppress(OSError):
            while data := await reader.read(PIECE):
                self.received += len(data) if counted else 0
                if self.is_spent:
                    return self._refuse("too much came in")
                writer.write(data)
                await writer.drain()
        return None

    def _refuse(self, why: str) -> None:
        self.refused += 1
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals[why] = None


def _parts(url: str) -> tuple[str, int, str]:
    """Host, port and target; an empty host for what is no address."""
    try:
        split = urlsplit(url)
        target = (split.path or "/") + (f"?{split.query}" if split.query else "")
        return split.hostname or "", split.port or 80, target
    except ValueError:
        return "", 0, ""


def _width(found: ResolveResult) -> int:
    return 4 if found["family"] == socket.AF_INET6 else 2
