"""The request budget of a running program: every request costs a token, and whoever has none waits for one.

It is kept twice. New crawls are paid for when they are chosen; requests that nobody could foresee (robots.txt,
redirects) wait here for their token and go before new crawls, since they belong to visits under way. And no request
leaves faster than the budget (`fetching.budgeted_transport`): after a stall (a long collection, a busy machine) those
paid for one after the other would leave together.

A budget stands for as long as the program runs, or is allotted and allotted again, each time until a moment. When that
has passed nothing is there, and whoever waits goes on waiting for the next allotment, without looking again and again.
All calls from one event loop.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from dataclasses import dataclass

from recrawl.clock import Clock
from recrawl.scheduling.token_bucket import TimedBucket

ROUNDING = 1e-6
SHORT_S = 0.02
"""Waits as short as this are slept through; during longer ones a new allotment is noticed at once."""


@dataclass(frozen=True, slots=True)
class Allotment:
    """So many tokens per second, at most `burst` saved up, until a moment by the program's clock (inf for ever)."""

    per_second: float = 0.0
    burst: float = 0.0
    until: float = math.inf


class RequestBudget:
    """Tokens by the program's clock, and a count of those spent. Starts empty: no restart spends a token twice.

    Parameters
        budget: what stands from the start; None for nothing before the first :meth:`allot`
    """

    def __init__(self, budget: Allotment | None, clock: Clock) -> None:
        self._clock = clock
        self._standing = budget is not None
        self._allotment = budget or Allotment()
        self._bucket = TimedBucket(self._allotment.per_second, self._allotment.burst, now=clock.now())
        self._changed = asyncio.Event()
        self._queue = asyncio.Lock()
        self._twins: list[RequestBudget] = []
        self._earned, self._since = 0.0, clock.now()
        self.spent = 0.0
        self.waiting = 0

    def twin(self) -> RequestBudget:
        """The same budget counted apart; it follows every allotment of this one."""
        self._twins.append(RequestBudget(self._allotment if self._standing else None, self._clock))
        return self._twins[-1]

    def allot(self, allotment: Allotment, *, standing: bool = False) -> None:
        """From now on this may be spent, and nothing else; `standing`: as what stood from the start."""
        self._earned, self._since = self.earned(), self._clock.now()
        self._bucket.allot(allotment.per_second, allotment.burst, self._since, allotment.until)
        self._standing, self._allotment = standing, allotment
        self._changed.set()
        self._changed = asyncio.Event()
        for twin in self._twins:
            twin.allot(allotment, standing=standing)

    def earned(self) -> float:
        """Tokens that came in so far, at the rates that held."""
        return self._earned + self.per_second * max(self._clock.now() - self._since, 0.0)

    @property
    def allotment(self) -> Allotment:
        """What may be spent now; nothing per second and no burst once it has run out."""
        run_out = self._clock.now() >= self._allotment.until
        return Allotment(until=self._allotment.until) if run_out else self._allotment

    @property
    def per_second(self) -> float:
        """Tokens a second."""
        return self.allotment.per_second

    @property
    def burst(self) -> float:
        """Tokens that can be saved up."""
        return self.allotment.burst

    def make_room(self, cost: float) -> None:
        """Where it stands, its burst must hold what a crawl costs, or nothing would be bought ever again.

        An allotment is never exceeded: a crawl dearer than its burst waits for a larger one.
        """
        if self._standing and cost > self._allotment.burst:
            self._allotment = Allotment(self._allotment.per_second, cost)
            self._bucket.widen(cost)

    def available(self) -> float:
        """Tokens that may be spent on new crawls now."""
        if self.waiting:
            return 0.0
        self._bucket.fill(self._clock.now())
        return self._bucket.balance

    def spend(self, amount: float) -> None:
        """Take tokens that `available` said are there, this very moment."""
        if not self._bucket.spend(amount):
            if amount - self._bucket.balance > ROUNDING:
                raise AssertionError("more was spent than there was")
            self._bucket.spend_all()  # sums of fractional costs are a little off
        self.spent += amount

    def give_back(self, amount: float) -> None:
        """Return what was taken for a request never sent; nothing comes of it once the allotment has run out."""
        self._bucket.fill(self._clock.now())
        self._bucket.put_back(amount)
        self.spent -= amount

    def wait_s(self, amount: float = 1.0) -> float:
        """How long until so many tokens are there; inf if this allotment will never have them."""
        return max(self._bucket.ready_at(amount) - self._clock.now(), 0.0)

    async def pay(self, amount: float = 1.0) -> None:
        """Wait for tokens, and take them; one after the other, in order of asking."""
        if not self.waiting and self._taken(amount):
            self.spent += amount
            return
        self.waiting += 1
        try:
            async with self._queue:
                while not self._taken(amount):
                    await self._pause(self.wait_s(amount))
            self.spent += amount
        finally:
            self.waiting -= 1

    def _taken(self, amount: float) -> bool:
        self._bucket.fill(self._clock.now())
        return self._bucket.spend(amount)

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until there is another allotment."""
        if seconds <= SHORT_S:
            await self._clock.sleep(max(seconds, 1e-3))
        elif seconds == math.inf:
            await self._changed.wait()
        else:
            await either(self._clock.sleep(seconds), self._changed.wait())


class NoBudget:
    """For a look at a few pages that a person asked for: nothing is counted."""

    async def pay(self) -> None:
        """Nothing."""

    def give_back(self, amount: float) -> None:
        """Nothing."""


async def either(*waits: Coroutine[None, None, object]) -> None:
    """Wait for whichever ends first; the others are given up."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
