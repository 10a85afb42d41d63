"""Connections: how many there may be, and how long a request may take to arrive or an answer to be taken.

    asyncio ──► ClientConnection (time, numbers) ──► uvicorn's H11Protocol (HTTP) ──► the application

Uvicorn reads requests and bounds neither of these: half a request, sent by somebody who then falls silent, would hold
its place for ever. Where all places are taken, the connection that has waited longest for its client's next bytes makes
room for the newcomer, so many such halves push out each other, and whoever sends a whole request is answered. One that
is being answered is never cut for another.

Bytes are taken in portions, small ones where each may cost much (heads, and bodies in chunks of any size), so that no
client's occupy the loop for long. Of a body none are taken before the application asks for more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from recrawl.config import Web
from recrawl.web.safety.proxies import Proxies, place_of

PORTION, SMALL_PORTION = 64 * 1024, 4 * 1024
SWEEP_S = 1.0
BUSY = (503, b"Service Unavailable", b"Too many connections: try again in a moment.\n")
LATE = (408, b"Request Timeout", b"The request did not arrive in time, and nothing was done.\n")
CUT = (400, b"Bad Request", b"The request ended before its end, and nothing was done.\n")


@dataclass(frozen=True)
class Limits:
    """What connections may do.

    Parameters
        most, most_per_place: connections at once: in all, and from one address (of IPv6: one network of 64 bits)
        head_s: for the head of a request to arrive
        body_s, least_pace: for a body: so many seconds, and one more for each `least_pace` bytes that came
        stall_s: without the client taking any of the answer that waits for it
        proxies: not held to `most_per_place`, because everybody comes through them
    """

    most: int = 400
    most_per_place: int = 100
    head_s: float = 10.0
    body_s: float = 30.0
    least_pace: int = 16 * 1024
    stall_s: float = 30.0
    proxies: Proxies = field(default_factory=Proxies)

    @classmethod
    def of(cls, web: Web) -> Limits:
        """As the settings say."""
        proxies = Proxies(web.trusted_proxies)
        return cls(most=web.connections, most_per_place=web.connections_per_address, proxies=proxies)


class ConnectionLimit:
    """All connections of a server, and how many there may be."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._all: dict[ClientConnection, str] = {}
        self._by_place: dict[str, dict[ClientConnection, None]] = {}

    def protocol(self, **given: Any) -> ClientConnection:
        """One more, as uvicorn asks for it."""
        return ClientConnection(self, H11Protocol(**given))

    def admit(self, newcomer: ClientConnection, address: str) -> bool:
        """Take one in, if need be in the place of another; False if there is no room."""
        place = place_of(address)
        mine = self._by_place.get(place, {})
        if len(mine) >= self.limits.most_per_place and not self.limits.proxies.trust(address):
            if not self._drop_one(mine):
                return False
        elif len(self._all) >= self.limits.most and not self._drop_one(self._all):
            return False
        self._all[newcomer] = place
        self._by_place.setdefault(place, {})[newcomer] = None
        return True

    def forget(self, gone: ClientConnection) -> None:
        """It is no more."""
        place = self._all.pop(gone, None)
        if place is None:
            return
        rest = self._by_place[place]
        del rest[gone]
        if not rest:
            del self._by_place[place]

    async def sweep(self) -> None:
        """End what takes too long, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_S)
            now = loop.time()
            for each in list(self._all):
                each.end_if_late(now)

    def _drop_one(self, among: Iterable[ClientConnection]) -> bool:
        """End the oldest that waits for its client, rather one without a request than one in the middle of it."""
        for state in (h11.IDLE, h11.SEND_BODY):
            victim = next((each for each in among if each.waits_for(state)), None)
            if victim is not None:
                victim.abort()
                self.forget(victim)
                return True
        return False


class ClientConnection(asyncio.BufferedProtocol):
    """One connection: passes on what comes, and notes since when something is awaited."""

    def __init__(self, all: ConnectionLimit, inner: H11Protocol) -> None:
        self._all, self._inner = all, inner
        self._limits = all.limits
        self._buffer = memoryview(bytearray(SMALL_PORTION))
        self._transport: asyncio.Transport = None  # type: ignore[assignment]
        self._admitted = False
        self._awaiting: float | None = None
        """Since when a head, or a body, is on its way; None between requests and while one is answered."""
        self._arrived = 0
        self._unsent: tuple[int, float] = (0, 0.0)
        """Bytes of answers that wait for the client, and since when they did not become fewer."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take it in, or say that there is no room."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one but for its name
        peer = transport.get_extra_info("peername")
        self._admitted = self._all.admit(self, peer[0] if isinstance(peer, tuple) else "")
        if not self._admitted:
            self._say(BUSY)
            return
        self._awaiting = asyncio.get_running_loop().time()
        self._inner.connection_made(self._transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Some came."""
        if not self._admitted:
            return
        before = self._inner.conn.their_state
        try:
            self._inner.data_received(bytes(self._buffer[:nbytes]))
        except h11.ProtocolError:  # nonsense in the middle of an answer: there is no other answer to give
            self._transport.abort()
            return
        state = self._inner.conn.their_state
        if state not in (h11.IDLE, h11.SEND_BODY):
            self._awaiting = None
        elif self._awaiting is None or state is not before:
            self._awaiting, self._arrived = asyncio.get_running_loop().time(), 0
            self._expect(state)
        else:
            self._arrived += nbytes
        if state is h11.SEND_BODY and (state is not before or self._inner.cycle.message_event.is_set()):
            self._inner.flow.pause_reading()  # until the application asks for more

    def _expect(self, state: type[h11.IDLE | h11.SEND_BODY]) -> None:
        """Get ready for a head or a body."""
        cheap = state is h11.SEND_BODY and any(name == b"content-length" for name, _ in self._inner.headers)
        size = PORTION if cheap else SMALL_PORTION
        if size != len(self._buffer):
            self._buffer = memoryview(bytearray(size))

    def eof_received(self) -> None:
        """The client sends no more: what it left unfinished is refused, in words it may still be able to read."""
        begun = self._inner.conn.their_state is h11.SEND_BODY or self._arrived
        if self._admitted and self._awaiting is not None and begun:
            self._say(CUT)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._all.forget(self)
        if self._admitted:
            self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """The client is slow to take the answer."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._inner.resume_writing()

    def waits_for(self, state: type[h11.IDLE | h11.SEND_BODY]) -> bool:
        """Whether nothing can be done before the client sends more of a head, or of a body."""
        return self._inner.conn.their_state is state and not self._answering

    def end_if_late(self, now: float) -> None:
        """End it if the client keeps us waiting too long."""
        size, since = self._transport.get_write_buffer_size(), self._unsent[1]
        if size == 0 or size < self._unsent[0]:
            since = now
        self._unsent = size, since
        if now - since > self._limits.stall_s:
            self.abort()
        elif self._awaiting is not None and now - self._awaiting > self._patience_s:
            self._say(LATE)

    def abort(self) -> None:
        """End it at once."""
        self._transport.abort()

    @property
    def _patience_s(self) -> float:
        if self._inner.conn.their_state is h11.IDLE:
            return self._limits.head_s
        return self._limits.body_s + self._arrived / self._limits.least_pace

    @property
    def _answering(self) -> bool:
        return self._inner.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE)

    def _say(self, answer: tuple[int, bytes, bytes]) -> None:
        """Answer without the application, unless it began to, and end."""
        if not self._transport.is_closing() and not self._answering:
            status, reason, words = answer
            self._transport.write(
                b"HTTP/1.1 %d %s\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
                % (status, reason, len(words), words)
            )
        self._transport.close()
