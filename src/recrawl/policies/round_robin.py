"""Every target in turn, whatever it is worth: what most feed readers do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from recrawl.policies.live_base import RunningPolicy
from recrawl.records import FloatArray


class RoundRobin(RunningPolicy):
    """The target not crawled for longest, in the order of the ids at first; needs no parameters."""

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """Time since the last crawl."""
        return np.where(np.isneginf(self.last), np.finfo(np.float64).max, now - self.last)

    def grow(self, count: int) -> None:
        """Nothing is kept per target."""

    def index(self, ids: npt.ArrayLike, now: npt.ArrayLike) -> FloatArray:
        """Time since the last crawl; NaN before the first."""
        age: FloatArray = np.asarray(now, np.float64) - self.last[self._known(ids)]
        return np.where(np.isposinf(age), np.nan, age)
