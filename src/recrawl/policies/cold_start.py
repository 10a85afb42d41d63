"""Sources never crawled: a queue of their own with a share of every budget.

What the index thinks of a source that was never seen is a guess, and at a high price a low guess is never looked at.
So newcomers do not compete with the others: while any wait they are owed the share `cold_start` of what is spent, in
the order of importance × half-life per cost (the prior, as far as one source differs from another), equal ones in the
order they came. With n newcomers ahead of it a source is first fetched by the time n + 1 ≤ cold_start × (tokens
spent), whatever the price: after about (n + 1)/cold_start tokens (equal costs, no holds). Where newcomers are more of
the catalogue than that, as after a first import, their part of it is their share: little is known of anybody, and the
first look at a source teaches more than another at one of the few known. Budgets smaller than a crawl add up as credit.
"""

from __future__ import annotations

import numpy as np

from recrawl.records import FloatArray, IntArray
from recrawl.scheduling.calendar import Calendar


class ColdStart:
    """The queue, over the same ids as the calendar it stands beside, and the credit of those who wait."""

    def __init__(self, share: float, now: float, grouped: bool) -> None:
        self.share = share
        self.credit = 0.0
        self.dearest = 0.0
        nobody = np.empty(0)
        self.queue = Calendar(nobody, 0.0, now=now, group=np.empty(0, np.int64) if grouped else None)

    def __len__(self) -> int:
        return len(self.queue)

    def add(self, merit: FloatArray, cost: FloatArray, group: IntArray | None) -> None:
        """Take in newcomers; ids follow on from those given before."""
        self.dearest = max(self.dearest, float(cost.max(initial=0.0)))
        self.queue.add(merit, 1.0, cost, group=group)

    def earn(self, budget: float, catalogue: int) -> float:
        """What newcomers may spend of this budget: their share, and what they could not spend of earlier ones."""
        share = max(self.share, len(self.queue) / max(catalogue, 1))
        self.credit = min(self.credit, self.dearest) + share * budget
        return min(self.credit, budget)

    def pay(self, spent: float) -> None:
        """They spent so much of their share."""
        self.credit = max(self.credit - spent, 0.0)
