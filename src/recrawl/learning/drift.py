"""Arrival rates that drift: several memories at once, each trusted as far as it has predicted.

Counts are forgotten at a few speeds. Each speed, with the catalogue's Gamma prior, predicts the next count (negative
binomially); its likelihood so far, itself slowly forgotten, weighs it against the others, source by source, and a
source about which little is known takes the weights of the catalogue. What is believed of the rate is the mixture,
summed up as the Gamma law of the same mean and variance.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy.special import gammaincinv

from recrawl.kernels.likelihood import moment_gamma_prior
from recrawl.records import FloatArray, IntArray

MEMORIES_DAYS = (7.0, 30.0, 120.0, 500.0)
"""Time constants of forgetting."""
PRIOR_MEMORY = 2
"""Which of them the catalogue's prior is fitted to."""
TRUST_DAYS = 365.0
"""Time constant at which the memories' records are forgotten."""


@njit(cache=True)
def _predictive(count: float, exposure: float, shape: float, scale_rate: float) -> float:
    """Log-probability of a count over an exposure under a Gamma(shape, scale_rate) rate, up to the count's own term."""
    whole = scale_rate + exposure
    return (
        math.lgamma(shape + count)
        - math.lgamma(shape)
        + shape * math.log(scale_rate / whole)
        + count * math.log(exposure / whole)
    )


@njit(cache=True)
def learn_counts(
    ids: IntArray,
    count: FloatArray,
    exposure: FloatArray,
    gap: FloatArray,
    memories: FloatArray,
    shape: float,
    scale_rate: float,
    counts: FloatArray,
    exposures: FloatArray,
    record: FloatArray,
) -> None:
    """Take in one count per id over exposures > 0: first how well each memory predicted it, then what it says."""
    for k in range(len(ids)):
        i = ids[k]
        trust, best = math.exp(-gap[k] / TRUST_DAYS), -math.inf
        for m in range(len(memories)):
            record[i, m] = trust * record[i, m] + _predictive(
                count[k], exposure[k], shape + counts[i, m], scale_rate + exposures[i, m]
            )
            kept = math.exp(-gap[k] / memories[m])
            counts[i, m] = kept * counts[i, m] + count[k]
            exposures[i, m] = kept * exposures[i, m] + exposure[k]
            best = max(best, record[i, m])
        for m in range(len(memories)):
            record[i, m] -= best


@njit(cache=True)
def sum_up(
    ids: IntArray,
    shape: float,
    scale_rate: float,
    counts: FloatArray,
    exposures: FloatArray,
    record: FloatArray,
    common: FloatArray,
    weight: FloatArray,
    shapes: FloatArray,
    scale_rates: FloatArray,
) -> None:
    """Weights of the memories and the Gamma law of the mixture's mean and variance, for some sources."""
    for k in range(len(ids)):
        i = ids[k]
        total, mean, square = 0.0, 0.0, 0.0
        for m in range(len(common)):
            weight[i, m] = common[m] * math.exp(record[i, m])
            total += weight[i, m]
        for m in range(len(common)):
            weight[i, m] /= total
            a, b = shape + counts[i, m], scale_rate + exposures[i, m]
            mean += weight[i, m] * a / b
            square += weight[i, m] * a * (a + 1.0) / (b * b)
        variance = max(square - mean * mean, 1e-12 * mean * mean)
        shapes[i], scale_rates[i] = mean * mean / variance, mean / variance


class DriftingArrivals:
    """Posteriors of arrival rates that may drift; times in days, exposures as the caller weighs them."""

    def __init__(self, targets: int) -> None:
        self.memories = np.array(MEMORIES_DAYS)
        size = len(self.memories)
        self.counts, self.exposures = np.zeros((targets, size)), np.zeros((targets, size))
        self.record, self.weight = np.zeros((targets, size)), np.full((targets, size), 1.0 / size)
        self.common = np.full(size, 1.0 / size)
        self.prior = (0.5, 0.5)
        self.shape, self.scale_rate = np.full(targets, 0.5), np.full(targets, 0.5)

    def grow(self, count: int) -> None:
        """Room for new sources, about which only the prior is known."""
        before = len(self.shape)
        for name in ("counts", "exposures", "record", "weight"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros((count, array.shape[1]))]))
        self.shape = np.concatenate([self.shape, np.zeros(count)])
        self.scale_rate = np.concatenate([self.scale_rate, np.zeros(count)])
        self._sum_up(np.arange(before, before + count))

    def learn(self, ids: IntArray, count: FloatArray, exposure: FloatArray, gap: FloatArray) -> None:
        """New items over exposures > 0 and gaps."""
        learn_counts(ids, count, exposure, gap, self.memories, *self.prior, self.counts, self.exposures, self.record)
        self._sum_up(ids)

    def refit(self) -> None:
        """Fit the prior, and how far memories are trusted, to the catalogue."""
        seen = self.exposures[:, PRIOR_MEMORY] > 0.0
        if not seen.any():
            return
        self.prior = moment_gamma_prior(self.counts[seen, PRIOR_MEMORY], self.exposures[seen, PRIOR_MEMORY])
        self.common = (self.weight.sum(axis=0) + 1.0) / (len(self.weight) + len(self.common))
        self._sum_up(np.arange(len(self.shape)))

    def mean(self, ids: IntArray) -> FloatArray:
        """Posterior mean of the arrival rate."""
        result: FloatArray = self.shape[ids] / self.scale_rate[ids]
        return result

    def interval(self, ids: IntArray, coverage: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """The central posterior interval of each arrival rate."""
        tail = 0.5 * (1.0 - coverage)
        low, high = gammaincinv(self.shape[ids], tail), gammaincinv(self.shape[ids], 1.0 - tail)
        return low / self.scale_rate[ids], high / self.scale_rate[ids]

    def _sum_up(self, ids: IntArray) -> None:
        sum_up(
            ids,
            *self.prior,
            self.counts,
            self.exposures,
            self.record,
            self.common,
            self.weight,
            self.shape,
            self.scale_rate,
        )
