"""Arrival rates that drift: several memories at once, each trusted as far as it has predicted.

Counts are forgotten at a few speeds. Each speed, with the catalogue's Gamma prior, predicts the next count (negative
binomially); its likelihood so far, itself slowly forgotten, weighs it against the others, source by source, and a
source about which little is known takes the weights of the catalogue. What is believed of the rate is the mixture,
summed up as the Gamma law of the same mean and variance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.likelihood import gamma_prior
from recrawl.learning.columns import Column, Columns
from recrawl.records import BoolArray, FloatArray, IntArray

MEMORIES_DAYS = (7.0, 30.0, 120.0, 500.0)
"""Time constants of forgetting."""
PRIOR_MEMORY = 2
"""Which of them the catalogue's prior is fitted to."""
TRUST_DAYS = 365.0
"""Time constant at which the memories' records are forgotten."""
FIRST_PRIOR = (0.5, 0.5)
"""Shape and rate (days) of the law of rates before anything was seen: one item a day, and anything possible."""
NARROWEST_SHAPE = 5.0
"""The prior is no surer than this, however alike sources are: any of them may change its pace."""
CELLS = 20
"""Into how many classes sources are sorted by exposure, and again by pace, to tell others about them."""
SUMMARY = 3 * CELLS * CELLS + len(MEMORIES_DAYS)
MOST_FITTED = 20_000
"""To so many sources, evenly taken from all, the prior is fitted."""
Record = npt.NDArray[np.float32]


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
    rows: IntArray,
    count: FloatArray,
    exposure: FloatArray,
    gap: FloatArray,
    memories: FloatArray,
    shape: float,
    scale_rate: float,
    counts: Record,
    exposures: Record,
    record: Record,
) -> None:
    """Take in one count per row over exposures > 0: first how well each memory predicted it, then what it says."""
    for k in range(len(rows)):
        i = rows[k]
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
def _shares(record: Record, common: FloatArray, out: FloatArray) -> None:
    """How far each memory of one source is trusted."""
    total = 0.0
    for m in range(len(common)):
        out[m] = common[m] * math.exp(record[m])
        total += out[m]
    out /= total


@njit(cache=True)
def _sum_up(
    rows: IntArray,
    shape: float,
    scale_rate: float,
    counts: Record,
    exposures: Record,
    record: Record,
    common: FloatArray,
    shapes: Record,
    scale_rates: Record,
) -> None:
    """The Gamma law of the mixture's mean and variance, for some sources."""
    weight = np.empty(len(common))
    for k in range(len(rows)):
        i = rows[k]
        mean, square = 0.0, 0.0
        _shares(record[i], common, weight)
        for m in range(len(common)):
            a, b = shape + counts[i, m], scale_rate + exposures[i, m]
            mean += weight[m] * a / b
            square += weight[m] * a * (a + 1.0) / (b * b)
        variance = max(square - mean * mean, 1e-12 * mean * mean)
        shapes[i], scale_rates[i] = mean * mean / variance, mean / variance


@njit(cache=True)
def _summary(
    rows: IntArray, counts: Record, exposures: Record, record: Record, common: FloatArray, out: FloatArray
) -> None:
    """Sources of like exposure and pace: how many, their counts and their exposures; then the trust in each memory."""
    weight = np.empty(len(common))
    for i in rows:
        count, exposure = float(counts[i, PRIOR_MEMORY]), float(exposures[i, PRIOR_MEMORY])
        place = 3 * (_cell(exposure) * CELLS + _cell((count + 0.5) / exposure))
        out[place] += 1.0
        out[place + 1] += count
        out[place + 2] += exposure
        _shares(record[i], common, weight)
        out[3 * CELLS * CELLS :] += weight


@njit(cache=True)
def _cell(amount: float) -> int:
    """Amounts alike up to a factor of 4, those between a millionth and a million told apart."""
    return min(max(math.floor(0.5 * math.log2(amount)) + CELLS // 2, 0), CELLS - 1)


class DriftingArrivals(Columns):
    """Posteriors of arrival rates that may drift; times in days, exposures as the caller weighs them."""

    columns: ClassVar[Mapping[str, Column]] = {
        "counts": Column(np.float32, 0.0, len(MEMORIES_DAYS)),
        "exposures": Column(np.float32, 0.0, len(MEMORIES_DAYS)),
        "record": Column(np.float32, 0.0, len(MEMORIES_DAYS)),
        "shape": Column(np.float32, FIRST_PRIOR[0], kept=False),
        "scale_rate": Column(np.float32, FIRST_PRIOR[1], kept=False),
        "counted": Column(np.bool_, True, kept=False),
    }
    counts: Record
    exposures: Record
    record: Record
    shape: Record
    scale_rate: Record
    counted: BoolArray
    """Which rows the common law is fitted to: not those of sources that are gone."""

    def __init__(self, size: int) -> None:
        self.memories = np.array(MEMORIES_DAYS)
        self.common: FloatArray = np.full(len(MEMORIES_DAYS), 1.0 / len(MEMORIES_DAYS))
        self.prior = FIRST_PRIOR
        self.others: FloatArray = np.zeros(SUMMARY)
        """The summary of other shards of a fleet."""
        super().__init__(size)

    def grow(self, count: int) -> None:
        """Room for new sources, about which only the prior is known."""
        super().grow(count)
        self.update_posterior(np.arange(self.size - count, self.size))

    def learn(self, rows: IntArray, count: FloatArray, exposure: FloatArray, gap: FloatArray) -> None:
        """New items over exposures > 0 and gaps."""
        learn_counts(rows, count, exposure, gap, self.memories, *self.prior, self.counts, self.exposures, self.record)
        self.update_posterior(rows)

    def summary(self) -> FloatArray:
        """What the common law is fitted to, summed over sources."""
        out = np.zeros(SUMMARY)
        _summary(self._known(), self.counts, self.exposures, self.record, self.common, out)
        return out

    def _known(self) -> IntArray:
        return np.flatnonzero((self.exposures[: self.size, PRIOR_MEMORY] > 0.0) & self.counted[: self.size])

    def refit(self) -> None:
        """Fit the prior, and how far memories are trusted, to the catalogue."""
        own, others = self.summary(), self.others
        cells, trust = others[: 3 * CELLS * CELLS].reshape(-1, 3), (own + others)[3 * CELLS * CELLS :]
        cells, known = cells[(cells[:, 0] > 0.0) & (cells[:, 2] > 0.0)], self._known()
        some = known[:: len(known) // MOST_FITTED + 1]
        counts = np.concatenate([self.counts[some, PRIOR_MEMORY].astype(np.float64), cells[:, 1] / cells[:, 0]])
        times = np.concatenate([self.exposures[some, PRIOR_MEMORY].astype(np.float64), cells[:, 2] / cells[:, 0]])
        weight = np.concatenate([np.full(len(some), len(known) / max(len(some), 1)), cells[:, 0]])
        if len(counts):
            start = self.prior
            if start == FIRST_PRIOR:
                start = (FIRST_PRIOR[0], FIRST_PRIOR[0] * (weight @ times) / (weight @ counts + 0.5))
            shape, rate = gamma_prior(counts, times, start, weight=weight)
            narrow = min(float(shape), NARROWEST_SHAPE)
            self.prior = (narrow, narrow * float(rate / shape))
            self.common = (trust + 1.0) / (trust.sum() + len(self.common))
        self.update_posterior(np.arange(self.size))

    def mean(self, rows: IntArray) -> FloatArray:
        """Posterior mean of the arrival rate."""
        return self.shape[rows].astype(np.float64) / self.scale_rate[rows]

    def update_posterior(self, rows: IntArray) -> None:
        """Bring the law of some sources' rates in line with counts and prior."""
        _sum_up(
            rows,
            *self.prior,
            self.counts,
            self.exposures,
            self.record,
            self.common,
            self.shape,
            self.scale_rate,
        )
