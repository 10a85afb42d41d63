"""The price of a crawl: the relaxed problem of [tcns2018, §VII], solved exactly.

If the budget only has to hold on average, the problem falls apart into one problem per source: crawl every k slots,
earn (x_k − λC)/k per slot, or never and earn nothing. The best k is the first at which the index reaches the price,
γ_k ≥ λ. The dual function::

    D(λ) = λM + Σ_i max(0, max_k (x_{i,k} − λC_i)/k)

bounds what any policy can earn, for every λ ≥ 0; it is convex and piecewise linear, and its slope is M minus what the
sources spend at λ. So the minimiser is where the spend passes M, found by bisection down to neighbouring doubles,
dropping on the way the sources whose period no longer depends on where in the bracket the price lies.

Where the minimiser is an interval (spend exactly M between two breakpoints) `price` is its **upper** end: the highest
price at which sources that crawl whenever γ_k ≥ price still spend the whole budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recrawl.arguments import number
from recrawl.compiled_code import njit
from recrawl.kernels.continuous_index import EXHAUSTED, ripening
from recrawl.kernels.slotted_index import saturating_index_after, worth_after
from recrawl.records import FloatArray, IntArray, Sources, known_sources

NEVER = math.inf


@dataclass(frozen=True)
class RelaxedBound:
    """The dual bound: no policy earns more than `value` per slot; `price` is the multiplier that shows it."""

    value: float
    price: float


@njit(cache=True)
def worth_at_price(price: float, ceiling: float, cost: float) -> float:
    """The worth from which a source pays for a crawl at `price` [tcns2018, (21)]; inf where it never does.

    There x̄(λ) = u*(1 − exp(1 + W(e⁻¹(Cλ/u* − 1)))); here 1 + W = −s with G(s) = Cλ/u*.
    """
    if price <= 0.0:
        return 0.0
    if price * cost >= ceiling:
        return math.inf
    return ceiling * -math.expm1(-ripening(price * cost / ceiling, (ceiling - price * cost) / ceiling))


@njit(cache=True)
def first_slot(
    price: float, rate: float, inflow: float, unbounded: float, ceiling: float, cost: float, lifetime: float
) -> float:
    """The smallest k ≥ 1 with γ_k ≥ price, inf if there is none; exact with respect to the computed γ_k."""
    if price * cost > ceiling or ceiling <= 0.0:
        return 1.0 if price <= 0.0 else NEVER
    # The continuous index is below the slotted one, so its crossing is never early; then walk back to the first.
    owed = price * cost
    rest = (unbounded - owed) / unbounded
    guess = NEVER
    if rest > 0.0 and rate > 0.0:
        guess = np.ceil(ripening(owed / unbounded, rest) / rate)
    k = min(max(guess, 1.0), lifetime)
    if math.isinf(k):
        # The price is the ceiling itself: reached only where rounding makes γ_k equal to it.
        if rate <= 0.0:
            return NEVER
        k = max(1.0, np.ceil(EXHAUSTED / rate))
    step = 1.0
    while saturating_index_after(k, rate, inflow, unbounded, ceiling, cost, lifetime) < price:
        k += step
        step *= 2.0
        if k * rate > 1e4:
            return NEVER
    low, high = 0.0, k  # γ_low < price ≤ γ_high
    reach = 1.0
    while high - reach > 0.0:
        if saturating_index_after(high - reach, rate, inflow, unbounded, ceiling, cost, lifetime) >= price:
            high -= reach
            reach *= 2.0
        else:
            low = high - reach
            break
    while high - low > 1.0:
        middle = math.floor(0.5 * (low + high))
        if middle <= low or middle >= high:
            break
        if saturating_index_after(middle, rate, inflow, unbounded, ceiling, cost, lifetime) >= price:
            high = middle
        else:
            low = middle
    return high


@njit(cache=True)
def _periods(
    price: float,
    which: IntArray,
    rate: FloatArray,
    inflow: FloatArray,
    unbounded: FloatArray,
    ceiling: FloatArray,
    cost: FloatArray,
    lifetime: FloatArray,
    out: FloatArray,
) -> float:
    """Fill `out` with each source's period at `price`; return what they spend per slot."""
    spend = 0.0
    for n in range(len(which)):
        i = which[n]
        k = first_slot(price, rate[i], inflow[i], unbounded[i], ceiling[i], cost[i], lifetime[i])
        out[n] = k
        spend += cost[i] / k
    return spend


@njit(cache=True)
def _profit(
    price: float,
    period: FloatArray,
    rate: FloatArray,
    unbounded: FloatArray,
    cost: FloatArray,
    lifetime: FloatArray,
) -> float:
    """Σ_i max(0, (x_k − price·C)/k) at the given periods."""
    total = 0.0
    for i in range(len(period)):
        k = period[i]
        if k < math.inf:
            earned = worth_after(min(k, lifetime[i]), rate[i], unbounded[i]) - price * cost[i]
            total += max(0.0, earned) / k
    return total


def periods_at(sources: Sources, price: float) -> FloatArray:
    """The period, in slots, at which each source is crawled when a crawl costs `price`; inf where never.

    >>> table = Sources.ephemeral(arrival_rate=250, interest=[1, 0.2], decay=0.7)
    >>> periods_at(table, 80.0).tolist()
    [1.0, inf]
    """
    out = np.empty(len(sources))
    _periods(float(price), np.arange(len(sources)), *_columns(sources), out)
    return out


def _columns(
    sources: Sources,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    return (
        sources.decay_rate,
        sources.inflow,
        sources.unbounded_ceiling,
        sources.ceiling,
        sources.cost,
        sources.exact_lifetime,
    )


def check_budget(budget: float, cost: FloatArray) -> float:
    """The budget per slot, if it is positive and not more than crawling everything in every slot costs."""
    most = float(cost.sum())
    expected = f"> 0 and at most the cost of crawling everything ({most:g})"
    return number("budget", budget, expected, open_low=True, high=most * (1 + 1e-12))


def relaxed_bound(sources: Sources, budget: float) -> RelaxedBound:
    """The most that any policy can earn per slot at this budget, and the price of a crawl at which it is earned.

    >>> table = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])
    >>> round(relaxed_bound(table, budget=1).value, 5)
    260.38993
    """
    limit = check_budget(budget, known_sources(sources).cost)
    columns = _columns(sources)
    everything = np.arange(len(sources))
    low, high = (
        0.0,
        float((sources.ceiling / sources.cost).max(initial=0.0)) * (1 + 1e-9) + np.finfo(float).tiny,
    )
    at_low, at_high = np.empty(len(sources)), np.empty(len(sources))
    _periods(low, everything, *columns, at_low)
    _periods(high, everything, *columns, at_high)
    cost = sources.cost
    active, settled = everything, 0.0
    # Invariant: spend(low) ≥ limit > spend(high). All prices lie between neighbouring periods of the settled sources.
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        moving = at_low != at_high
        settled += float((cost[active[~moving]] / at_low[~moving]).sum())
        active, at_low, at_high = active[moving], at_low[moving], at_high[moving]
        if len(active) == 0:
            break
        at_middle = np.empty(len(active))
        spend = settled + _periods(middle, active, *columns, at_middle)
        if spend >= limit * (1 - 1e-14):
            low, at_low = middle, at_middle
        else:
            high, at_high = middle, at_middle
    period = np.empty(len(sources))
    _periods(low, everything, *columns, period)
    rate, _, unbounded, _, _, lifetime = columns
    value = low * limit + _profit(low, period, rate, unbounded, cost, lifetime)
    return RelaxedBound(value=float(value), price=float(low))
