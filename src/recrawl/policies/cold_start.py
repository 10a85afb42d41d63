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

from recrawl.learning.beliefs import CatalogueBeliefs
from recrawl.policies.source_columns import ALONE, SourceColumns
from recrawl.records import BoolArray, FloatArray, IntArray
from recrawl.scheduling.calendar import Calendar
from recrawl.scheduling.spending import ROUNDING

FAMILIES = 0.5
"""The largest share that is owed to newcomers nobody asked for one by one."""
TURN = 2.0**-40
"""A turn lowers the merit by this part of it: a billion of them by a thousandth."""
SOONER = -(2.0**41)
"""The turn of one that is looked at before all others of up to three times its merit."""


class ColdStart:
    """The queue, over the same ids as the ranking it stands beside, and the credit of those who wait."""

    def __init__(self, share: float, now: float, kept: SourceColumns, learned: CatalogueBeliefs) -> None:
        self.share = share
        self.credit = 0.0
        self._kept, self._learned = kept, learned
        self._admitted = 0
        self._dearest = 0.0
        self._waiting: Counter[int] = Counter()
        self._next: dict[int, float] = {}
        self._serving: dict[float, float] = {}
        """Per merit that owners gave, the turn of whoever was chosen last of those no list speaks for."""
        self._begin(0, now)

    def _begin(self, first: int, now: float) -> None:
        """An empty queue for sources from this id on: those before are no newcomers."""
        self._first = first
        group = np.empty(0, np.int64) if self._kept.grouped else None
        self._queue = Calendar(np.empty(0), 0.0, now=now, group=group)

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def shares(self) -> int:
        """How many newcomers those who wait count as."""
        alone = self._waiting[ALONE]
        return alone + len(self._waiting) - (ALONE in self._waiting)

    # -- who waits

    def strangers(self, ids: IntArray) -> BoolArray:
        """Which of some sources have not been taken in yet."""
        return ids >= self._admitted

    def admit(self, now: float) -> None:
        """Take in sources added since the last call; those with a past leave at once."""
        first, end, kept = self._admitted, len(self._kept), self._kept
        if end == first:
            return
        self._admitted = end
        self._dearest = max(self._dearest, float(kept.cost[first:end].max(initial=0.0)))
        if len(self._queue) == 0:  # it need not begin with those that are no newcomers
            first += _length_of_truth(kept.visited[first:end])
            self._begin(first, now)
        if first == end:
            return
        ids = np.arange(first, end)
        merit, new, cost, kin = self._merit(ids), ~kept.visited[ids], kept.cost[ids], kept.kin[ids]
        kept.put("turn", ids[new], self._turns(merit[new], kin[new]))
        self._queue.add(ranked(merit, kept.turn[ids]), 1.0, cost, group=kept.groups_of(ids))
        self._waiting.update(kin.tolist())
        self.leave(ids[~new], now)
        if kept.grouped:
            groups = np.unique(kept.group[ids])
            self.hold(groups[kept.group_held_until[groups] > -math.inf])

    def leave(self, ids: IntArray, now: float) -> None:
        """These are no newcomers any more."""
        if len(ids) == 0:
            return
        kin = self._kept.kin[ids].tolist()
        self._queue.remove(ids - self._first)
        self._waiting.subtract(kin)
        for family in {*kin} - {ALONE}:
            if not self._waiting[family]:
                del self._waiting[family]
        if len(self._queue) == 0:
            self._begin(self._admitted, now)

    def configure(self, ids: IntArray) -> None:
        """What owners said of some has changed."""
        if len(ids):
            self._queue.configure(ids - self._first, self._kept.cost[ids])
            self._queue.update(ids - self._first, ranked(self._merit(ids), self._kept.turn[ids]))

    def _merit(self, ids: IntArray) -> FloatArray:
        """What newcomers are ranked by, before costs."""
        merit = self._given(ids)
        if self._learned.signals is not None:
            merit = np.maximum(merit * self._learned.signals.promise(ids), 1e-300)
        return np.maximum(merit * self._learned.lasting(ids), 1e-300)

    def _given(self, ids: IntArray) -> FloatArray:
        """The same by what owners gave, whatever lists say."""
        own = self._learned.half_life[ids] / self._learned.usual_half_life
        return np.maximum(self._kept.importance[ids] * np.where(np.isnan(own), 1.0, own), 1e-300)

    def _turns(self, merit: FloatArray, kin: IntArray) -> FloatArray:
        """The turns of newcomers, in the order in which they come."""
        turns = np.array([self._serving.get(each, 0.0) for each in merit.tolist()])
        for place in np.flatnonzero(kin != ALONE).tolist():
            family = int(kin[place])
            turns[place] = max(float(turns[place]), self._next.get(family, 0.0))
            self._next[family] = float(turns[place]) + 1.0
        return turns

    def hasten_last(self) -> None:
        """Lists come last in a catalogue that has some: so the last target may be one."""
        last = len(self._kept) - 1
        if not self._kept.visited[last] and self._kept.turn[last] > SOONER:
            self.hasten(np.array([last]))

    def found_list(self, target: int) -> None:
        """A target was a list: so the one before it may be one too."""
        before = np.array([target - 1])
        waits = target > self._first and not self.strangers(before)[0]
        if waits and not self._kept.visited[before][0] and not self._kept.removed[before][0]:
            self.hasten(before)

    def hasten(self, ids: IntArray) -> None:
        """Look at these newcomers before their equals."""
        self._kept.put("turn", ids, SOONER)
        self.configure(ids)

    # -- when they may be chosen

    def land(self, ids: IntArray) -> None:
        """These have not been looked at after all, and wait again."""
        if len(ids):
            self._queue.crawled(ids - self._first, -math.inf)
            self.defer(ids)

    def defer(self, ids: IntArray) -> None:
        """These are held, each until its time."""
        self._queue.defer(ids - self._first, self._kept.held_until[ids])

    def hold(self, groups: IntArray) -> None:
        """These groups are held, each until its time."""
        if len(self._queue) and len(groups):
            self._queue.hold(groups, self._kept.group_held_until[groups])

    # -- choosing

    def choose(self, now: float, budget: float, taken: IntArray) -> IntArray:
        """Those to be looked at first, leaving out the hosts of those taken; they do not come again before `land`."""
        if budget <= ROUNDING or budget + ROUNDING < self._kept.cheapest or len(self._queue) == 0:
            return np.empty(0, np.int64)
        hosts = np.unique(self._kept.group[taken]) if self._kept.grouped and len(taken) else np.empty(0, np.int64)
        if len(hosts):
            self._queue.hold(hosts, math.inf)
        chosen = self._queue.choose(now, budget)
        self._queue.defer(chosen, math.inf)
        chosen = chosen + self._first
        self.hold(hosts)
        given = self._given(chosen)
        alone = self._merit(chosen) == given
        for merit, turn in zip(given[alone].tolist(), self._kept.turn[chosen[alone]].tolist(), strict=True):
            self._serving[merit] = max(self._serving.get(merit, 0.0), turn)
        return chosen

    def earn(self, budget: float) -> float:
        """What newcomers may spend of this budget: their share, and what they could not spend of earlier ones."""
        shares, least = self.shares, self.share if self._waiting[ALONE] else min(self.share, FAMILIES)
        others = self._admitted - self._kept.gone - len(self._queue)
        share = max(least, shares / max(others + shares, 1))
        self.credit = min(self.credit, self._dearest) + share * budget
        return min(self.credit, budget)

    def pay(self, spent: float) -> None:
        """They spent so much of their share."""
        self.credit = max(self.credit - spent, 0.0)


def _length_of_truth(values: BoolArray) -> int:
    """How many are true before the first that is not."""
    return len(values) if values.all() else int(np.argmin(values))


def ranked(merit: FloatArray, turn: FloatArray) -> FloatArray:
    """What the queue ranks newcomers by."""
    return merit * np.maximum(1.0 - turn * TURN, TURN)
