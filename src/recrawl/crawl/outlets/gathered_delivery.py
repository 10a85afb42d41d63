"""One outlet's way through the events, where what waits is told together: read, gather, wait until it may be, tell.

What was gathered is in memory; the cursor in the store moves when it was told. So a crash gathers it again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Protocol, runtime_checkable

from recrawl.clock import Clock
from recrawl.crawl.outlets.base import NotDeliveredError, RefusedError
from recrawl.crawl.outlets.delivery import Handing, Memory, fitting
from recrawl.crawl.outlets.notices import Waiting
from recrawl.errors import StoreError
from recrawl.logs import fault
from recrawl.redaction import message_of
from recrawl.store.records import Event

PAGE = 500
"""Events read at once."""
LONGEST_NAP_S = 60.0
"""Between two looks at the clock, which may have been set or have stood still."""


@runtime_checkable
class Gathering(Protocol):
    """Where all that waits goes at once. Used by one task at a time."""

    waiting: Waiting

    @property
    def name(self) -> str:
        """Names its cursor in the store."""
        ...

    def due(self, told_at: float, now: float) -> float:
        """When what waits may be told; not after `now`: at once."""
        ...

    async def tell(self, refused: int = 0) -> None:
        """Tell all that waits, once; NotDeliveredError if it did not arrive."""
        ...

    async def close(self) -> None:
        """Give back what is held."""
        ...


class GatheredDelivery(Handing):
    """Tells one outlet all that waits, no sooner than it may be told.

    At the end what may not be told yet is left for the next run.
    """

    def __init__(
        self,
        outlet: Gathering,
        read: Callable[[int, int], Awaitable[list[Event]]],
        record: Callable[[int], Awaitable[None]],
        remember: Callable[[Memory], Awaitable[None]],
        clock: Clock,
        random: Random,
    ) -> None:
        super().__init__(outlet, read, record, remember, clock, random)
        self._outlet = outlet
        self._read_to = 0

    async def begin(self, position: int, memory: Memory) -> None:
        """As for all; nothing is gathered yet."""
        await super().begin(position, memory)
        self._read_to = position

    async def _step(self) -> bool:
        waiting = self._outlet.waiting
        try:
            events = fitting(await self._read(self._read_to, PAGE))
        except StoreError as error:
            return await self._later(NotDeliveredError(str(error)))
        if events:
            waiting.take(events)
            self._read_to = events[-1].seq
            return True
        if not waiting.total:
            self._caught_up = True
            self._position = self._read_to
            await self._note_position()
            return False
        self._caught_up = False
        now = self._clock.now()
        due = self._outlet.due(self._memory.told_at, now)
        if due <= now:
            return await self._told()
        if not self._ending.is_set():
            await self._nap(min(due - now, LONGEST_NAP_S))
        return not self._ending.is_set()

    async def _told(self) -> bool:
        memory, waiting = self._memory, self._outlet.waiting
        refused = memory.times if memory.seq == waiting.first_seq else 0
        try:
            await self._outlet.tell(refused)
        except RefusedError as error:
            return await self._refused(error)
        except NotDeliveredError as error:
            return await self._later(error)
        except Exception as error:  # a fault of one outlet stops neither the crawl nor the others
            self._log.error("delivery failed", **fault(error))
            return await self._later(NotDeliveredError(f"unexpected: {message_of(error)}"))
        await self._arrived(waiting.total)
        return True

    async def _arrived(self, count: int) -> None:
        if self._failures:
            self._log.info("delivers again")
        self._delivered += count
        await self._remembered(Memory(told_at=self._clock.now()))
        self._outlet.waiting.clear()
        await self._passed(self._read_to)

    async def _refused(self, error: RefusedError) -> bool:
        """After some tries, none of them made at the end, pass over what is refused even when it is bare."""
        if self._ending.is_set():
            return await self._later(error)
        waiting, memory = self._outlet.waiting, self._memory
        times = 1 + (memory.times if memory.seq == waiting.first_seq else 0)
        await self._remembered(memory._replace(seq=waiting.first_seq, times=times))
        if times < error.tries:
            return await self._later(error)
        self._log.warning("a message is passed over", events=waiting.total, tries=error.tries, reason=str(error))
        self._skipped += waiting.total
        waiting.clear()
        await self._passed(self._read_to)
        return True
