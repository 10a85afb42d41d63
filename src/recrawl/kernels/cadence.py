"""How often each source is fetched at a price, and the price at which a budget is spent: the economy at rest.

In continuous time a source is fetched whenever its index has reached the price λ, so its interval is its crossing age
τ(λ) [tcns2018, (21)], whatever form its index has, but never shorter than its `min_interval` and never longer than its
`max_age`::

    T_i(λ) = min(max(τ_i(λ), min_interval_i), max_age_i)
    spend(λ) = Σ_i C_i/T_i(λ)                       falls from Σ C/min_interval to Σ C/max_age as λ rises
    captured(λ) = Σ_i v_i(1 − e^{−r_i T_i})/T_i     per time unit

The spend is continuous in λ, so between those ends exactly one price spends a budget. Above them all of it cannot be
spent (λ = 0); below them not even the oldest ages can be kept, and all of them grow by one factor (λ = inf).

Symbols: v value, r rate (per time), C cost, λ price, T interval (time).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.arguments import aligned, checked_sources
from recrawl.kernels.continuous_index import age_at_price
from recrawl.kernels.slotted_index import worth_after
from recrawl.records import FloatArray, checked

_STEPS = 200
_PRECISION = 1e-12


@njit(cache=True, nogil=True)
def _fill(price: float, value: FloatArray, rate: FloatArray, cost: FloatArray, out: FloatArray) -> None:
    """Fill `out` with each source's crossing age at `price`."""
    for i in range(len(out)):
        out[i] = age_at_price(value[i], rate[i], price, cost[i]) if value[i] > 0.0 else math.inf


def spending_price(
    spend: Callable[[float], float], budget: float, guess: float = 1.0, precision: float = _PRECISION
) -> float:
    """The price at which a spend that falls with it is `budget`, by regula falsi on logarithms (Illinois).

    There must be one: a spend above the budget at price 0, and below it at a price large enough.

    >>> round(spending_price(lambda price: 3.0 / price, 2.0), 9)
    1.5
    """
    stride = 1e3 if guess == 1.0 else 1.1
    low = high = guess
    upper = lower = spend(guess)
    while lower > budget:
        low, upper = high, lower
        high *= stride
        stride = min(stride * stride, 1e3)
        lower = spend(high)
    while upper < budget and low > 1e-280:
        high, lower = low, upper
        low /= stride
        stride = min(stride * stride, 1e3)
        upper = spend(low)
    above, below = math.log(upper / budget), math.log(max(lower / budget, 1e-300))
    left, right, side = math.log(low), math.log(high), 0
    for step in range(_STEPS):
        middle = 0.5 * (left + right)
        if step % 3 < 2 and math.isfinite(above) and above > below:
            middle = (left * below - right * above) / (below - above)
        excess = math.log(max(spend(math.exp(middle)) / budget, 1e-300))
        if abs(excess) <= precision or right - left <= 1e-15 * abs(right):
            return math.exp(middle)
        if excess > 0.0:
            left, above = middle, excess
            below = 0.5 * below if side == 1 else below
            side = 1
        else:
            right, below = middle, excess
            above = 0.5 * above if side == -1 else above
            side = -1
    return math.exp(0.5 * (left + right))


def at_rest(
    intervals: Callable[[float], FloatArray],
    budget: float,
    cost: FloatArray,
    shortest: FloatArray,
    longest: FloatArray,
    guess: float = 1.0,
    precision: float = _PRECISION,
) -> tuple[float, FloatArray]:
    """The price at which `budget` per time unit is spent, and the interval of each source at it, inf for never.

    `intervals` are the ages at which sources are worth a fetch at a price, whatever form their index has; they are kept
    within the shortest and the longest.
    """
    most = np.maximum(longest, shortest)

    def within(price: float) -> FloatArray:
        return np.clip(intervals(price), shortest, most)

    def spend(price: float) -> float:
        with np.errstate(divide="ignore"):
            return float((cost / within(price)).sum())

    floor = float((cost / most).sum())
    if floor >= budget:
        return math.inf, most * (floor / budget)
    if spend(0.0) <= budget:
        return 0.0, within(0.0)
    price = spending_price(spend, budget, guess if 0.0 < guess < math.inf else 1.0, precision)
    return price, within(price)


def cadence(
    value: npt.ArrayLike,
    rate: npt.ArrayLike,
    budget: float,
    cost: npt.ArrayLike = 1.0,
    min_interval: npt.ArrayLike = 0.0,
    max_age: npt.ArrayLike = math.inf,
    guess: float = 1.0,
    precision: float = _PRECISION,
) -> tuple[float, FloatArray]:
    """The price at which `budget` per time unit is spent, and the interval of each source at it, inf for never.

    A `guess` of the price, such as that of a budget nearby, spares steps, and so does a coarser `precision` (relative,
    of the spend).

    >>> price, interval = cadence(value=[2.0, 2.0, 0.1], rate=[0.5, 0.5, 0.5], budget=0.5)
    >>> round(price, 6), interval.round(6).tolist()
    (1.187988, [4.0, 4.0, inf])
    """
    values, rates, costs, shortest, longest, _ = checked_sources(value, rate, cost, min_interval, max_age)
    limit = float(checked("budget", budget, "finite and > 0", open_low=True))

    def intervals(price: float) -> FloatArray:
        ages = np.empty(len(values))
        _fill(price, values, rates, costs, ages)
        return ages

    return at_rest(intervals, limit, costs, shortest, longest, guess, precision)


@njit(cache=True, nogil=True)
def _captured(value: FloatArray, rate: FloatArray, interval: FloatArray, out: FloatArray) -> None:
    for i in range(len(out)):
        if math.isinf(interval[i]):
            out[i] = 0.0
        elif interval[i] > 0.0:
            out[i] = worth_after(interval[i], rate[i], value[i]) / interval[i]
        else:
            out[i] = value[i] * rate[i]


def captured_per_time(value: npt.ArrayLike, rate: npt.ArrayLike, interval: npt.ArrayLike) -> FloatArray:
    """v(1 − e^{−rT})/T: what fetching a source every T brings per time unit; v·r at T = 0, 0 for never.

    >>> captured_per_time(value=[2.0, 2.0], rate=0.5, interval=[4.0, np.inf]).round(6).tolist()
    [0.432332, 0.0]
    """
    names = {
        "value": checked("value", value, "finite and >= 0"),
        "rate": checked("rate", rate, "finite and >= 0"),
        "interval": checked("interval", interval, ">= 0 or inf"),
    }
    (values, rates, intervals), shape = aligned(names)
    out = np.empty(len(values))
    _captured(values, rates, intervals, out)
    return out.reshape(shape)


def median_delay(inflow: npt.ArrayLike, interval: npt.ArrayLike) -> float:
    """Within what time of its appearance half of all that flows in is seen; inf if half of it never is.

    What appears between two fetches T apart waits for a time uniform in [0, T], so the share seen within d is
    Σ inflow·min(d/T, 1)/Σ inflow: piecewise linear in d, solved between two sorted intervals.

    >>> median_delay([1.0, 1.0], [4.0, 4.0]), median_delay([1.0, 3.0], [2.0, np.inf])
    (2.0, inf)
    """
    weight, times = np.broadcast_arrays(checked("inflow", inflow, "finite and >= 0"), np.asarray(interval, np.float64))
    half = 0.5 * float(weight.sum()) - float(weight[times == 0.0].sum())
    if half <= 0.0:
        return 0.0
    some = (times > 0.0) & np.isfinite(times)
    order = np.argsort(times[some])
    weight, times = weight[some][order], times[some][order]
    done = np.concatenate([[0.0], np.cumsum(weight)])  # of the k shortest intervals: seen by then
    slope = np.concatenate([np.cumsum((weight / times)[::-1])[::-1], [0.0]])  # of the others: seen per time
    reached = np.flatnonzero(done[1:] + slope[1:] * times >= half * (1.0 - 1e-12))
    return float((half - done[reached[0]]) / slope[reached[0]]) if len(reached) else math.inf
