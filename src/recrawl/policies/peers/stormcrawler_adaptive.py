"""Apache StormCrawler, AdaptiveScheduler.

A page found changed moves half-way from its interval to the shortest one, I ← (1 − d)·I + d·min; one found unchanged
(or answered 304) grows by half, I ← min(max, (1 + i)·I). Errors are tried again after two hours, three in a row are
the end.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from recrawl.policies.peers.timers import MINUTE, Published, TimerPolicy
from recrawl.records import BoolArray, FloatArray, IntArray

ERRORS, RETRY = 3, 120 * MINUTE


class StormcrawlerAdaptive(TimerPolicy):
    """The adaptive scheduler of StormCrawler with its default settings."""

    own_visits: ClassVar[bool] = True
    first_interval = 1440 * MINUTE
    shortest, longest = 60 * MINUTE, 20160 * MINUTE
    decrease, increase = 0.5, 0.5

    def next_interval(self, ids: IntArray, now: float, changed: BoolArray, published: Published) -> FloatArray:
        """Towards the shortest interval, or longer; the first copy of a page says nothing, a first backlog does."""
        interval = self.interval[ids]
        faster = (1.0 - self.decrease) * interval + self.decrease * self.shortest
        slower = np.minimum(self.longest, (1.0 + self.increase) * interval)
        return np.where(self.baseline(ids, published), interval, np.where(changed, faster, slower))

    def retry_after(self, ids: IntArray) -> FloatArray:
        """Two hours, twice; then never."""
        return np.where(self.errors[ids] >= ERRORS, np.inf, RETRY)
