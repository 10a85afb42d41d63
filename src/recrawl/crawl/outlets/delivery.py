"""One outlet's way through the events: read from its cursor, deliver, move the cursor, wait, try again."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import NamedTuple, Protocol

import structlog

from recrawl.clock import Clock
from recrawl.crawl.events import heading
from recrawl.crawl.outlets.base import NotDeliveredError, Outlet, OutletClosedError, RefusedError
from recrawl.errors import StoreError
from recrawl.logs import fault
from recrawl.redaction import message_of, only_host
from recrawl.store.records import Event

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 300.0
"""Between tries: doubled from the first to the longest, each shortened by up to a half at random."""
LONGEST_ASKED_S = 3600.0
"""A receiver that asks for a longer wait is asked again after this one."""
MOST_BYTES = 1_000_000
"""Of events in one delivery; a single larger one goes alone."""


class OutletStatus(NamedTuple):
    """How an outlet is doing.

    Parameters
        position: `seq` of the last event delivered or passed over
        delivered, skipped: events since the start
        failures: tries in a row that failed
        error: why the last one did, or nothing
        caught_up: nothing was left to deliver when it last looked
        closed: it will deliver nothing more in this run
    """

    name: str
    position: int
    delivered: int
    skipped: int
    failures: int
    error: str
    caught_up: bool
    closed: bool


class Memory(NamedTuple):
    """What is kept over restarts beside the position.

    Parameters
        seq, times: how often a single event was refused so far, so that short runs get past it too
        told_at: when something was told last, where that decides when the next may be
    """

    seq: int = 0
    times: int = 0
    told_at: float = 0.0


class Destination(Protocol):
    """What any outlet has."""

    @property
    def name(self) -> str:
        """Names its cursor in the store."""
        ...

    async def close(self) -> None:
        """Give back what is held."""
        ...


class Handing(ABC):
    """Hands events on to one outlet until told to end; how, its kinds say in `_step`.

    The end hastens nothing: a wait that lasts longer than the end does is not begun or broken off, a delivery that
    fails then is neither repeated nor counted, and what is left stays in the store for the next run.

    Parameters
        read: the store's events after a `seq`, at most so many; may raise StoreError
        record: the store's `advance` for this outlet; may raise StoreError
        remember: keeps what else is to outlast a restart; may raise StoreError
        random: spreads the tries of many
    """

    def __init__(
        self,
        outlet: Destination,
        read: Callable[[int, int], Awaitable[list[Event]]],
        record: Callable[[int], Awaitable[None]],
        remember: Callable[[Memory], Awaitable[None]],
        clock: Clock,
        random: Random,
    ) -> None:
        self.destination = outlet
        self._read, self._record, self._remember = read, record, remember
        self._clock, self._random = clock, random
        self._news, self._ending = asyncio.Event(), asyncio.Event()
        self._patience_s = 0.0
        self._position = self._recorded = 0
        self._delivered = self._skipped = self._failures = 0
        self._memory = Memory()
        self._error, self._caught_up, self._closed = "", False, False
        self._log = structlog.get_logger("recrawl").bind(outlet=only_host(outlet.name))

    @property
    def standing(self) -> OutletStatus:
        """How it is doing."""
        return OutletStatus(
            self.destination.name,
            self._position,
            self._delivered,
            self._skipped,
            self._failures,
            self._error,
            self._caught_up,
            self._closed,
        )

    async def begin(self, position: int, memory: Memory) -> None:
        """Start behind this `seq`, and say so in the store: what is committed from now on is owed to this outlet."""
        self._position, self._memory = position, memory
        await self._record(position)
        self._recorded = position

    def wake(self) -> None:
        """There may be something to deliver."""
        self._news.set()

    def end(self, within_s: float) -> None:
        """Deliver what there is, and return; of a wait under way, only one that is over within this time is kept."""
        self._patience_s = within_s
        self._ending.set()
        self._news.set()

    async def run(self) -> None:
        """Deliver until the end, or until the outlet is closed."""
        try:
            while not self._closed:
                self._news.clear()
                if await self._step():
                    continue
                if self._ending.is_set():
                    break
                await self._news.wait()
        finally:
            await self.destination.close()

    @abstractmethod
    async def _step(self) -> bool:
        """One delivery; whether there may be more to do at once."""

    async def _passed(self, seq: int) -> None:
        self._position = seq
        self._failures, self._error = 0, ""
        if self._memory.times:
            await self._remembered(self._memory._replace(seq=0, times=0))
        await self._note_position()

    async def _note_position(self) -> None:
        """Write the position down; where that fails, the next time covers it, and a crash repeats a little more."""
        if self._recorded == self._position:
            return
        try:
            await self._record(self._position)
            self._recorded = self._position
        except StoreError as error:
            self._error = str(error)
            self._log.warning("what was delivered could not be noted", reason=str(error))

    async def _remembered(self, memory: Memory) -> None:
        """Keep it; where the store cannot, this run does."""
        self._memory = memory
        with suppress(StoreError):
            await self._remember(memory)

    async def _later(self, error: NotDeliveredError) -> bool:
        """Wait, and try the same again; at the end there is no waiting, and the events are left for the next run."""
        if not self._ending.is_set():
            self._note(error)
            if await self._paused(error.retry_after_s):
                return True
        self._close(error)
        return True

    def _note(self, error: NotDeliveredError) -> None:
        self._failures += 1
        self._error = str(error)
        if self._failures & (self._failures - 1) == 0:  # the 1st, 2nd, 4th, 8th … in a row
            self._log.warning("not delivered, will be tried again", reason=str(error), failures=self._failures)

    def _close(self, error: NotDeliveredError) -> None:
        self._error, self._closed = str(error), True
        self._log.warning("stopped; what is left waits in the store", reason=str(error))

    async def _paused(self, asked_s: float | None) -> bool:
        """Back off, or as long as asked to; False if the end came first and does not last as long."""
        longest = min(FIRST_WAIT_S * 2.0 ** min(self._failures - 1, 30), LONGEST_WAIT_S)
        wait_s = longest * (1.0 - 0.5 * self._random.random())
        if asked_s is not None:
            wait_s = max(wait_s, min(asked_s, LONGEST_ASKED_S))
        over = self._clock.now() + wait_s
        async with self._sleeping(wait_s, self._ending) as waiting:
            if not waiting.done() and over - self._clock.now() <= self._patience_s:
                await waiting
            return waiting.done()

    async def _nap(self, seconds: float) -> None:
        """Wait so long, or until there is news; the end is news."""
        async with self._sleeping(seconds, self._news):
            pass

    @asynccontextmanager
    async def _sleeping(self, seconds: float, until: asyncio.Event) -> AsyncIterator[asyncio.Future[None]]:
        """The wait, once it or the other is over."""
        waiting = asyncio.ensure_future(self._clock.sleep(seconds))
        other = asyncio.ensure_future(until.wait())
        try:
            await asyncio.wait((waiting, other), return_when=asyncio.FIRST_COMPLETED)
            yield waiting
        finally:
            waiting.cancel()
            other.cancel()


class Delivery(Handing):
    """Hands events on in batches, in order."""

    def __init__(
        self,
        outlet: Outlet,
        read: Callable[[int, int], Awaitable[list[Event]]],
        record: Callable[[int], Awaitable[None]],
        remember: Callable[[Memory], Awaitable[None]],
        clock: Clock,
        random: Random,
    ) -> None:
        super().__init__(outlet, read, record, remember, clock, random)
        self._outlet, self._size = outlet, outlet.batch

    async def _step(self) -> bool:
        try:
            events = fitting(await self._read(self._position, self._size))
        except StoreError as error:
            return await self._later(NotDeliveredError(str(error)))
        self._caught_up = not events
        if not events:
            await self._note_position()
            return False
        try:
            await self._outlet.deliver(events)
        except OutletClosedError as error:
            self._close(error)
        except RefusedError as error:
            return await self._refused(events, error)
        except NotDeliveredError as error:
            return await self._later(error)
        except Exception as error:  # a fault of one outlet stops neither the crawl nor the others
            self._log.error("delivery failed", **fault(error))
            return await self._later(NotDeliveredError(f"unexpected: {message_of(error)}"))
        else:
            await self._arrived(events)
        return True

    async def _arrived(self, events: list[Event]) -> None:
        if self._failures:
            self._log.info("delivers again")
        self._delivered += len(events)
        self._size = min(2 * self._size, self._outlet.batch)
        await self._passed(events[-1].seq)

    async def _refused(self, events: list[Event], error: RefusedError) -> bool:
        """Find the one that is refused, by halves, and after some tries, none of them made at the end, pass over it."""
        if len(events) > 1:
            self._size = len(events) // 2
            return True
        if self._ending.is_set():
            return await self._later(error)
        seq = events[0].seq
        before = self._memory
        times = 1 + (before.times if before.seq == seq else 0)
        await self._remembered(before._replace(seq=seq, times=times))
        if times < error.tries:
            return await self._later(error)
        self._log.warning("an event is passed over", id=_id(events[0]), tries=error.tries, reason=str(error))
        self._skipped += 1
        await self._passed(seq)
        return True


def fitting(events: list[Event]) -> list[Event]:
    """As many from the start as fit into one delivery, at least one."""
    total = 0
    for place, event in enumerate(events):
        total += len(event.body)
        if total > MOST_BYTES and place > 0:
            return events[:place]
    return events


def _id(event: Event) -> str:
    try:
        return heading(event).id
    except ValueError:
        return f"event {event.seq}"
