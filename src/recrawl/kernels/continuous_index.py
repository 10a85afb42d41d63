"""The index in continuous time and its inverse [docs/design/002].

A source is worth v(1 − e^{−rτ}) when crawled at age τ. The price of a crawl at which crawling at age τ is exactly
worth it is::

    g(τ) = (v/C)·G(s),   G(s) = 1 − (1 + s)e^{−s},   s = rτ

which rises from 0 to v/C. Its inverse, the age at which the index reaches a price λ, solves G(s) = p with p = λC/v;
in closed form s = −1 − W₋₁((p − 1)/e), the lower branch of Lambert's W [tcns2018, (21)]. Above p = 1 the source is
never worth a crawl.

With r = 0 the value argument is read as an arrival rate Λ and the index is the quadratic form Λτ²/(2C): the limit
r → 0 with v·r² = Λ, in which every hour of delay costs the same.

Symbols: v value, r rate (per time), τ age (time), C cost, λ price, s = rτ ripeness argument.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.arguments import aligned, as_float, complain, over_cores, shaped
from recrawl.kernels.elementary import vector_exp
from recrawl.records import FloatArray

LARGEST = float(np.finfo(np.float64).max)
# Beyond this e^{−s} is 0 in double precision.
EXHAUSTED = 746.0


@njit(cache=True)
def ripeness(s: float) -> float:
    """G(s) = 1 − (1 + s)e^{−s}: what share of the full price a source has reached; by its series where it cancels."""
    if s > EXHAUSTED:
        return 1.0
    if s >= 1.0:
        return 1.0 - (1.0 + s) * math.exp(-s)
    if s >= 0.25:
        return math.exp(-s) * (math.expm1(s) - s)
    # Σ_{n≥2} (−1)ⁿ (n−1)/n! sⁿ, to below 1e−16 relative at s = 1/4
    end = 1.0 / 403200.0 - s * (1.0 / 3991680.0 - s * (1.0 / 43545600.0 - s / 518918400.0))
    tail = 1.0 / 5760.0 - s * (1.0 / 45360.0 - s * end)
    series = 1.0 / 8.0 - s * (1.0 / 30.0 - s * (1.0 / 144.0 - s * (1.0 / 840.0 - s * tail)))
    return s * s * (0.5 - s * (1.0 / 3.0 - s * series))


@njit(cache=True)
def ripening(share: float, rest: float) -> float:
    """The s with G(s) = `share`; `rest` = 1 − share is passed on its own so that it keeps its precision near 1.

    Starts from the expansion of W₋₁ at its branch point (small shares) or from s = −ln(rest) + ln(1 + s) (large
    ones); Halley's steps triple the number of right digits, so the last one may be as large as the cube root of the
    precision.
    """
    if share <= 0.0:
        return 0.0
    if rest <= 0.0:
        return math.inf
    if share < 0.5:
        w = math.sqrt(2.0 * share)
        s = w * (1.0 + w * (1 / 3 + w * (11 / 72 + w * (43 / 540 + w * (769 / 17280 + w * (221 / 8505))))))
        for _ in range(4):
            newton = (ripeness(s) - share) / (s * math.exp(-s))
            # G''/G' = 1/s − 1
            step = newton / max(0.5, 1.0 - 0.5 * newton * (1.0 / s - 1.0))
            s -= step
            if abs(step) <= 4e-6 * s:
                break
        return s
    level = -math.log(rest)
    s = level + math.log1p(level + math.log1p(level))
    for _ in range(6):
        slope = s / (1.0 + s)
        newton = (s - math.log1p(s) - level) / slope
        step = newton / max(0.5, 1.0 - 0.5 * newton / (s * (1.0 + s)))
        s -= step
        if abs(step) <= 4e-6 * s:
            break
    return s


@njit(cache=True)
def index_at_age(value: float, rate: float, age: float, cost: float) -> float:
    """g(τ) for one source, capped at the largest double where the exact figure is beyond it."""
    if rate > 0.0:
        share = ripeness(rate * age)
        index = value / cost * share
        if not math.isfinite(index):
            # value/cost overflows although the index may not
            index = value * share / cost
    else:
        index = value * 0.5 * age * age / cost
    if math.isfinite(index):
        return index
    return 0.0 if value == 0.0 else LARGEST


@njit(cache=True)
def age_at_price(value: float, rate: float, price: float, cost: float) -> float:
    """The age at which the index of one source reaches `price`; inf where it never does."""
    if price <= 0.0:
        return 0.0
    if value <= 0.0:
        return math.inf
    if rate <= 0.0:
        return math.sqrt(2.0) * math.sqrt(price) * (math.sqrt(cost) / math.sqrt(value))
    owed = price * cost
    rest = (value - owed) / value
    if rest <= 0.0:
        return math.inf
    return ripening(owed / value, rest) / rate


@njit(cache=True, nogil=True, error_model="numpy")
def index_at_ages(value: FloatArray, rate: FloatArray, age: FloatArray, cost: FloatArray, out: FloatArray) -> int:
    """Fill `out` with the index of each source; the position of the first invalid element, or -1.

    In blocks: the formula for everything in vector instructions, then with care where it cancels or overflows.
    """
    for start in range(0, len(out), 1024):
        stop = min(start + 1024, len(out))
        for i in range(start, stop):
            s = rate[i] * age[i]
            out[i] = value[i] / cost[i] * (1.0 - (1.0 + s) * vector_exp(-s))
        for i in range(start, stop):
            v, r, a, c = value[i], rate[i], age[i], cost[i]
            if not (0.0 <= v < math.inf and 0.0 <= r < math.inf and a >= 0.0 and 0.0 < c < math.inf):
                return i
            if not 0.1 <= r * a <= 700.0 or not out[i] < math.inf:
                out[i] = index_at_age(v, r, a, c)
    return -1


@njit(cache=True, nogil=True)
def ages_at_price(value: FloatArray, rate: FloatArray, price: FloatArray, cost: FloatArray, out: FloatArray) -> int:
    """Fill `out` with each source's crossing age; the position of the first invalid element, or -1."""
    for i in range(len(out)):
        v, r, p, c = value[i], rate[i], price[i], cost[i]
        if not (0.0 <= v < math.inf and 0.0 <= r < math.inf and 0.0 <= p < math.inf and 0.0 < c < math.inf):
            return i
        out[i] = age_at_price(v, r, p, c)
    return -1


def _nonnegative(x: float) -> bool:
    return 0.0 <= x < math.inf


_RULES = {
    "value": (_nonnegative, "finite and >= 0"),
    "rate": (_nonnegative, "finite and >= 0"),
    "age": (lambda x: x >= 0.0, ">= 0"),
    "price": (_nonnegative, "finite and >= 0"),
    "cost": (lambda x: 0.0 < x < math.inf, "finite and > 0"),
}


def continuous_index(
    value: npt.ArrayLike, rate: npt.ArrayLike, age: npt.ArrayLike, cost: npt.ArrayLike = 1.0
) -> FloatArray | float:
    """The price at which crawling a source at this age is exactly worth it.

    Parameters
        value: v, what the source is worth once ripe; with rate 0, its arrival rate Λ
        rate: r, how fast it ripens, per time unit
        age: τ, time since its last crawl; inf for never
        cost: C, what a crawl spends

    >>> round(continuous_index(value=2.0, rate=0.5, age=4.0), 6)
    1.187988
    """
    arrays = {name: as_float(name, x) for name, x in (("value", value), ("rate", rate), ("age", age), ("cost", cost))}
    flat, shape = aligned(arrays)
    out = np.empty(len(flat[0]))
    bad = over_cores(index_at_ages, flat, out)
    if bad >= 0:
        raise complain(bad, shape, dict(zip(arrays, flat, strict=True)), {name: _RULES[name] for name in arrays})
    return shaped(out, shape)


def crossing_age(
    value: npt.ArrayLike, rate: npt.ArrayLike, price: npt.ArrayLike, cost: npt.ArrayLike = 1.0
) -> FloatArray | float:
    """The age at which a source's index reaches `price`: the inverse of :func:`continuous_index`; inf where never.

    >>> round(crossing_age(value=2.0, rate=0.5, price=1.0), 6)
    3.356694
    """
    arrays = {
        name: as_float(name, x) for name, x in (("value", value), ("rate", rate), ("price", price), ("cost", cost))
    }
    flat, shape = aligned(arrays)
    out = np.empty(len(flat[0]))
    bad = over_cores(ages_at_price, flat, out)
    if bad >= 0:
        raise complain(bad, shape, dict(zip(arrays, flat, strict=True)), {name: _RULES[name] for name in arrays})
    return shaped(out, shape)
