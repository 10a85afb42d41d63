"""Rules that plan crawl rates for a whole catalogue under its budget, and plan again as they learn.

Change rates are maximum-likelihood estimates from "changed or not since the last visit", smoothed by one changed and
one unchanged pseudo-visit; a page visited less than twice is taken to change about once per fair share of the budget.
Once a day the rates are planned anew, and a page's interval is one over its rate.

The budget is not told; it is measured: what a call to `choose` offers after one that spent everything has come in
since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.kernels.likelihood import smoothed_change_rate
from recrawl.policies.contract import Beliefs
from recrawl.policies.peers.timers import DAY, Published, TimerPolicy
from recrawl.records import BoolArray, FloatArray, IntArray

REPLANNED_EVERY = DAY


class PlannedTimerPolicy(TimerPolicy):
    """Timers at the intervals of a plan."""

    kept: ClassVar[tuple[str, ...]] = (*TimerPolicy.kept, "gaps", "found", "estimate", "plan_of")
    kept_once: ClassVar[tuple[str, ...]] = ("planned_at", "offered", "offered_over")

    def plan(self, change_rate: FloatArray, budget: float) -> FloatArray:
        """Crawl rates for these change rates; `budget` and all rates are per second."""
        raise NotImplementedError

    def begin(self, now: float) -> None:
        """No visits, no budget seen."""
        super().begin(now)
        self.gaps: list[list[float]] = [[] for _ in range(len(self.last))]
        self.found: list[list[bool]] = [[] for _ in range(len(self.last))]
        self.estimate: FloatArray = np.full(len(self.last), np.nan)
        self.told: set[int] = set()
        self.planned_at = float(now)
        self.plan_of: FloatArray = np.full(len(self.last), self.planned_at)
        self.offered, self.offered_over = 0.0, 0.0
        self.asked, self.spent_all = now, True

    def grow(self, count: int) -> None:
        """New pages are visited once before they enter the plan."""
        super().grow(count)
        self.gaps += [[] for _ in range(count)]
        self.found += [[] for _ in range(count)]
        self.estimate = np.concatenate([self.estimate, np.full(count, np.nan)])
        self.plan_of = np.concatenate([self.plan_of, np.full(count, self.planned_at)])

    def next_interval(self, ids: IntArray, now: float, changed: BoolArray, published: Published) -> FloatArray:
        """Note the visit; the interval stays that of the plan."""
        for i, gap, found in zip(ids.tolist(), (now - self.last[ids]).tolist(), changed.tolist(), strict=True):
            if 0.0 < gap < np.inf:
                self.gaps[i].append(gap)
                self.found[i].append(found)
                self.told.add(i)
        return self.interval[ids]

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """By timer, after planning anew where that is due."""
        now, budget, states = self.question(now, budget, states)
        if self.offered_over > 0.0 and now - self.planned_at >= REPLANNED_EVERY and not self.removed.all():
            self._plan_anew(now)
        return super().choose(now, budget, states)

    def pay(self, budget: float, spent: float) -> None:
        """Measure the budget; `self.now` is the time of the choice."""
        if self.spent_all and self.now > self.asked:
            self.offered += budget
            self.offered_over += self.now - self.asked
        self.asked, self.spent_all = self.now, spent + 1.0 > budget

    def beliefs(self, ids: npt.ArrayLike) -> Beliefs:
        """The estimated change rates, without a spread."""
        chosen = self._known(ids)
        unknown = np.full(len(chosen), np.nan)
        return Beliefs(unknown, unknown, self.estimate[chosen], unknown)

    def _plan_anew(self, now: float) -> None:
        self.planned_at = now
        self.plan_of[:] = now
        for i in self.told:
            self.estimate[i] = smoothed_change_rate(np.array(self.gaps[i]), np.array(self.found[i], dtype=bool))
        self.told.clear()
        budget = self.offered / self.offered_over
        present = ~self.removed
        fair_share = budget / present.sum()
        rate = np.zeros(len(self.last))
        guess = np.where(np.isnan(self.estimate), fair_share * np.log(2.0), self.estimate)
        rate[present] = self.plan(guess[present], budget)
        self.interval = np.divide(1.0, rate, out=np.full(len(rate), np.inf), where=rate > 0)
        visited = ~np.isneginf(self.last) & (self.errors == 0)
        self.date[visited] = self.last[visited] + self.scale * self.interval[visited]

    def load_rows(
        self, ids: npt.ArrayLike, rows: Sequence[bytes], last: npt.ArrayLike, visited: npt.ArrayLike | None = None
    ) -> BoolArray:
        """Go on with pages; where some were not crawled since the last plan, their rows are older: it is made anew."""
        used, chosen = super().load_rows(ids, rows, last, visited), self._known(ids)
        self.told.update(i for i in chosen.tolist() if self.gaps[i])
        if (self.plan_of[chosen] != self.planned_at).any():
            self.planned_at = -np.inf
        return used
