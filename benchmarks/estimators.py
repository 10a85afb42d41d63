"""How far change-rate estimators are off, under regular, Poisson and index-made visits.

    python -m benchmarks.estimators [--runs 400]

Maximum likelihood, the law of large numbers, stochastic approximation, and the same with momentum.

All see the same thing: the gap before each visit and whether the visit saw a change. LLN, SA and SAM [Avrachenkov,
Patil, Thoppe 2020] suppose that visits happen by a Poisson process of known rate p, for then a visit sees a change with
probability λ/(λ + p)::

    LLN    λ̂ = p·Î/(k + 1 − Î),  Î the number of k visits that saw a change
    SA     x ← x + η_k(I·(x + p) − x)
    SAM    x ← x + η_k(I·(x + p) − x) + ζ(x − x_before)

whose common fixed point solves i·(x + p) = x, i the share of visits that saw a change. Crawls by index are nearly
periodic, and under a period 1/p that share is 1 − e^{−λ/p}: all three tend to p(e^{λ/p} − 1), not to λ. The
maximum-likelihood estimator looks at the gaps themselves and has no such bias.

Symbols: λ change rate, p visit rate, I whether a visit saw a change, η_k = (k + 1)^{−0.75} step, ζ momentum.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.errors import ParameterError
from recrawl.kernels.continuous_index import index_at_age
from recrawl.kernels.likelihood import smoothed_change_rate
from recrawl.records import BoolArray, FloatArray, checked

STEP_EXPONENT = 0.75
MOMENTUM = 0.5
"""ζ, the share of the last move that SAM makes again."""
COMPETITORS = 12
TICK = 0.1
"""Time between crawls of the small catalogue whose index makes visits, in units of 1/(its fastest rates)."""


def _visits(gaps: npt.ArrayLike, changed: npt.ArrayLike) -> tuple[FloatArray, BoolArray]:
    times = np.atleast_1d(checked("gaps", gaps, "finite and > 0", open_low=True))
    saw = np.atleast_1d(np.asarray(changed, dtype=np.bool_))
    if saw.shape != times.shape or times.ndim != 1 or len(times) == 0:
        raise ParameterError("changed", f"one flag per gap ({len(times)}), at least one", f"{saw.shape} flags")
    return times, saw


def maximum_likelihood(gaps: npt.ArrayLike, changed: npt.ArrayLike) -> float:
    """The change rate that best explains the visits, with one changed and one unchanged pseudo-visit of mean gap.

    >>> round(maximum_likelihood([1.0, 1.0, 1.0], [True, True, True]), 3)
    1.609
    """
    times, saw = _visits(gaps, changed)
    return float(smoothed_change_rate(times, saw))


def law_of_large_numbers(gaps: npt.ArrayLike, changed: npt.ArrayLike, visit_rate: float | None = None) -> float:
    """LLN; `visit_rate` p is known or, if None, visits over time."""
    times, saw = _visits(gaps, changed)
    rate = len(times) / times.sum() if visit_rate is None else visit_rate
    return float(rate * saw.sum() / (len(saw) + 1 - saw.sum()))


@njit(cache=True)
def _approximate(saw: BoolArray, visit_rate: float, momentum: float, start: float) -> float:
    estimate, before = start, start
    for k in range(len(saw)):
        step = (k + 2.0) ** -STEP_EXPONENT
        move = step * ((estimate + visit_rate if saw[k] else 0.0) - estimate)
        estimate, before = max(estimate + move + momentum * (estimate - before), 0.0), estimate
    return estimate


def stochastic_approximation(
    gaps: npt.ArrayLike, changed: npt.ArrayLike, visit_rate: float | None = None, start: float | None = None
) -> float:
    """SA, from `start` (the visit rate if None)."""
    times, saw = _visits(gaps, changed)
    rate = len(times) / times.sum() if visit_rate is None else visit_rate
    return float(_approximate(saw, rate, 0.0, rate if start is None else start))


def momentum_approximation(
    gaps: npt.ArrayLike, changed: npt.ArrayLike, visit_rate: float | None = None, start: float | None = None
) -> float:
    """SAM, from `start` (the visit rate if None)."""
    times, saw = _visits(gaps, changed)
    rate = len(times) / times.sum() if visit_rate is None else visit_rate
    return float(_approximate(saw, rate, MOMENTUM, rate if start is None else start))


def periodic_limit(change_rate: float, visit_rate: float) -> float:
    """What LLN, SA and SAM tend to when visits are regular: p(e^{λ/p} − 1)."""
    return visit_rate * math.expm1(change_rate / visit_rate)


ESTIMATORS: dict[str, Callable[[FloatArray, BoolArray, float], float]] = {
    "MLE": lambda gaps, changed, visit_rate: maximum_likelihood(gaps, changed),
    "LLN": law_of_large_numbers,
    "SA": stochastic_approximation,
    "SAM": momentum_approximation,
}


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
    """How far one estimator is off under one schedule, relative to the true rate."""

    estimator: str
    schedule: str
    bias: float
    rmse: float


def compare_estimators(
    change_rate: float = 1.0, visit_rate: float = 1.0, visits: int = 500, runs: int = 400, seed: int = 0
) -> list[EstimatorError]:
    """Every estimator under every schedule of visits, on the same simulated visits."""
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
            results.append(EstimatorError(name, schedule, float(error.mean()), rmse))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    print("visits     estimator     bias     rmse")
    for found in compare_estimators(runs=parser.parse_args().runs):
        print(f"{found.schedule:10} {found.estimator:9} {found.bias:+8.3f} {found.rmse:8.3f}")


if __name__ == "__main__":
    main()
