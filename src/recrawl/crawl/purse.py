"""What may be spent, for those who have to wait for it: a token bucket with a queue.

Every request costs a token. Crawls are paid for when they are chosen; the requests nobody could foresee (robots.txt,
redirects) wait here for theirs, and go before new crawls: they belong to visits that are under way.
"""

from __future__ import annotations

from recrawl.clock import Clock
from recrawl.scheduling.budget import TimedBucket

ROUNDING = 1e-6


class Purse:
    """The budget of a running program. Starts empty, so that no restart can spend a token twice."""

    def __init__(self, per_second: float, burst: float, clock: Clock) -> None:
        self.per_second, self.burst = per_second, burst
        self._clock = clock
        self._bucket = TimedBucket(per_second, burst, now=clock.now())
        self.spent = 0.0
        self.waiting = 0

    def make_room(self, cost: float) -> None:
        """A crawl may cost so much: the burst must be able to hold it, or nothing would be bought ever again."""
        if cost > self.burst:
            self.burst = cost
            self._bucket.widen(cost)

    def available(self) -> float:
        """Tokens that may be spent on new crawls now."""
        if self.waiting:
            return 0.0
        self._bucket.fill(self._clock.now())
        return self._bucket.balance

    def spend(self, amount: float) -> None:
        """Take tokens that `available` said are there."""
        if not self._bucket.spend(amount):
            if amount - self._bucket.balance > ROUNDING:
                raise AssertionError("more was spent than there was")
            self._bucket.spend_all()  # sums of fractional costs are a little off
        self.spent += amount

    def give_back(self, amount: float) -> None:
        """Return what was taken for a request that was never sent."""
        self._bucket.put_back(amount)
        self.spent -= amount

    def wait_s(self, amount: float = 1.0) -> float:
        """How long until so many tokens are there."""
        return max(self._bucket.ready_at(amount) - self._clock.now(), 0.0)

    async def pay(self, amount: float = 1.0) -> None:
        """Wait for a token, and take it."""
        self.waiting += 1
        try:
            self._bucket.fill(self._clock.now())
            while not self._bucket.spend(amount):
                await self._clock.sleep(max(self.wait_s(amount), 1e-3))
                self._bucket.fill(self._clock.now())
            self.spent += amount
        finally:
            self.waiting -= 1
