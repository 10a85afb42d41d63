"""How far change-rate estimators are off, under regular, Poisson and index-made visits: the table and a plot's data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from recrawl.kernels.continuous_index import index_at_age
from recrawl.learning.estimators import ESTIMATORS
from recrawl.records import FloatArray

COMPETITORS = 12
TICK = 0.1
"""Time between crawls of the small catalogue whose index makes visits, in units of 1/(its fastest rates)."""


def regular_gaps(visit_rate: float, visits: int, random: np.random.Generator) -> FloatArray:
    """Visits like clockwork."""
    return np.full(visits, 1.0 / visit_rate)


def poisson_gaps(visit_rate: float, visits: int, random: np.random.Generator) -> FloatArray:
    """Visits by a Poisson process."""
    return random.exponential(1.0 / visit_rate, visits)


def index_gaps(visit_rate: float, visits: int, random: np.random.Generator) -> FloatArray:
    """Visits to one source that the index makes, among others that compete for one crawl per tick.

    The catalogue's rates and values are drawn anew; the source looked at is the one in the middle of the catalogue by
    how often it is crawled. Its gaps are scaled to the asked visit rate.
    """
    rates = np.exp(random.uniform(math.log(0.02), math.log(2.0), COMPETITORS))
    gaps = _index_made(random.lognormal(0.0, 0.5, COMPETITORS) / rates, rates, visits)
    return gaps / (gaps.mean() * visit_rate)


SCHEDULES: dict[str, Callable[[float, int, np.random.Generator], FloatArray]] = {
    "regular": regular_gaps,
    "poisson": poisson_gaps,
    "index": index_gaps,
}


@njit(cache=True)
def _index_made(values: FloatArray, rates: FloatArray, visits: int) -> FloatArray:
    """Gaps, in ticks, of the source of median crawl count, under the index with known parameters."""
    warm_up, count = 500, len(values)
    last, crawls = np.zeros(count), np.zeros(count)
    chosen, kept, t = -1, 0, 0
    out = np.empty(visits)
    while kept < visits:
        best, top = 0, -1.0
        for i in range(count):
            index = index_at_age(values[i], rates[i], TICK * (t - last[i]), 1.0)
            if index > top:
                best, top = i, index
        if best == chosen:
            out[kept] = t - last[best]
            kept += 1
        last[best] = t
        crawls[best] += 1
        t += 1
        if t == warm_up:
            chosen = np.argsort(crawls)[count // 2]
    return out


@dataclass(frozen=True)
class EstimatorError:
    """How far one estimator is off under one schedule, relative to the true rate; the raw estimates for a plot."""

    estimator: str
    schedule: str
    bias: float
    rmse: float
    estimates: FloatArray


def compare_estimators(
    change_rate: float = 1.0, visit_rate: float = 1.0, visits: int = 500, runs: int = 400, seed: int = 0
) -> list[EstimatorError]:
    """Every estimator under every schedule of visits, on the same simulated visits: a table, and a plot's data."""
    random = np.random.default_rng(seed)
    results = []
    for schedule, make in SCHEDULES.items():
        drawn = {name: np.empty(runs) for name in ESTIMATORS}
        for run in range(runs):
            gaps = make(visit_rate, visits, random)
            changed = random.random(visits) < -np.expm1(-change_rate * gaps)
            for name, estimate in ESTIMATORS.items():
                drawn[name][run] = estimate(gaps, changed, visit_rate)
        for name, estimates in drawn.items():
            error = estimates / change_rate - 1.0
            rmse = float(np.sqrt((error**2).mean()))
            results.append(EstimatorError(name, schedule, float(error.mean()), rmse, estimates))
    return results
