"""Every target in turn, whatever it is worth: what most feed readers do."""

from __future__ import annotations

import numpy as np

from recrawl.policies.base import RankedPolicy
from recrawl.records import FloatArray


class RoundRobin(RankedPolicy):
    """The target not crawled for longest, in the order of the ids at first; needs no parameters."""

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """Time since the last crawl."""
        return np.where(np.isneginf(self.last), np.finfo(np.float64).max, now - self.last)

    def grow(self, count: int) -> None:
        """Nothing is kept per target."""
