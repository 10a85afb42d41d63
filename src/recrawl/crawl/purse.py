"""The budget of a running program: what new crawls may cost, and what those under way still need.

Every request costs a token. Crawls are paid for when they are chosen; the requests nobody could foresee (robots.txt,
redirects) wait here for theirs, and go before new crawls: they belong to visits that are under way.
"""

from __future__ import annotations

from recrawl.clock import Clock
from recrawl.crawl.allowance import Allotment, Allowance


class Purse:
    """An allowance, and a count of what was spent. With `None` there is nothing before the first allotment."""

    def __init__(self, budget: Allotment | None, clock: Clock) -> None:
        self._allowance, self._clock = Allowance(budget, clock), clock
        self._earned, self._since = 0.0, clock.now()
        self.spent = 0.0
        self.waiting = 0

    def allot(self, allotment: Allotment, *, standing: bool = False) -> None:
        """From now on this may be spent, and nothing else."""
        self._earned, self._since = self.earned(), self._clock.now()
        self._allowance.allot(allotment, standing=standing)

    def earned(self) -> float:
        """Tokens that came in so far, at the rates that held."""
        return self._earned + self.per_second * max(self._clock.now() - self._since, 0.0)

    @property
    def allotment(self) -> Allotment:
        """What may be spent now."""
        return self._allowance.allotment

    @property
    def per_second(self) -> float:
        """Tokens a second."""
        return self.allotment.per_second

    @property
    def burst(self) -> float:
        """Tokens that can be saved up."""
        return self.allotment.burst

    def make_room(self, cost: float) -> None:
        """A crawl may cost so much; see :meth:`Allowance.make_room`."""
        self._allowance.make_room(cost)

    def available(self) -> float:
        """Tokens that may be spent on new crawls now."""
        return 0.0 if self.waiting else self._allowance.balance()

    @property
    def full(self) -> bool:
        """Whether all that can be saved up is: what comes in is lost."""
        return not self.waiting and self._allowance.balance() >= self.burst > 0.0

    def spend(self, amount: float) -> None:
        """Take tokens that `available` said are there."""
        self._allowance.take_counted(amount)
        self.spent += amount

    def give_back(self, amount: float) -> None:
        """Return what was taken for a request that was never sent."""
        self._allowance.put_back(amount)
        self.spent -= amount

    def wait_s(self, amount: float = 1.0) -> float:
        """How long until so many tokens are there; inf if they never will be."""
        return self._allowance.wait_s(amount)

    async def pay(self, amount: float = 1.0) -> None:
        """Wait for a token, and take it."""
        self.waiting += 1
        try:
            await self._allowance.draw(amount)
            self.spent += amount
        finally:
            self.waiting -= 1


class Unmetered:
    """Nobody's budget: a look is a handful of requests, asked for by a person."""

    async def pay(self) -> None:
        """Nothing."""

    def give_back(self, amount: float) -> None:
        """Nothing."""
