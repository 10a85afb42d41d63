"""Arrival rates from counts of new items since the last visit.

Items arrive by a Poisson process at rate Λ; n of them over an exposure e leave a Gamma posterior with shape a + n and
rate b + e. (a, b) is the law of rates over the catalogue, fitted to all counts together, so that a new source starts
where sources like it are. Optionally counts and exposures fade: after a gap of one `memory` half of them is left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from recrawl.kernels.likelihood import gamma_prior
from recrawl.kernels.worth import remaining
from recrawl.learning.columns import Column, Columns
from recrawl.learning.rates import Refits
from recrawl.records import FloatArray, IntArray


class ArrivalBeliefs(Columns):
    """Posteriors of the arrival rates of a catalogue.

    Parameters
        size: number of sources
        memory: half-life of evidence, in time units; None for never forgetting

    >>> beliefs = ArrivalBeliefs(1)
    >>> beliefs.learn(np.array([0]), count=np.array([50.0]), exposure=np.array([10.0]))
    True
    >>> beliefs.mean(np.array([0])).round(1).tolist()
    [5.0]
    """

    columns: ClassVar[Mapping[str, Column]] = {"count": Column(np.float64, 0.0), "exposure": Column(np.float64, 0.0)}
    count: FloatArray
    exposure: FloatArray

    def __init__(self, size: int, memory: float | None = None) -> None:
        super().__init__(size)
        self.memory = math.inf if memory is None else float(memory)
        self.shape, self.rate = 0.5, 0.0
        self.refits = Refits()

    def learn(self, ids: IntArray, count: FloatArray, exposure: FloatArray) -> bool:
        """New items over a time `exposure`; True if the prior was fitted anew."""
        keep = remaining(exposure, self.memory)
        self.count[ids] = self.count[ids] * keep + count
        self.exposure[ids] = self.exposure[ids] * keep + exposure
        if not self.refits.due(len(ids), self.size):
            return False
        self.refit()
        return True

    def refit(self) -> None:
        """Fit the prior to the sources visited so far."""
        seen = np.flatnonzero(self.exposure[: self.size] > 0.0)
        if not len(seen):
            return
        if self.rate == 0.0:
            self.rate = self.shape * self.exposure[seen].sum() / (self.count[seen].sum() + 0.5)
        self.shape, self.rate = gamma_prior(self.count[seen], self.exposure[seen], (self.shape, self.rate))

    def posterior(self, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Shape and rate of the Gamma posterior; before anything was seen, of rate 1."""
        unknown = self.shape if self.rate == 0.0 else self.rate
        return self.shape + self.count[ids], unknown + self.exposure[ids]

    def mean(self, ids: IntArray) -> FloatArray:
        """Posterior mean of the arrival rate."""
        shape, rate = self.posterior(ids)
        return shape / rate

    def sd(self, ids: IntArray) -> FloatArray:
        """Posterior standard deviation of the arrival rate."""
        shape, rate = self.posterior(ids)
        return np.sqrt(shape) / rate
