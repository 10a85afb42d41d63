"""Apache Nutch, AdaptiveFetchSchedule.

A page found changed is revisited sooner (I ← 0.8·I), one found unchanged later (I ← 1.4·I). Then the schedule tries to
fall into step with the page: with δ the time since it was last known to change, an interval shorter than δ becomes δ,
and the next date is moved forward by 0.3·δ. Intervals stay within a minute and a year; the first is 30 days.

Transient errors are tried again a day later; after three the page counts as gone, and its interval grows by half each
time, up to 90 days.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from recrawl.policies.peers.timers import DAY, MINUTE, Published, TimerPolicy
from recrawl.records import BoolArray, FloatArray, IntArray

FASTER, SLOWER, SYNC = 0.8, 1.4, 0.3
SHORTEST, LONGEST = MINUTE, 365 * DAY
TRIES, RETRY, GONE_SLOWER, GONE_LONGEST = 3, DAY, 1.5, 90 * DAY


class NutchAdaptive(TimerPolicy):
    """The adaptive schedule of Nutch with its default settings."""

    own_visits: ClassVar[bool] = True
    kept: ClassVar[tuple[str, ...]] = (*TimerPolicy.kept, "modified")
    first_interval = 30 * DAY

    def begin(self, now: float) -> None:
        """Nothing is known to have changed."""
        super().begin(now)
        self.modified: FloatArray = np.full(len(self.last), -np.inf)

    def grow(self, count: int) -> None:
        """New targets as at the start."""
        super().grow(count)
        self.modified = np.concatenate([self.modified, np.full(count, -np.inf)])

    def next_interval(self, ids: IntArray, now: float, changed: BoolArray, published: Published) -> FloatArray:
        """Faster or slower, then at least the time since the last change; the first copy of a page keeps its pace."""
        first = self.baseline(ids, published)
        self.modified[ids[changed | np.isneginf(self.modified[ids])]] = now
        interval = self.interval[ids] * np.where(first, 1.0, np.where(changed, FASTER, SLOWER))
        return np.clip(np.maximum(interval, now - self.modified[ids]), SHORTEST, LONGEST)

    def next_date(self, ids: IntArray, now: float) -> FloatArray:
        """The interval from now, less some of the time since the last change."""
        return now + self.scale * (self.interval[ids] - SYNC * (now - self.modified[ids]))

    def retry_after(self, ids: IntArray) -> FloatArray:
        """A day; a page that is gone, ever longer."""
        gone = ids[self.errors[ids] > TRIES]
        self.interval[gone] = np.minimum(self.interval[gone] * GONE_SLOWER, GONE_LONGEST)
        return np.where(self.errors[ids] > TRIES, self.interval[ids], RETRY)
