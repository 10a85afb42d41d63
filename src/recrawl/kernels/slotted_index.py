"""The Whittle index in the papers' slotted time [tcns2018, Theorem 1].

In a slot a source gains u and keeps α of what it had; never crawled it tends to u* = u/(1 − α). Two forms:

*On the orbit*, k slots after a crawl [FACTS]::

    γ_k = (x_k − k·u·α^k)/C,   x_k = u*(1 − α^k)

No logarithm and no ceiling. Where the terms cancel (r·k small) it is written as a sum of positive terms,
u*(G(s) + k·e^{−s}·(r − 1 + e^{−r}))/C with s = rk.

*On any state* x, Theorem 1. Between two orbit points the theorem is a straight line, so it is evaluated as::

    γ(x) = γ_{η−1} + η(1 − α)(x − x_{η−1})/C,   η = ⌈log_α(1 − x/u*)⌉

which is Theorem 1 rearranged so that nothing cancels and a ceiling that is off by one through rounding does not
matter. Two departures from the printed theorem: at and above u* the index is x/C, its limit from below (as printed it
would be 0, and a saturated source would never be crawled again), and below u it is the same straight line with
η = 1.

`ceiled_index` is the simplified formula of the remark after Theorem 1 with the ceiling left in, as the talk prints it
[mas2016]. It is wrong off the orbit and kept because it explains the published figures.

Lifetimes. "paper" [allerton2019] scales u by 1 − α^M and changes nothing else. "exact" lets the worth saturate at M
slots, so that γ_k = x_M/C from k = M on and the index is a function of k, not of the state.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.errors import ParameterError
from recrawl.kernels.arguments import aligned, as_float, complain
from recrawl.kernels.continuous_index import EXHAUSTED, ripeness
from recrawl.records import FloatArray, Sources


@njit(cache=True)
def worth_after(slots: float, rate: float, ceiling: float) -> float:
    """x_k, the expected worth k slots after a crawl, without a lifetime."""
    return 0.0 if slots <= 0.0 else ceiling * -math.expm1(-rate * slots)


@njit(cache=True)
def index_after(slots: float, rate: float, inflow: float, ceiling: float, cost: float) -> float:
    """γ_k on the orbit, without a lifetime."""
    if slots <= 0.0:
        return 0.0
    s = rate * slots
    if s >= 0.25:
        if s > EXHAUSTED:
            return ceiling / cost
        return (ceiling - (ceiling + slots * inflow) * math.exp(-s)) / cost
    # r − 1 + e^{−r} by its series; r ≤ s < 1/4 because k ≥ 1 (and for 0 < k < 1 the closed form is as good)
    r = rate
    if r < 0.25:
        series = 1 / 24 - r * (1 / 120 - r * (1 / 720 - r * (1 / 5040 - r * (1 / 40320 - r / 362880))))
        bend = r * r * (0.5 - r * (1 / 6 - r * series))
    else:
        bend = r + math.expm1(-r)
    return ceiling * (ripeness(s) + slots * math.exp(-s) * bend) / cost


@njit(cache=True)
def saturating_index_after(
    slots: float, rate: float, inflow: float, unbounded: float, ceiling: float, cost: float, lifetime: float
) -> float:
    """γ_k where items older than `lifetime` slots are gone: the full worth per cost from the lifetime on."""
    if slots >= lifetime:
        return ceiling / cost
    return index_after(slots, rate, inflow, unbounded, cost)


@njit(cache=True)
def index_of_state(x: float, rate: float, inflow: float, ceiling: float, cost: float) -> float:
    """Theorem 1 at state x, continued by x/C from the ceiling on."""
    if x >= ceiling:
        return x / cost
    eta = math.ceil(math.log1p(-x / ceiling) / -rate) if rate > 0.0 else 1.0
    if eta < 1.0:
        eta = 1.0
    below = eta - 1.0
    start = worth_after(below, rate, ceiling)
    slope = eta * -math.expm1(-rate)
    index = index_after(below, rate, inflow, ceiling, cost) + slope * (x - start) / cost
    return max(index, 0.0)


@njit(cache=True)
def ceiled_index_of_state(x: float, rate: float, inflow: float, ceiling: float, cost: float) -> float:
    """The simplified formula with its ceiling [mas2016], taken literally: 0·(…) + x where log⁺ has no argument."""
    rest = 1.0 - x / ceiling if ceiling > 0.0 else 0.0
    eta = math.ceil(math.log(rest) / -rate) if rest > 0.0 and rate > 0.0 else 0.0
    return (eta * (-math.expm1(-rate) * x - inflow) + x) / cost


@njit(cache=True)
def _orbit(
    slots: FloatArray,
    rate: FloatArray,
    inflow: FloatArray,
    unbounded: FloatArray,
    cost: FloatArray,
    ceiling: FloatArray,
    lifetime: FloatArray,
    out: FloatArray,
) -> int:
    width = len(rate)
    for row in range(0, len(out), width):
        for j in range(width):
            k = slots[row + j]
            if not k >= 0.0:
                return row + j
            out[row + j] = saturating_index_after(k, rate[j], inflow[j], unbounded[j], ceiling[j], cost[j], lifetime[j])
    return -1


@njit(cache=True)
def _states(
    state: FloatArray,
    rate: FloatArray,
    inflow: FloatArray,
    ceiling: FloatArray,
    cost: FloatArray,
    out: FloatArray,
) -> int:
    width = len(rate)
    for row in range(0, len(out), width):
        for j in range(width):
            x = state[row + j]
            if not 0.0 <= x < math.inf:
                return row + j
            out[row + j] = index_of_state(x, rate[j], inflow[j], ceiling[j], cost[j])
    return -1


def _over_sources(argument: str, value: npt.ArrayLike, sources: Sources) -> tuple[FloatArray, tuple[int, ...]]:
    """The argument broadcast so that its last axis runs over the sources."""
    (flat, _), shape = aligned({argument: as_float(argument, value), "sources": sources.cost})
    if shape[-1] != len(sources):
        raise ParameterError(argument, f"one entry per source ({len(sources)})", f"shape {np.shape(value)}")
    return flat, shape


def whittle_index(sources: Sources, state: npt.ArrayLike) -> FloatArray:
    """The Whittle index of each source at any worth `state` >= 0 [tcns2018, Theorem 1], finite everywhere.

    The last axis of `state` runs over the sources.

    >>> table = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7], decay=[0.7, 0.35])
    >>> whittle_index(table, state=[200.0, 200.0]).round(2).tolist()
    [110.86, 74.52]
    """
    if sources.saturates:
        raise ParameterError(
            "sources",
            "without exact lifetimes (there the index depends on slots since the crawl, not on the state: "
            "use whittle_index_after, or lifetime_form='paper')",
            f"lifetimes {np.unique(sources.lifetime)[:3].tolist()}",
        )
    flat, shape = _over_sources("state", state, sources)
    out = np.empty(len(flat))
    bad = _states(flat, sources.decay_rate, sources.inflow, sources.ceiling, sources.cost, out)
    if bad >= 0:
        raise complain(bad, shape, {"state": flat}, {"state": (lambda x: 0.0 <= x < math.inf, "a finite worth >= 0")})
    return out.reshape(shape)


def whittle_index_after(sources: Sources, slots: npt.ArrayLike) -> FloatArray:
    """γ_k, the index of each source `slots` slots after its crawl; the last axis of `slots` runs over the sources.

    >>> table = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7], decay=[0.7, 0.35])
    >>> whittle_index_after(table, [1, 2]).round(2).tolist()
    [90.51, 105.06]
    """
    flat, shape = _over_sources("slots", slots, sources)
    out = np.empty(len(flat))
    bad = _orbit(
        flat,
        sources.decay_rate,
        sources.inflow,
        sources.unbounded_ceiling,
        sources.cost,
        sources.ceiling,
        sources.lifetime,
        out,
    )
    if bad >= 0:
        raise complain(bad, shape, {"slots": flat}, {"slots": (lambda x: x >= 0.0, "a number of slots >= 0")})
    return out.reshape(shape)
