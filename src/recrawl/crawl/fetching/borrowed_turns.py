"""Hosts that another crawler is responsible for: their turns are borrowed there, and given back with what they said.

Several crawlers may share the web between them. Whoever is responsible for a host keeps its turns for everybody: a
visit that a redirect leads there asks for the turn first (`HostOwners.borrow`), the other side lends it as to a visit
of its own (`TurnLender.lend`), and gets it back (`HostOwners.give_back`, `TurnLender.returned`) with status,
Retry-After and Crawl-delay.

Either side may die, hang or wake up late. So every loan has a name, which makes a turn that is returned twice, late or
before it was given harmless; and two limits::

    asked ──── waiting ──── lent ──────── SEND_S ────────┤ no byte of a request is written after this
                                                         └──── fetch timeout + MARGIN_S ────┤ taken back

The borrower counts the first from the moment before it asked, the lender the second from the moment it lent: however
long messages take, the request has ended when the turn is taken back.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import uuid4

from msgspec import structs

from recrawl.clock import Clock
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.retry_after import retry_after
from recrawl.crawl.fetching.transport import FALTERING, UNREACHABLE, Request, Response, TransportError

SEND_S = 10.0
"""How long after a turn was lent a request may still be sent."""
ANSWER_S = 5.0
"""Beyond the time a turn may be waited for: for the answer of the crawler that waits for it."""
MARGIN_S = 5.0
"""Beyond the limits on sending and fetching, before a turn is taken back: nobody's timers are exact."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The answer to whoever asks for a host's turn. Seconds only, since clocks need not agree.

    Parameters
        refused: why there is none, in words; empty if it is given
        wait_s: after a refusal, how long until asking again makes sense; 0 if that is not known
        seconds: from the moment it was asked for, how long a request may still be sent in it
    """

    refused: str = ""
    wait_s: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnReport:
    """What came of a turn that was lent; nothing where no request was sent.

    Parameters
        status, retry_after: of the answer
        failed: why there was none, if that is the host's fault: one word
        delay_s: that the host asks for in its robots.txt
    """

    status: int | None = None
    retry_after: str | None = None
    failed: str = ""
    delay_s: float = 0.0


class HostOwners(Protocol):
    """Who is responsible for what, as one crawler sees it. Nothing here raises."""

    def ours(self, url: str) -> bool:
        """Whether the turns of the URL's host are this crawler's own."""
        ...

    def lasts_s(self, url: str) -> float:
        """How long they will be for certain, in seconds from now; inf for ever, 0 or less if they are not."""
        ...

    async def borrow(self, url: str, loan: str, delay_s: float) -> Turn:
        """Ask whoever is responsible for the host's turn, and wait for it.

        Parameters
            loan: a name nothing else has
            delay_s: that the host asks for in its robots.txt, as far as is known
        """
        ...

    def give_back(self, url: str, loan: str, report: TurnReport) -> None:
        """Give the turn back, without waiting; also one that was asked for and whose answer never came."""
        ...


class NoTurnError(Exception):
    """The turn is not lent, why in words, and how long until asking again makes sense; 0 if that is not known."""

    def __init__(self, why: str, wait_s: float = 0.0) -> None:
        self.wait_s = wait_s
        super().__init__(why)


class BorrowedTurn:
    """The turn of another crawler's host for one request. It is given back whatever happens.

    It is asked for in a turn of our own, so that nobody there waits for as many as wait here.

    Parameters
        delay_s: that the host asks for in its robots.txt, as far as is known
        max_wait_s: how long the other may wait for the turn
    """

    def __init__(self, owners: HostOwners, url: str, delay_s: float, clock: Clock, max_wait_s: float) -> None:
        self._owners, self._url, self._delay_s, self._clock = owners, url, delay_s, clock
        self._answer_s, self._loan = max_wait_s + ANSWER_S, uuid4().hex

    async def fetch(self, request: Request, send: Callable[[Request], Awaitable[Response]]) -> Response:
        """Send a request in it; NoTurnError if it is not lent."""
        asked, turn, report = self._clock.now(), None, TurnReport(delay_s=self._delay_s)
        try:
            turn = await self._lent()
            if turn.refused:
                raise NoTurnError(turn.refused, turn.wait_s)
            response = await send(structs.replace(request, lent_until=asked + turn.seconds))
            wait = retry_after(response.status, response.headers, self._clock.now())
            report = TurnReport(response.status, wait, delay_s=self._delay_s)
            return response
        except TransportError as failure:
            if failure.reason in (*UNREACHABLE, *FALTERING):
                report = replace(report, failed=failure.reason)
            raise
        finally:
            if turn is None or not turn.refused:
                self._owners.give_back(self._url, self._loan, report)

    async def _lent(self) -> Turn:
        try:
            async with asyncio.timeout(self._answer_s):
                return await self._owners.borrow(self._url, self._loan, self._delay_s)
        except TimeoutError as error:
            raise NoTurnError("no answer from the crawler that visits its host") from error


class OwnTurns(Protocol):
    """What the lender asks of the fetcher whose hosts they are."""

    async def take_turn(self, key: str) -> float | None:
        """Wait for the turn of a host, and take it; when it is free, if that is too long to wait."""
        ...

    def end_turn(self, key: str, delay_s: float = 0.0) -> None:
        """It is over."""
        ...

    def note_failure(self, url: str, reason: str) -> None:
        """A request in it brought no answer."""
        ...


class TurnLender:
    """Lends the turns of this crawler's hosts to others. Belongs to one event loop.

    Parameters
        owners: who is responsible for which host; None if this crawler is for all
        fetch_s: the longest that a fetch takes
        turn_changed: told of an URL whenever the turn of its host is lent or comes back
    """

    def __init__(
        self,
        turns: OwnTurns,
        slots: HostSlots,
        owners: HostOwners | None,
        clock: Clock,
        fetch_s: float,
        turn_changed: Callable[[str], None],
    ) -> None:
        self._turns, self._slots, self._owners, self._clock = turns, slots, owners, clock
        self._fetch_s, self._turn_changed = fetch_s, turn_changed
        self._waiting: set[str] = set()
        self._lent: dict[str, tuple[str, asyncio.TimerHandle]] = {}

    async def lend(self, url: str, loan: str, delay_s: float = 0.0) -> Turn:
        """Wait for the turn of an URL's host like a visit of our own, and let another crawler have it.

        It is taken back if it does not come back; and given for no longer than the host is ours.

        Parameters
            loan: a name nothing else has, to give it back by
            delay_s: that the host asks for in its robots.txt, as far as the other knows
        """
        if self._owners is not None and not self._owners.ours(url):
            return Turn("another crawler's")
        key, asked = self._slots.key_of(url), self._clock.now()
        if delay_s:
            self._slots.asks(key, delay_s, asked)
        self._waiting.add(loan)
        try:
            free = await self._turns.take_turn(key)
        finally:
            wanted = loan in self._waiting
            self._waiting.discard(loan)
        if free is not None:
            now = self._clock.now()
            why = self._slots.held(key, now)[1] or "its turn does not come in time"
            return Turn(why, wait_s=max(free - now, 0.0))
        usable_s = min(SEND_S, math.inf if self._owners is None else self._owners.lasts_s(url))
        if not wanted or usable_s <= 0.0:
            self._turns.end_turn(key)
            return Turn("not wanted any more" if not wanted else "another crawler's")
        timer = asyncio.get_running_loop().call_later(usable_s + self._fetch_s + MARGIN_S, self._take_back, loan)
        self._lent[loan] = (url, timer)
        self._turn_changed(url)
        return Turn(seconds=self._clock.now() - asked + usable_s)

    def returned(self, url: str, loan: str, report: TurnReport) -> None:
        """A turn comes back with what came of it: in time, too late, or before it was given."""
        key = self._slots.key_of(url)
        self._waiting.discard(loan)
        if loan in self._lent:
            self._lent.pop(loan)[1].cancel()
            self._turns.end_turn(key, report.delay_s)
        if report.failed:
            self._turns.note_failure(url, report.failed)
        elif report.status is not None:
            self._slots.answered(key, report.status, report.retry_after, self._clock.now(), url)
        self._turn_changed(url)

    def _take_back(self, loan: str) -> None:
        """A turn did not come back: whoever had it cannot use it any more."""
        url, _ = self._lent.pop(loan)
        self._turns.end_turn(self._slots.key_of(url))
        self._turn_changed(url)

    def close(self) -> None:
        """Wait for none of them any more."""
        for _, timer in self._lent.values():
            timer.cancel()
        self._lent.clear()
