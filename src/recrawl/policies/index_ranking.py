"""The highest indices among sources crawled before, found by looking at the few that are awake.

The ranking is that of the exact index: whoever sleeps is below the mark, and if the budget reaches the mark everybody
is woken (:mod:`recrawl.scheduling.awake`). The price is the index of the last one chosen, smoothed.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.learning.beliefs import CatalogueBeliefs
from recrawl.learning.rates import UNIX_TIMES
from recrawl.policies.age_floor import AgeFloor
from recrawl.policies.source_columns import SourceColumns
from recrawl.records import FloatArray, IntArray
from recrawl.scheduling.awake import Awake
from recrawl.scheduling.spending import ROUNDING, smoothed_price, spend

OVERDUE = 1e250
"""Above every index: a source past its maximum age, the oldest first."""
LEAST_AWAKE = 64
"""Of so many sources, or of the root of all if those are more, it is worth knowing the order."""
BELOW, SHORTEST_SLEEP_S = 1.0 - 1e-9, 0.01
"""Margins for rounding: sleepers are below the mark by this factor, and sleep no shorter than this."""
RESTLESS = 64
"""So many choices are made before it is tried again to let anybody sleep who would not."""


class IndexRanking:
    """Who is awake, what the last choice cost, and the tick of the clock."""

    def __init__(self, kept: SourceColumns, learned: CatalogueBeliefs, ages: AgeFloor) -> None:
        self._kept, self._learned, self._ages = kept, learned, ages
        self.awake = Awake()
        self.price = math.nan
        self.tick = 0.0
        self._asked = self._asked_before = -math.inf
        self._restless = 0
        """So many choices are made before it is tried again to let anybody sleep."""

    def follow_clock(self, now: float) -> None:
        """The least time between two choices is the tick of the index, where time is counted in slots."""
        gap = now - self._asked
        if now < UNIX_TIMES and 0.0 < gap < math.inf:
            before, self.tick = self.tick, gap if self.tick == 0.0 else min(self.tick, gap)
            if self.tick != before:
                self.rouse_all()
        if now < self._asked:  # what a later hour said of those asleep need not hold in an earlier one
            self.rouse_all()
        self._asked_before, self._asked = self._asked, now

    def choose(self, now: float, budget: float, taken: IntArray) -> IntArray:
        """The highest indices as far as the budget goes, leaving out the hosts of those taken."""
        kept = self._kept
        if budget + ROUNDING < kept.cheapest:
            return np.empty(0, np.int64)
        while True:
            ids = self.awake.at(now)
            free = ids[kept.free(ids, now, taken)]
            scores = self._scores(free, now)
            chosen, lowest, end = spend(free, scores, kept.cost[free], kept.groups_of(free), budget, kept.cheapest)
            if self.awake.everybody or end >= self.awake.mark:
                break
            self.rouse_all()
        if end > -math.inf:
            self._follow_price(lowest, chosen)
        self._let_sleep(len(ids), free, scores, now, len(chosen))
        return chosen

    def _scores(self, ids: IntArray, now: float) -> FloatArray:
        """What some sources are ranked by; those past their maximum age before all others."""
        since, longest = self._kept.since[ids], self._ages.of(ids)
        scores = self._learned.index(ids, since, now, self.tick)
        overdue = now - since >= longest
        if overdue.any():
            scores[overdue] = OVERDUE * ((now - since[overdue]) / longest[overdue])
        return scores

    def _follow_price(self, lowest: float, chosen: IntArray) -> None:
        """The last token bought a source of this index.

        If all chosen were held until now, each was worth more than the price, which is then known to be no higher.
        """
        at_most = bool((self._kept.ready_since(chosen) > self._asked_before).all())
        if 0.0 < lowest < OVERDUE and not (at_most and lowest > self.price):
            self.price = smoothed_price(self.price, lowest)

    def _let_sleep(self, awake: int, free: IntArray, scores: FloatArray, now: float, wanted: int) -> None:
        """If too many are awake, raise the mark, and let those sleep that are far from being chosen."""
        few = max(LEAST_AWAKE, 4 * wanted, math.isqrt(len(self.awake)))
        self._restless -= 1
        if awake <= 4 * few or self._restless > 0 or self.tick > 0.0:
            return
        self._restless = RESTLESS
        kept = self._kept
        first, mark, _ = spend(free, scores, np.ones(len(free)), kept.groups_of(free), float(few), 1.0)
        if len(first) < few or not mark < OVERDUE:
            return
        mark = max(mark, self.awake.mark)
        ids = self.awake.at(now)
        low = ids[~kept.away[ids]]
        until = self._learned.asleep_until(low, kept.since[low], now, mark * BELOW)
        until = np.maximum(np.minimum(until, kept.since[low] + self._ages.of(low)), kept.held_until[low])
        waits = until > now + SHORTEST_SLEEP_S
        self.awake.mark = mark
        self.awake.sleep(low[waits], until[waits])
        if awake - np.count_nonzero(waits) <= 2 * few:
            self._restless = 0

    def rouse(self, ids: IntArray) -> None:
        """The index of some sources may have changed; those never crawled have none."""
        self.awake.rouse(ids[self._kept.visited[ids]])

    def wake_overdue(self) -> None:
        """The usual maximum age is lower: nobody's index is another, but some must wake before they would have."""
        kept = self._kept
        ids = kept.crawled()
        ids = ids[~kept.away[ids]]
        self.awake.wake_by(ids, np.maximum(kept.since[ids] + self._ages.of(ids), kept.held_until[ids]))

    def rouse_all(self) -> None:
        """Everybody's index may have changed, or the mark is too high."""
        self.awake.rouse_all(self._kept.crawled())
        self._restless = 0
