"""Rates on a grid, the law of rates over a catalogue, and when to fit it again.

A posterior over a fixed grid of rates cannot diverge, takes any likelihood, and is updated in constant time. What most
sources of a catalogue are like is the prior of the next one: it is fitted to all posteriors together (empirical Bayes,
by expectation–maximisation over the grid), smoothed over neighbouring rates, drawn towards a lognormal law, and never
quite loses a flat part, so that no rate is ruled out because nobody had it yet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.errors import ParameterError
from recrawl.kernels.worth import LN2
from recrawl.records import FloatArray

POINTS = 48
ATOMS = 6
# How many sources' worth of doubt the flat part of the prior stands for.
FLAT_SOURCES = 1.0
ROUNDS = 3
UNIX_TIMES = 1e8
"""Times beyond this are Unix seconds, times below are slots."""
YEAR, MINUTE = 365.25 * 86400.0, 60.0
FASTEST_PER_FADING = 100.0
"""The fastest change rate told apart, as a multiple of the decay of interest, where that is more than the usual one."""
LOGNORMAL_SHARE = 0.75
"""How much of the prior is the lognormal law of the fitted one's mean and variance; the rest is free in form.

A free form alone follows the catalogue too closely: it leaves gaps that lock sources out.
"""
NARROWEST_STEPS = 2.0
"""Least standard deviation of that lognormal law, in grid steps."""


def default_range(now: float, half_life: float = math.inf) -> tuple[float, float]:
    """Slowest and fastest rate worth telling apart, faster where interest fades within minutes.

    Per second for Unix times, per slot otherwise.

    >>> default_range(1.7e9, half_life=6.0)[1] > 10.0
    True
    """
    if now <= UNIX_TIMES:
        return 1e-5, 10.0
    return 1 / (50 * YEAR), max(1 / (10 * MINUTE), FASTEST_PER_FADING * LN2 / half_life)


def regridded(rows: npt.NDArray[Any], span: Sequence[float], rates: FloatArray) -> FloatArray:
    """Rows over a grid of rates between the two of `span`, read off at other rates; beyond its ends they stay level."""
    steps = rows.shape[1] - 1
    place = np.log(rates / span[0]) / max(math.log(span[-1] / span[0]), 1e-300) * steps
    place = np.clip(place, 0.0, steps)
    below = np.minimum(place.astype(np.int64), max(steps - 1, 0))
    part = place - below
    result: FloatArray = rows[:, below] * (1.0 - part) + rows[:, np.minimum(below + 1, steps)] * part
    return result


def rate_grid(span: tuple[float, float], points: int = POINTS) -> FloatArray:
    """Rates at equal ratios from the slowest to the fastest; one rate where both are the same."""
    slowest, fastest = span
    if not 0.0 < slowest <= fastest < math.inf:
        raise ParameterError("rates", "two rates with 0 < slowest <= fastest", span)
    return np.full(1, slowest) if slowest == fastest else np.geomspace(slowest, fastest, points)


@njit(cache=True)
def pooled(log_likelihood: npt.NDArray[np.float32], log_prior: FloatArray) -> FloatArray:
    """The sum over sources of their posterior over the grid."""
    total = np.zeros(len(log_prior))
    row = np.empty(len(log_prior))
    for i in range(len(log_likelihood)):
        top, norm = -math.inf, 0.0
        for g in range(len(row)):
            row[g] = log_likelihood[i, g] + log_prior[g]
            top = max(top, row[g])
        for g in range(len(row)):
            row[g] = math.exp(row[g] - top)
            norm += row[g]
        total += row / norm
    return total


def _smooth(shares: FloatArray) -> FloatArray:
    """Shares spread over neighbouring grid points with a standard deviation of one point."""
    for _ in range(2):
        padded = np.pad(shares, 1, mode="edge")
        shares = 0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]
    return shares / shares.sum()


def _blend(shares: FloatArray) -> FloatArray:
    """The law in part replaced by the lognormal one of its mean and variance."""
    steps = np.arange(len(shares))
    mean = float(shares @ steps)
    variance = max(float(shares @ (steps - mean) ** 2), NARROWEST_STEPS**2)
    bell = np.exp(-0.5 * (steps - mean) ** 2 / variance)
    result: FloatArray = (1.0 - LOGNORMAL_SHARE) * shares + LOGNORMAL_SHARE * bell / bell.sum()
    return result


def fit_prior(
    log_likelihood: npt.NDArray[np.float32], log_prior: FloatArray, others: FloatArray | None = None
) -> FloatArray:
    """The log-prior over the grid that best explains these sources, starting from the present one.

    `others` counts sources known elsewhere at each rate.
    """
    points, elsewhere = len(log_prior), 0.0 if others is None else float(others.sum())
    seen = len(log_likelihood) + elsewhere
    if points == 1 or seen == 0.0:
        return log_prior
    for _ in range(ROUNDS):
        shares = pooled(log_likelihood, log_prior)
        if others is not None:
            shares += others
        whole = seen + FLAT_SOURCES
        mixed = _smooth(shares / seen) * (seen / whole) + FLAT_SOURCES / whole / points
        log_prior = np.log(_blend(mixed))
    return log_prior


def normalised(log_posterior: FloatArray) -> FloatArray:
    """Probabilities over the grid, row by row."""
    shares = np.exp(log_posterior - log_posterior.max(axis=-1, keepdims=True))
    result: FloatArray = shares / shares.sum(axis=-1, keepdims=True)
    return result


def grid_quantile(shares: FloatArray, rates: FloatArray, level: float) -> FloatArray:
    """The quantile of each row, its mass at a grid point spread evenly over the logarithmic cell around it."""
    if len(rates) == 1:
        return np.full(len(shares), rates[0])
    half = 0.5 * math.log(rates[1] / rates[0])
    edges = np.concatenate([np.log(rates) - half, [math.log(rates[-1]) + half]])
    below = np.concatenate([np.zeros((len(shares), 1)), np.cumsum(shares, axis=1)], axis=1)
    return np.array([math.exp(float(np.interp(level, row, edges))) for row in below])


class Refits:
    """Says when the catalogue's prior is due again: so rarely that fitting costs O(1) per observation."""

    def __init__(self) -> None:
        self.observed = 0
        self.due_at = 1.0

    def due(self, count: int, targets: int) -> bool:
        """Count observations; True when a fit is due, which also sets the next date."""
        self.observed += count
        if self.observed < self.due_at:
            return False
        self.due_at = self.observed * 1.25 + max(1.0, 0.1 * targets)
        return True
