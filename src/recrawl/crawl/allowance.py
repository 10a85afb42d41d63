"""What may be spent, for those who have to wait for it: tokens by the clock, and a queue.

An allowance stands (`per_second`, `burst`, for as long as the program runs), or is allotted and allotted again, each
time until a moment. When that has passed nothing is there, and whoever waits goes on waiting for the next allotment,
without looking again and again. All calls from one event loop.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from dataclasses import dataclass

from recrawl.clock import Clock
from recrawl.scheduling.budget import TimedBucket

ROUNDING = 1e-6
SHORT_S = 0.02
"""Waits as short as this are slept through; during longer ones a new allotment is noticed at once."""


@dataclass(frozen=True, slots=True)
class Allotment:
    """So many tokens per second, at most `burst` saved up, until a moment by the program's clock (inf for ever)."""

    per_second: float = 0.0
    burst: float = 0.0
    until: float = math.inf


class Allowance:
    """Tokens by the program's clock. Starts empty, so that no restart can spend a token twice.

    Parameters
        allotment: what stands from the start; None for nothing before the first :meth:`allot`
    """

    def __init__(self, allotment: Allotment | None, clock: Clock) -> None:
        self._clock = clock
        self._standing = allotment is not None
        self._allotment = allotment or Allotment()
        self._bucket = TimedBucket(self._allotment.per_second, self._allotment.burst, now=clock.now())
        self._changed = asyncio.Event()
        self._queue = asyncio.Lock()

    def allot(self, allotment: Allotment, *, standing: bool = False) -> None:
        """From now on this is allowed, and nothing else; `standing`: as what stood from the start."""
        self._bucket.allot(allotment.per_second, allotment.burst, self._clock.now(), allotment.until)
        self._standing, self._allotment = standing, allotment
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def allotment(self) -> Allotment:
        """What is allowed now; nothing per second and no burst once it has run out."""
        run_out = self._clock.now() >= self._allotment.until
        return Allotment(until=self._allotment.until) if run_out else self._allotment

    def make_room(self, cost: float) -> None:
        """Where it stands, its burst must hold what a crawl costs, or nothing would be bought ever again.

        An allotment is never exceeded: a crawl dearer than its burst waits for a larger one.
        """
        if self._standing and cost > self._allotment.burst:
            self._allotment = Allotment(self._allotment.per_second, cost)
            self._bucket.widen(cost)

    def balance(self) -> float:
        """Tokens there are now."""
        self._bucket.fill(self._clock.now())
        return self._bucket.balance

    def take(self, amount: float) -> bool:
        """Take tokens if they are there now."""
        self._bucket.fill(self._clock.now())
        return self._bucket.spend(amount)

    def take_counted(self, amount: float) -> None:
        """Take tokens that :meth:`balance` said are there, this very moment."""
        if not self._bucket.spend(amount):
            if amount - self._bucket.balance > ROUNDING:
                raise AssertionError("more was spent than there was")
            self._bucket.spend_all()  # sums of fractional costs are a little off

    def put_back(self, amount: float) -> None:
        """Return what was taken and not used; nothing comes of it once the allotment has run out."""
        self._bucket.fill(self._clock.now())
        self._bucket.put_back(amount)

    def wait_s(self, amount: float = 1.0) -> float:
        """How long until so many tokens are there; inf if this allotment will never have them."""
        return max(self._bucket.ready_at(amount) - self._clock.now(), 0.0)

    async def draw(self, amount: float = 1.0) -> None:
        """Wait for tokens, and take them; one after the other, in order of asking."""
        async with self._queue:
            while not self.take(amount):
                await self._pause(self.wait_s(amount))

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until there is another allotment."""
        if seconds <= SHORT_S:
            await self._clock.sleep(max(seconds, 1e-3))
        elif seconds == math.inf:
            await self._changed.wait()
        else:
            await either(self._clock.sleep(seconds), self._changed.wait())


async def either(*waits: Coroutine[None, None, object]) -> None:
    """Wait for whichever ends first; the others are given up."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
