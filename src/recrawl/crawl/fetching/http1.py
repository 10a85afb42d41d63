"""One HTTP/1.1 exchange on one connection, and the connections kept for the next.

A fetch of a small feed is mostly bookkeeping. Going from the event loop to aiohttp's parser (llhttp, in C) directly,
without the session, request and response objects in between, takes a quarter of the CPU time. What is left out is what
a crawler must not have anyway: redirects, cookies, retries, uploads, environment.

No timer is set per request: one watch per transport looks at all exchanges under way a few times per timeout.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

import aiohappyeyeballs
from aiohttp import StreamReader
from aiohttp.http import HttpProcessingError, HttpResponseParser, RawResponseMessage

from recrawl.crawl.fetching import address_guard, dns
from recrawl.crawl.fetching.answer_limits import GZIP_MAGIC, SMALL_BYTES, Framing, MemoryShare
from recrawl.crawl.fetching.tls_sessions import ResumingContext
from recrawl.crawl.fetching.transport import TransportError
from recrawl.units import whole_number

MAX_LINE_BYTES = 8190
MAX_FIELD_BYTES = 16_384
MAX_HEADERS = 256
DROPPED_BODY_BYTES = 65_536
"""Of an answer whose body nobody wants, so much is read before the connection is closed instead."""
KEEP_ALIVE_S = 4.0
"""Shorter than servers keep idle connections (5 s is common): a request into one just closed would be lost."""
MAX_IDLE = 256
"""Connections kept at once; every one is an open file."""
_NEVER_PAUSE = 2**30
"""What the parser buffers is taken from it at once."""
_CONNECT_DELAY_S = 0.25
"""Between attempts at the addresses of one host [RFC 8305]."""

Permit = Callable[[], str]
"""Asked when a request is about to be written: why it must not be, in words, or nothing."""


class Origin(NamedTuple):
    """Where to connect to."""

    secure: bool
    host: str
    port: int


class HttpConnection(asyncio.Protocol):
    """A connection. One exchange at a time."""

    _reading_paused = False  # asked for by the parser's buffer

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._done: asyncio.Future[None] | None = None
        self._parser: HttpResponseParser | None = None
        self._message: RawResponseMessage | None = None
        self._payload: StreamReader | None = None
        self._parts: list[bytes] = []
        self._size = self._limit = 0
        self._cut = False
        self._framing = Framing()
        self._memory: MemoryShare | None = None
        self._asking: asyncio.Task[None] | None = None
        self.reusable = True
        self._remembered = False
        self.since = self.heard = 0.0
        """When the exchange began (or the connection became idle) and when a byte came last, by the loop's clock."""

    async def exchange(
        self, head: bytes, max_bytes: int, *, cut: bool, memory: MemoryShare | None = None, permit: Permit | None = None
    ) -> tuple[RawResponseMessage, bytes]:
        """Send a request; the answer's head and body, still packed. TransportError, or cancelled, closes it."""
        if self._transport is None:
            raise TransportError("reset", "the connection ended before the request was sent")
        self._message, self._parts, self._size, self._limit, self._cut = None, [], 0, max_bytes, cut
        self._memory, self._framing = memory, Framing()
        self._parser = HttpResponseParser(
            self,  # type: ignore[arg-type]
            self._loop,
            _NEVER_PAUSE,
            max_line_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
            max_field_size=MAX_FIELD_BYTES,
            read_until_eof=True,
            auto_decompress=False,
        )
        done = self._done = self._loop.create_future()
        self.heard = self._loop.time()
        try:
            if permit is not None and (why := permit()):
                raise TransportError("permit", why)
            self._transport.write(head)
            await done
        except BaseException:
            self._parts = []  # the error refers to us, and nobody knows when the collector gets to it
            self.close()
            raise
        finally:
            self._done = self._parser = self._payload = self._memory = None
            if self._asking is not None:
                self._asking.cancel()
                self._asking = None
        message, parts, self._parts = self._message, self._parts, []
        assert message is not None
        return message, parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Hang up at once."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    def remember_session(self) -> None:
        """Keep its TLS session for the next connection to its host."""
        if self._remembered or self._transport is None or self._message is None:
            return
        self._remembered = True
        tls = self._transport.get_extra_info("ssl_object")
        if isinstance(tls.context, ResumingContext):
            tls.context.remember(tls)

    @property
    def waiting(self) -> bool:
        """Whether it is not read because there is no memory for a large body."""
        return self._asking is not None and not self._asking.done()

    def fail(self, error: TransportError) -> None:
        """End the exchange without an answer."""
        self.reusable = False
        if self._done is not None and not self._done.done():
            self._done.set_exception(error)

    # -- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, and take what it has."""
        if self._done is None or self._done.done() or self._parser is None:
            return self.close()  # nobody asked
        self.heard = self._loop.time()
        self._framing.received += len(data)
        try:
            messages, upgraded, _ = self._parser.feed_data(data)
        except (HttpProcessingError, ValueError) as error:
            why = _first_line(getattr(error, "message", "") or str(error))
            return self.fail(TransportError("protocol", f"the answer is not proper HTTP: {why}"))
        for message, payload in messages:
            if message.code == 101 or upgraded:
                return self.fail(TransportError("protocol", "the server wants to speak another protocol"))
            if message.code < 200 and self._message is None:
                self._framing.interim += 1
            elif self._message is None:
                self._begin(message, payload)
            else:
                self.reusable = False  # more answers than requests
                break
        if self._message is not None and not self._done.done():
            self._collect()
        if not self._done.done() and (what := self._framing.excess(self._size)):
            self.fail(TransportError("protocol", f"the answer is not proper HTTP: {what}"))
        return None

    def connection_lost(self, error: Exception | None) -> None:
        """The end: of the answer too, if it is one without a length."""
        self.reusable = False
        self._transport = None
        if self._done is None or self._done.done():
            return
        try:
            if error is None and self._message is not None and self._parser is not None:
                self._parser.feed_eof()
                self._collect()
        except (HttpProcessingError, ValueError):
            pass
        self.fail(TransportError("reset", "the connection ended before the answer did"))

    def pause_reading(self) -> None:
        """Never: what was read is taken at once."""

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Never paused."""

    # -- the answer

    def _begin(self, message: RawResponseMessage, payload: StreamReader) -> None:
        self._message, self._payload = message, payload
        self.reusable = not message.should_close
        if what := self._framing.excess(self._framing.received):  # all but interim answers may be body
            return self.fail(TransportError("protocol", f"the answer is not proper HTTP: {what}"))
        if not 200 <= message.code < 300:
            self._limit, self._cut = min(DROPPED_BODY_BYTES, self._limit), True
        length = message.headers.get("Content-Length", "")
        if not self._cut and (whole_number(length, self._limit + 1) or 0) > self._limit:
            self.fail(TransportError("too large", f"the answer has {length[:20]} bytes, more than {self._limit}"))
        return None

    def _collect(self) -> None:
        """Take what has arrived of the body, and finish when that is all."""
        payload, done = self._payload, self._done
        assert payload is not None
        assert done is not None
        if payload.exception() is not None:
            return self.fail(TransportError("reset", "the answer is not sent as it was announced"))
        part = payload.read_nowait()
        if part:
            self._parts.append(part)
            self._size += len(part)
            if self._size > SMALL_BYTES and self._memory is not None and self._asking is None:
                self._ask_for_memory(self._memory)
        if self._size > self._limit:
            if not self._cut:
                return self.fail(TransportError("too large", f"the answer has more than {self._limit} bytes"))
            self._parts = [b"".join(self._parts)[: self._limit]]
            self.reusable = False
            done.set_result(None)
        elif payload.is_eof():
            done.set_result(None)
        return None

    def _ask_for_memory(self, memory: MemoryShare) -> None:
        """Read no further until there is memory for all the body may become."""
        assert self._message is not None
        assert self._transport is not None
        headers = self._message.headers
        length = whole_number(headers.get("Content-Length", ""), self._limit)
        packed = "Content-Encoding" in headers or self._parts[0].startswith(GZIP_MAGIC)
        self._asking = self._loop.create_task(memory.take(self._limit if packed or length is None else length))
        if not memory.size:
            self._transport.pause_reading()
            self._asking.add_done_callback(self._go_on)

    def _go_on(self, asked: asyncio.Task[None]) -> None:
        if not asked.cancelled() and self._transport is not None and not self._transport.is_closing():
            self.heard = self._loop.time()
            self._transport.resume_reading()


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long things may take, in seconds: all of a request, and a wait for the next byte."""

    total_s: float
    idle_s: float


class HttpPool:
    """The connections of one transport: made to checked addresses, kept for a while, watched for time."""

    def __init__(
        self,
        resolver: dns.Resolver,
        guard: address_guard.Guard,
        tls: Callable[[], ssl.SSLContext],
        timeouts: Timeouts,
    ) -> None:
        self._resolver, self._guard, self._tls, self._timeouts = resolver, guard, tls, timeouts
        self._idle: OrderedDict[HttpConnection, Origin] = OrderedDict()
        self._by_origin: dict[Origin, list[HttpConnection]] = {}
        self._busy: set[HttpConnection] = set()
        self._loop = asyncio.get_running_loop()
        self._watch: asyncio.TimerHandle | None = None
        self._watch_s = min(max(min(timeouts.total_s, timeouts.idle_s) / 8.0, 0.01), 0.5)

    async def exchange(
        self,
        origin: Origin,
        head: bytes,
        max_bytes: int,
        *,
        cut: bool,
        memory: MemoryShare | None = None,
        permit: Permit | None = None,
    ) -> tuple[RawResponseMessage, bytes]:
        """One request and its answer, over a kept connection or a new one."""
        began = self._loop.time()
        connection = self._kept(origin) or await self._connected(origin)
        connection.since = began
        self._busy.add(connection)
        if self._watch is None:
            self._watch = self._loop.call_later(self._watch_s, self._look)
        try:
            return await connection.exchange(head, max_bytes, cut=cut, memory=memory, permit=permit)
        finally:
            self._busy.discard(connection)
            if origin.secure:
                connection.remember_session()
            if connection.reusable:
                self._keep(connection, origin)
            else:
                connection.close()

    def close(self) -> None:
        """Hang up everywhere."""
        for connection in [*self._idle, *self._busy]:
            connection.close()
        self._idle.clear()
        self._by_origin.clear()
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    # -- keeping

    def _kept(self, origin: Origin) -> HttpConnection | None:
        connections = self._by_origin.get(origin)
        while connections:
            connection = connections.pop()
            del self._idle[connection]
            if not connections:
                del self._by_origin[origin]
            if connection.reusable and self._loop.time() - connection.since < KEEP_ALIVE_S:
                return connection
            connection.close()
        return None

    def _keep(self, connection: HttpConnection, origin: Origin) -> None:
        connection.since = self._loop.time()
        self._idle[connection] = origin
        self._by_origin.setdefault(origin, []).append(connection)
        if len(self._idle) > MAX_IDLE:
            self._drop(next(iter(self._idle)))

    def _drop(self, connection: HttpConnection) -> None:
        origin = self._idle.pop(connection)
        connections = self._by_origin[origin]
        connections.remove(connection)
        if not connections:
            del self._by_origin[origin]
        connection.close()

    def _look(self) -> None:
        """End exchanges that take too long and connections kept too long."""
        now = self._loop.time()
        for connection in self._busy:
            if now - connection.since >= self._timeouts.total_s:
                words = "no room for a large answer in time" if connection.waiting else "no complete answer in time"
                connection.fail(TransportError("timeout", words))
            elif now - connection.heard >= self._timeouts.idle_s and not connection.waiting:
                connection.fail(TransportError("timeout", "no complete answer in time"))
        while self._idle:
            oldest = next(iter(self._idle))
            if oldest.reusable and now - oldest.since < KEEP_ALIVE_S:
                break
            self._drop(oldest)
        self._watch = self._loop.call_later(self._watch_s, self._look) if self._busy or self._idle else None

    # -- connecting

    async def _connected(self, origin: Origin) -> HttpConnection:
        try:
            async with asyncio.timeout(self._timeouts.total_s):
                return await self._connect(origin)
        except TimeoutError as error:
            raise TransportError("connect", "no connection in time") from error

    async def _connect(self, origin: Origin) -> HttpConnection:
        found = await self._resolver.resolve(origin.host, origin.port)
        infos = [
            (each["family"], socket.SOCK_STREAM, socket.IPPROTO_TCP, "", _sockaddr(each["host"], origin.port))
            for each in found
        ]
        async with asyncio.timeout(self._timeouts.idle_s):
            sock = await aiohappyeyeballs.start_connection(
                infos,
                happy_eyeballs_delay=_CONNECT_DELAY_S,
                loop=self._loop,
                socket_factory=self._guard.socket,
            )
            try:
                _, connection = await self._loop.create_connection(
                    lambda: HttpConnection(self._loop),
                    sock=sock,
                    ssl=self._tls() if origin.secure else None,
                    server_hostname=origin.host if origin.secure else None,
                )
            except BaseException:
                sock.close()
                raise
        return connection


def _sockaddr(address: str, port: int) -> tuple[str, int] | tuple[str, int, int, int]:
    return (address, port, 0, 0) if ":" in address else (address, port)


def _first_line(message: str) -> str:
    """What is wrong, without the bytes of the answer that parsers like to quote."""
    line = message.strip().partition("\n")[0][:80]
    return "".join(letter if letter.isprintable() else "?" for letter in line)
