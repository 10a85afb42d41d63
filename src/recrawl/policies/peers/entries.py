"""The entries of each feed a reader has seen lately, which feed readers set their intervals by."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.policies.peers.timers import Published, TimerPolicy
from recrawl.records import BoolArray, FloatArray, IntArray


class EntryTimerPolicy(TimerPolicy):
    """A timer set by the publication times of a feed's entries."""

    kept: ClassVar[tuple[str, ...]] = (*TimerPolicy.kept, "entries")

    def interval_of(self, entries: FloatArray, now: float) -> float:
        """The interval for a feed with these entries, oldest first."""
        raise NotImplementedError

    def worth_keeping(self, entries: FloatArray, now: float) -> FloatArray:
        """The part of the entries the rule may still look at."""
        raise NotImplementedError

    def begin(self, now: float) -> None:
        """No entries seen."""
        super().begin(now)
        self.entries: list[FloatArray] = [np.empty(0) for _ in range(len(self.last))]

    def grow(self, count: int) -> None:
        """New feeds without entries."""
        super().grow(count)
        self.entries += [np.empty(0) for _ in range(count)]

    def next_interval(self, ids: IntArray, now: float, changed: BoolArray, published: Published) -> FloatArray:
        """The rule on each feed's entries, the new ones included."""
        new: list[npt.ArrayLike] = [()] * len(ids) if published is None else list(published)
        intervals = np.empty(len(ids))
        for k, (i, times) in enumerate(zip(ids.tolist(), new, strict=True)):
            if np.size(times):
                self.entries[i] = np.sort(np.concatenate([self.entries[i], np.asarray(times, dtype=np.float64)]))
            self.entries[i] = self.worth_keeping(self.entries[i], now)
            intervals[k] = self.interval_of(self.entries[i], now)
        return intervals
