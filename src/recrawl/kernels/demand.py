"""What sources would spend at a price, and how that changes with it: one shard's word in the fleet's economy.

At the price λ a source is fetched every T_i(λ) = min(max(τ_i(λ), min_interval), max_age) [docs: kernels.cadence], so it
spends C_i/T_i, and between its bounds::

    d(C/T)/d ln λ = −(C/T)·ε,   ε = d ln τ/d ln λ = G(s)/(s·G'(s)) = p/(s²e^{−s}),   s = rτ,  p = G(s) = λC/v

because dτ/dλ = 1/g'(τ). ε is 1/2 in the quadratic form (r = 0, or s small) and grows without bound as p nears 1, where
the source stops being worth a crawl. At a bound, and for a source that is never fetched, the slope is 0.

Symbols: v value, r rate (per time), C cost, λ price, T interval (time), τ crossing age, s = rτ, ε elasticity.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.arguments import checked_sources
from recrawl.kernels.continuous_index import age_at_price, ripening
from recrawl.records import FloatArray, checked

# p is tabulated by w = √(2p), in which both columns are smooth, up to here; above, few sources are left.
_SHARE = 0.9
_CELLS = 4096
_STEP = math.sqrt(2.0 * _SHARE) / _CELLS


@njit(cache=True)
def age_elasticity(share: float, s: float) -> float:
    """ε = d ln τ/d ln λ where p = `share` is reached at s; for s > 0."""
    return share / (s * s * math.exp(-s))


@njit(cache=True)
def _tabulate(table: FloatArray) -> None:
    """Columns s/w and ε over w: s = w(1 + w/3 + …), so interpolated s keeps its relative precision down to 0."""
    table[0, 0], table[0, 1] = 1.0, 0.5
    for k in range(1, len(table)):
        w = k * _STEP
        s = ripening(0.5 * w * w, 1.0 - 0.5 * w * w)
        table[k, 0], table[k, 1] = s / w, age_elasticity(0.5 * w * w, s)


@cache
def ripening_table() -> FloatArray:
    """The inverse of G and its elasticity, to a relative precision of 1e−6: five times as fast as solving for it."""
    table = np.empty((_CELLS + 2, 2))
    _tabulate(table)
    table.setflags(write=False)
    return table


@njit(cache=True)
def _crossing(value: float, rate: float, price: float, cost: float, table: FloatArray) -> tuple[float, float]:
    """Crossing age and its elasticity."""
    if price <= 0.0 or value <= 0.0:
        return (math.inf if value <= 0.0 else 0.0), 0.0
    share = price * cost / value
    if rate <= 0.0:
        return math.sqrt(2.0 * share), 0.5
    if share <= _SHARE:
        w = math.sqrt(2.0 * share)
        cell = int(w / _STEP)
        part = w / _STEP - cell
        ratio = table[cell, 0] + part * (table[cell + 1, 0] - table[cell, 0])
        return w * ratio / rate, table[cell, 1] + part * (table[cell + 1, 1] - table[cell, 1])
    age = age_at_price(value, rate, price, cost)
    return age, (age_elasticity(share, rate * age) if age < math.inf else 0.0)


@njit(cache=True, nogil=True)
def demands_at_price(
    price: float,
    value: FloatArray,
    rate: FloatArray,
    cost: FloatArray,
    shortest: FloatArray,
    longest: FloatArray,
    age: FloatArray,
    table: FloatArray,
    demand: FloatArray,
    slope: FloatArray,
) -> float:
    """Fill what each source spends per time and its slope; return what it costs to fetch all that are due."""
    backlog = 0.0
    for i in range(len(demand)):
        crossing, elasticity = _crossing(value[i], rate[i], price, cost[i], table)
        interval = min(max(crossing, shortest[i]), max(longest[i], shortest[i]))
        spent = cost[i] / interval if interval > 0.0 else math.inf
        demand[i] = spent
        slope[i] = -spent * elasticity if interval == crossing and 0.0 < crossing < math.inf else 0.0
        if interval <= age[i] and interval < math.inf:
            backlog += cost[i]
    return backlog


def demand(
    value: npt.ArrayLike,
    rate: npt.ArrayLike,
    price: float,
    cost: npt.ArrayLike = 1.0,
    min_interval: npt.ArrayLike = 0.0,
    max_age: npt.ArrayLike = math.inf,
    age: npt.ArrayLike = 0.0,
) -> tuple[FloatArray, FloatArray, float]:
    """What each source spends per time unit at a price, d/d ln price of that, and the backlog.

    Parameters
        price: λ; at 0 every source is fetched every `min_interval`
        age: time since each one's last crawl, for the backlog: Σ cost over those as old as their interval

    >>> spent, slope, backlog = demand(value=[2.0, 2.0], rate=[0.5, 0.0], price=1.187988, age=[5.0, 0.5])
    >>> spent.round(3).tolist(), slope.round(3).tolist(), backlog
    ([0.25, 0.917], [-0.274, -0.459], 1.0)
    """
    values, rates, costs, shortest, longest, ages = checked_sources(value, rate, cost, min_interval, max_age, age)
    at = float(checked("price", price, "finite and >= 0"))
    out, slope = np.empty(len(values)), np.empty(len(values))
    backlog = demands_at_price(at, values, rates, costs, shortest, longest, ages, ripening_table(), out, slope)
    return out, slope, float(backlog)
