"""What sources would spend at a price, and how that changes with it: one shard's word in the fleet's economy.

At the price λ a source is fetched every T_i(λ) = min(max(τ_i(λ), min_interval), max_age) [docs: kernels.cadence], so it
spends C_i/T_i, and between its bounds::

    d(C/T)/d ln λ = −(C/T)·ε(s),   ε(s) = d ln τ/d ln λ = G(s)/(s·G'(s)) = p/(s²e^{−s}),   s = rτ,  p = λC/v

because dτ/dλ = 1/g'(τ). ε is 1/2 in the quadratic form (r = 0, or s small) and grows without bound as p nears 1, where
the source stops being worth a crawl. At a bound, and for a source that is never fetched, the slope is 0.

Symbols: v value, r rate (per time), C cost, λ price, T interval (time), τ crossing age, s = rτ, ε elasticity.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.kernels.arguments import aligned
from recrawl.kernels.continuous_index import age_at_price
from recrawl.records import FloatArray, checked

# Below this s the series of ε is 1/2 to double precision.
_FLAT = 1e-8


@njit(cache=True)
def age_elasticity(value: float, rate: float, price: float, cost: float, age: float) -> float:
    """ε = d ln τ/d ln λ of a source whose index reaches `price` at `age`."""
    s = rate * age
    if s <= _FLAT:
        return 0.5
    return price * cost / value / (s * s * math.exp(-s))


@njit(cache=True, nogil=True)
def demands_at_price(
    price: float,
    value: FloatArray,
    rate: FloatArray,
    cost: FloatArray,
    shortest: FloatArray,
    longest: FloatArray,
    age: FloatArray,
    demand: FloatArray,
    slope: FloatArray,
) -> float:
    """Fill what each source spends per time and its slope; return what it costs to fetch all that are due."""
    backlog = 0.0
    for i in range(len(demand)):
        crossing = age_at_price(value[i], rate[i], price, cost[i]) if value[i] > 0.0 else math.inf
        interval = min(max(crossing, shortest[i]), longest[i])
        spent = cost[i] / interval if interval > 0.0 else math.inf
        demand[i] = spent
        inside = interval == crossing and 0.0 < crossing < math.inf
        slope[i] = -spent * age_elasticity(value[i], rate[i], price, cost[i], crossing) if inside else 0.0
        if age[i] >= interval and interval < math.inf:
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
    names = {
        "value": checked("value", value, "finite and >= 0"),
        "rate": checked("rate", rate, "finite and >= 0"),
        "cost": checked("cost", cost, "finite and > 0", open_low=True),
        "min_interval": checked("min_interval", min_interval, "finite and >= 0"),
        "max_age": checked("max_age", max_age, "> 0 or inf", open_low=True),
        "age": checked("age", age, ">= 0 or inf"),
    }
    at = float(checked("price", price, "finite and >= 0"))
    (values, rates, costs, shortest, longest, ages), _ = aligned(names)
    out, slope = np.empty(len(values)), np.empty(len(values))
    backlog = demands_at_price(at, values, rates, costs, shortest, np.maximum(longest, shortest), ages, out, slope)
    return out, slope, float(backlog)
