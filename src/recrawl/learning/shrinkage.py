"""Means of what is seen of each source, shrunk towards that of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from recrawl.learning.columns import Column, Columns
from recrawl.learning.rates import Refits
from recrawl.records import FloatArray, IntArray


class MeanWorth(Columns):
    """The mean of what is seen of each source, shrunk towards that of the catalogue.

    A source counts its own mean for n and the catalogue's for κ observations, κ being the variance within sources over
    the variance between them: where every change of a page is worth the same, one is enough to know it.
    """

    columns: ClassVar[Mapping[str, Column]] = {
        name: Column(np.float64, 0.0, alike=True) for name in ("count", "total", "square")
    }
    count: FloatArray
    total: FloatArray
    square: FloatArray

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.pooled, self.weight = 1.0, 1.0
        self.best = 0.0
        self.refits = Refits()

    @property
    def common(self) -> tuple[float, float, float]:
        """All that every source's mean rests on."""
        return self.pooled, self.weight, self.best

    def learn(self, ids: IntArray, amount: FloatArray) -> None:
        """One amount per id."""
        self.put("count", ids, self.count[ids] + 1.0)
        self.put("total", ids, self.total[ids] + amount)
        self.put("square", ids, self.square[ids] + amount**2)
        self.best = max(self.best, float(self.mean(ids).max()))
        if self.refits.due(len(ids), self.size):
            self.refit()

    def refit(self) -> None:
        """Pooled mean, and the weight κ it deserves."""
        seen = np.flatnonzero(self.count[: self.size] > 0.0)
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
        self.best = float(self.mean(seen).max())

    def hopeful(self, ids: IntArray) -> FloatArray:
        """The shrunk mean of some sources; for those never seen, the best one found.

        So hopeful that each is looked into once: at a high price a source of average worth is never crawled, and one
        not yet seen would be taken for average.
        """
        return np.where(self.count[ids] > 0.0, self.mean(ids), max(self.best, self.pooled))

    def mean(self, ids: IntArray) -> FloatArray:
        """The shrunk mean of some sources."""
        result: FloatArray = (self.total[ids] + self.weight * self.pooled) / (self.count[ids] + self.weight)
        return result
