"""Rates on a grid, the law of rates over a catalogue, and when to fit it again.

A posterior over a fixed grid of rates cannot diverge, takes any likelihood, and is updated in constant time. What most
sources of a catalogue are like is the prior of the next one: it is fitted to all posteriors together (empirical Bayes,
by expectation–maximisation over the grid), smoothed over neighbouring rates, drawn towards a lognormal law, and never
quite loses a flat part, so that no rate is ruled out because nobody had it yet.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.errors import ParameterError
from recrawl.records import FloatArray

POINTS = 48
ATOMS = 6
# How many sources' worth of doubt the flat part of the prior stands for.
FLAT_SOURCES = 1.0
ROUNDS = 3
UNIX_TIMES = 1e8
"""Times beyond this are Unix seconds, times below are slots."""
YEAR, MINUTE = 365.25 * 86400.0, 60.0
LOGNORMAL_SHARE = 0.75
"""How much of the prior is the lognormal law of the fitted one's mean and variance; the rest is free in form.

A free form alone follows the catalogue too closely: it leaves gaps that lock sources out.
"""
NARROWEST_STEPS = 2.0
"""Least standard deviation of that lognormal law, in grid steps."""


def default_range(now: float) -> tuple[float, float]:
    """Slowest and fastest rate worth telling apart: per second for Unix times, per slot otherwise."""
    return (1 / (50 * YEAR), 1 / (10 * MINUTE)) if now > UNIX_TIMES else (1e-5, 10.0)


def rate_grid(span: tuple[float, float], points: int = POINTS) -> FloatArray:
    """Rates at equal ratios from the slowest to the fastest; one rate where both are the same."""
    slowest, fastest = span
    if not 0.0 < slowest <= fastest < math.inf:
        raise ParameterError("rates", "two rates with 0 < slowest <= fastest", span)
    return np.full(1, slowest) if slowest == fastest else np.geomspace(slowest, fastest, points)


@njit(cache=True)
def _pool(log_likelihood: npt.NDArray[np.float32], log_prior: FloatArray) -> FloatArray:
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


def fit_prior(log_likelihood: npt.NDArray[np.float32], log_prior: FloatArray) -> FloatArray:
    """The log-prior over the grid that best explains these sources, starting from the present one."""
    points = len(log_prior)
    if points == 1 or len(log_likelihood) == 0:
        return log_prior
    for _ in range(ROUNDS):
        shares = _pool(log_likelihood, log_prior)
        whole = len(log_likelihood) + FLAT_SOURCES
        mixed = _smooth(shares / len(log_likelihood)) * (len(log_likelihood) / whole) + FLAT_SOURCES / whole / points
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
