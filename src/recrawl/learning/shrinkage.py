"""Means of what is seen of each source, shrunk towards that of the catalogue."""

from __future__ import annotations

import numpy as np

from recrawl.learning.rates import Refits
from recrawl.records import FloatArray, IntArray


class MeanWorth:
    """The mean of what is seen of each source, shrunk towards that of the catalogue.

    A source counts its own mean for n and the catalogue's for κ observations, κ being the variance within sources over
    the variance between them: where every change of a page is worth the same, one is enough to know it.
    """

    def __init__(self, targets: int) -> None:
        self.count = np.zeros(targets)
        self.total = np.zeros(targets)
        self.square = np.zeros(targets)
        self.pooled, self.weight = 1.0, 1.0
        self.best = 0.0
        self.refits = Refits()

    def grow(self, count: int) -> None:
        """Room for new sources."""
        for name in ("count", "total", "square"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros(count)]))

    def learn(self, ids: IntArray, amount: FloatArray) -> None:
        """One amount per id."""
        self.count[ids] += 1.0
        self.total[ids] += amount
        self.square[ids] += amount**2
        self.best = max(self.best, float(self._mean_of(ids).max()))
        if self.refits.due(len(ids), len(self.count)):
            self.refit()

    def refit(self) -> None:
        """Pooled mean, and the weight κ it deserves."""
        seen = self.count > 0.0
        means = self.total[seen] / self.count[seen]
        if len(means) == 0:
            return
        self.pooled = float(means.mean())
        freedom = float((self.count[seen] - 1.0).sum())
        if freedom < 1.0 or len(means) < 2:
            return
        within = float(np.maximum(self.square[seen] - self.total[seen] * means, 0.0).sum()) / freedom
        between = float(means.var(ddof=1)) - within * float((1.0 / self.count[seen]).mean())
        self.weight = min(max(within / max(between, 1e-9 * self.pooled**2, 1e-300), 1e-6), 1e6)
        self.best = float(self._mean_of(np.flatnonzero(seen)).max())

    def mean(self) -> FloatArray:
        """The shrunk mean of every source."""
        return self._mean_of(np.arange(len(self.count)))

    def hopeful(self, ids: IntArray | None = None) -> FloatArray:
        """The shrunk mean of some sources, or of every one; for those never seen, the best one found.

        So hopeful that each is looked into once: at a high price a source of average worth is never crawled, and one
        not yet seen would be taken for average.
        """
        chosen = np.arange(len(self.count)) if ids is None else ids
        return np.where(self.count[chosen] > 0.0, self._mean_of(chosen), max(self.best, self.pooled))

    def _mean_of(self, ids: IntArray) -> FloatArray:
        result: FloatArray = (self.total[ids] + self.weight * self.pooled) / (self.count[ids] + self.weight)
        return result
