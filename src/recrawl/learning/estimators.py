"""Change-rate estimators, to be compared: maximum likelihood, law of large numbers, stochastic approximation, momentum.

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

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.errors import ParameterError
from recrawl.kernels.likelihood import smoothed_change_rate
from recrawl.records import BoolArray, FloatArray, checked

STEP_EXPONENT = 0.75
MOMENTUM = 0.5
"""ζ, the share of the last move that SAM makes again."""


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
