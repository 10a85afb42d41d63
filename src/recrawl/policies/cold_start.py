"""Sources never crawled: a queue of their own with a share of every budget.

What the index thinks of a source that was never seen is a guess, and at a high price a low guess is never looked at.
So newcomers do not compete with the others: while any wait they are owed the share `cold_start` of what is spent, in
the order of importance × half-life per cost (the prior, as far as one source differs from another), equal ones in the
order they came. With n newcomers ahead of it a source is first fetched by the time n + 1 ≤ cold_start × (tokens
spent), whatever the price: after about (n + 1)/cold_start tokens (equal costs, no holds). Where newcomers are more of
the catalogue than that, as after a first import, their part of it is their share: little is known of anybody, and the
first look at a source teaches more than another at one of the few known. Budgets smaller than a crawl add up as credit.

*Siblings.* Sources that nobody asked for one by one, such as the thousands a sitemap index names, are kin, and a
family counts as one newcomer: in the share, and in the queue. Each newcomer has a **turn**. A member of a family gets
the one after that of the member before it; whoever has no family, and the first of one, the turn that is being served.
Equal merits go by turn, so families take turns with each other, and nobody who comes later waits for more than one
member of each.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import numpy.typing as npt

from recrawl.records import FloatArray, IntArray
from recrawl.scheduling.calendar import Calendar

ALONE = -1
"""The family of a source that has none."""
FAMILIES = 0.5
"""The largest share that is owed to newcomers nobody asked for one by one."""
TURN = 2.0**-40
"""A turn lowers the merit by this part of it: a billion of them by a thousandth."""


class ColdStart:
    """The queue, over the same ids as the calendar it stands beside, and the credit of those who wait."""

    def __init__(self, share: float, now: float, grouped: bool) -> None:
        self.share = share
        self.credit = 0.0
        self.dearest = 0.0
        self._waiting: Counter[int] = Counter()
        self._next: dict[int, float] = {}
        self._serving: dict[float, float] = {}
        """Per merit, the turn of whoever was chosen last."""
        self._grouped = grouped
        self.begin(0, now)

    def begin(self, first: int, now: float) -> None:
        """An empty queue for sources from this id on: those before are no newcomers."""
        self.first = first
        self._queue = Calendar(np.empty(0), 0.0, now=now, group=np.empty(0, np.int64) if self._grouped else None)

    def __len__(self) -> int:
        return len(self._queue)

    def choose(self, now: float, budget: float) -> IntArray:
        """Those to be looked at first; they do not come again before `land`."""
        chosen = self._queue.choose(now, budget)
        self._queue.defer(chosen, math.inf)
        return chosen + self.first

    def land(self, ids: IntArray, until: FloatArray) -> None:
        """These have not been looked at after all, and wait, not before a time each."""
        self._queue.crawled(ids - self.first, -math.inf)
        self._queue.defer(ids - self.first, until)

    def defer(self, ids: IntArray, until: FloatArray) -> None:
        """These wait, not before a time each."""
        self._queue.defer(ids - self.first, until)

    def hold(self, groups: IntArray, until: npt.ArrayLike) -> None:
        """Nobody of these groups before a time each."""
        self._queue.hold(groups, until)

    def configure(self, ids: IntArray, merit: FloatArray, turn: FloatArray, cost: FloatArray) -> None:
        """What some are worth and cost."""
        self._queue.configure(ids - self.first, cost)
        self._queue.update(ids - self.first, ranked(merit, turn))

    @property
    def shares(self) -> int:
        """How many newcomers those who wait count as."""
        alone = self._waiting[ALONE]
        return alone + len(self._waiting) - (ALONE in self._waiting)

    def turns(self, merit: FloatArray, kin: IntArray) -> FloatArray:
        """The turns of newcomers, in the order in which they come."""
        turns = np.array([self._serving.get(each, 0.0) for each in merit.tolist()])
        for place in np.flatnonzero(kin != ALONE).tolist():
            family = int(kin[place])
            turns[place] = max(float(turns[place]), self._next.get(family, 0.0))
            self._next[family] = float(turns[place]) + 1.0
        return turns

    def add(self, merit: FloatArray, turn: FloatArray, cost: FloatArray, group: IntArray | None, kin: IntArray) -> None:
        """Take in newcomers; ids follow on from those given before."""
        self.dearest = max(self.dearest, float(cost.max(initial=0.0)))
        self._queue.add(ranked(merit, turn), 1.0, cost, group=group)
        self._waiting.update(kin.tolist())

    def leave(self, ids: IntArray, kin: IntArray) -> None:
        """These are no newcomers any more."""
        self._queue.remove(ids - self.first)
        self._waiting.subtract(kin.tolist())
        for family in {*kin.tolist()} - {ALONE}:
            if not self._waiting[family]:
                del self._waiting[family]

    def serve(self, merit: FloatArray, turn: FloatArray) -> None:
        """These were chosen: it is their turn."""
        for each, now in zip(merit.tolist(), turn.tolist(), strict=True):
            self._serving[each] = max(self._serving.get(each, 0.0), now)

    def earn(self, budget: float, catalogue: int) -> float:
        """What newcomers may spend of this budget: their share, and what they could not spend of earlier ones."""
        shares, least = self.shares, self.share if self._waiting[ALONE] else min(self.share, FAMILIES)
        share = max(least, shares / max(catalogue - len(self._queue) + shares, 1))
        self.credit = min(self.credit, self.dearest) + share * budget
        return min(self.credit, budget)

    def pay(self, spent: float) -> None:
        """They spent so much of their share."""
        self.credit = max(self.credit - spent, 0.0)


def ranked(merit: FloatArray, turn: FloatArray) -> FloatArray:
    """What the queue ranks newcomers by."""
    return merit * np.maximum(1.0 - turn * TURN, TURN)
