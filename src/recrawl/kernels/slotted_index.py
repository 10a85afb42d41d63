"""The Whittle index in the papers' slotted time [tcns2018, Theorem 1].

In a slot a source gains u and keeps α of what it had; never crawled it tends to u* = u/(1 − α). Two forms:

*On the orbit*, k slots after a crawl [docs/design/002]::

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
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.errors import ParameterError
from recrawl.kernels.arguments import aligned, as_float, complain, over_cores
from recrawl.kernels.continuous_index import EXHAUSTED, LARGEST, ripeness
from recrawl.kernels.elementary import vector_exp, vector_log
from recrawl.records import FloatArray, Sources, known_sources


@njit(cache=True)
def worth_after(slots: float, rate: float, ceiling: float) -> float:
    """x_k, the expected worth k slots after a crawl, without a lifetime."""
    return 0.0 if slots <= 0.0 else ceiling * -math.expm1(-rate * slots)


@njit(cache=True, inline="always")
def _orbit_formula(slots: float, kept: float, inflow: float, ceiling: float, cost: float) -> float:
    """γ_k with kept = α^k [docs/design/002]."""
    return (ceiling - (ceiling + slots * inflow) * kept) / cost


@njit(cache=True, inline="always")
def _theorem_1(eta: float, kept: float, rest: float, inflow: float, ceiling: float, cost: float) -> float:
    """Theorem 1 with kept = α^η and rest = 1 − x/u*, which turns η((1−α)x − u) into −η·u·rest."""
    return (ceiling * (1.0 - kept) - eta * inflow * rest) / cost


@njit(cache=True)
def index_after(slots: float, rate: float, inflow: float, ceiling: float, cost: float) -> float:
    """γ_k on the orbit, without a lifetime."""
    if slots <= 0.0 or ceiling <= 0.0:
        return 0.0
    s = rate * slots
    if s >= 0.25:
        if s > EXHAUSTED:
            return ceiling / cost
        return _orbit_formula(slots, math.exp(-s), inflow, ceiling, cost)
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
        return min(x / cost, LARGEST)
    rest = 1.0 - x / ceiling
    if rest < 0.75 and rate > 0.0:
        # η·r ≥ −ln(3/4) > 1/4: the theorem as it stands does not cancel.
        eta = max(1.0, np.ceil(math.log(rest) / -rate))
        return _theorem_1(eta, math.exp(-rate * eta), rest, inflow, ceiling, cost)
    eta = max(1.0, np.ceil(math.log1p(-x / ceiling) / -rate)) if rate > 0.0 else 1.0
    below = eta - 1.0
    start = worth_after(below, rate, ceiling)
    slope = eta * -math.expm1(-rate)
    return max(0.0, index_after(below, rate, inflow, ceiling, cost) + slope * (x - start) / cost)


@njit(cache=True)
def ceiled_index_of_state(x: float, rate: float, inflow: float, ceiling: float, cost: float) -> float:
    """The simplified formula with its ceiling [mas2016], taken literally: 0·(…) + x where log⁺ has no argument."""
    rest = 1.0 - x / ceiling if ceiling > 0.0 else 0.0
    eta = np.ceil(math.log(rest) / -rate) if rest > 0.0 and rate > 0.0 else 0.0
    return (eta * (-math.expm1(-rate) * x - inflow) + x) / cost


# Arrays are done in blocks that fit the cache: first the formula for everything, in vector instructions, then again and
# with care for the few elements where it cancels or overflows. At r·k ≥ 1/10 it loses two digits and a bit.
BLOCK = 1024
PLAIN_FROM = 0.1
PLAIN_TO = 700.0


@njit(cache=True, nogil=True, error_model="numpy")
def _orbit(
    slots: FloatArray, rate: FloatArray, inflow: FloatArray, ceiling: FloatArray, cost: FloatArray, out: FloatArray
) -> int:
    for start in range(0, len(out), BLOCK):
        stop = min(start + BLOCK, len(out))
        for i in range(start, stop):
            out[i] = _orbit_formula(slots[i], vector_exp(-rate[i] * slots[i]), inflow[i], ceiling[i], cost[i])
        for i in range(start, stop):
            if not PLAIN_FROM <= rate[i] * slots[i] <= PLAIN_TO:
                if not slots[i] >= 0.0:
                    return i
                out[i] = index_after(slots[i], rate[i], inflow[i], ceiling[i], cost[i])
    return -1


@njit(cache=True, nogil=True)
def _saturating_orbit(
    slots: FloatArray,
    rate: FloatArray,
    inflow: FloatArray,
    unbounded: FloatArray,
    ceiling: FloatArray,
    cost: FloatArray,
    lifetime: FloatArray,
    out: FloatArray,
) -> int:
    for i in range(len(out)):
        if not slots[i] >= 0.0:
            return i
        out[i] = saturating_index_after(slots[i], rate[i], inflow[i], unbounded[i], ceiling[i], cost[i], lifetime[i])
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _states(
    state: FloatArray, rate: FloatArray, inflow: FloatArray, ceiling: FloatArray, cost: FloatArray, out: FloatArray
) -> int:
    for start in range(0, len(out), BLOCK):
        stop = min(start + BLOCK, len(out))
        for i in range(start, stop):
            rest = 1.0 - state[i] / ceiling[i]
            eta = max(1.0, np.ceil(vector_log(rest) / -rate[i]))
            out[i] = _theorem_1(eta, vector_exp(-rate[i] * eta), rest, inflow[i], ceiling[i], cost[i])
        for i in range(start, stop):
            rest = 1.0 - state[i] / ceiling[i]
            if not (1e-300 < rest < 1.0 - PLAIN_FROM and rate[i] > 1e-12):
                if not 0.0 <= state[i] < math.inf:
                    return i
                out[i] = index_of_state(state[i], rate[i], inflow[i], ceiling[i], cost[i])
    return -1


def _each_source(
    kernel: Callable[..., int],
    name: str,
    given: npt.ArrayLike,
    sources: Sources,
    columns: list[FloatArray],
    allowed: Callable[[float], bool],
    expected: str,
) -> FloatArray:
    """The kernel over the argument, whose last axis runs over the sources, row by row."""
    (flat, _), shape = aligned({name: as_float(name, given), "sources": sources.cost})
    if shape[-1] != len(sources):
        raise ParameterError(name, f"one entry per source ({len(sources)})", f"shape {np.shape(given)}")
    out = np.empty(len(flat))
    for start in range(0, len(flat), len(sources)):
        row = slice(start, start + len(sources))
        bad = over_cores(kernel, [flat[row], *columns], out[row])
        if bad >= 0:
            raise complain(start + bad, shape, {name: flat}, {name: (allowed, expected)})
    return out.reshape(shape)


def whittle_index(sources: Sources, state: npt.ArrayLike) -> FloatArray:
    """The Whittle index of each source at any worth `state` >= 0 [tcns2018, Theorem 1], finite everywhere.

    The last axis of `state` runs over the sources.

    >>> table = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7], decay=[0.7, 0.35])
    >>> whittle_index(table, state=[200.0, 200.0]).round(2).tolist()
    [110.86, 74.52]
    """
    if known_sources(sources).saturates:
        raise ParameterError(
            "sources",
            "without exact lifetimes (there the index depends on slots since the crawl, not on the state: "
            "use whittle_index_after, or lifetime_form='paper')",
            f"lifetimes {np.unique(sources.lifetime)[:3].tolist()}",
        )
    columns = [sources.decay_rate, sources.inflow, sources.ceiling, sources.cost]
    return _each_source(_states, "state", state, sources, columns, lambda x: 0.0 <= x < math.inf, "a finite worth >= 0")


def whittle_index_after(sources: Sources, slots: npt.ArrayLike) -> FloatArray:
    """γ_k, the index of each source `slots` slots after its crawl; the last axis of `slots` runs over the sources.

    >>> table = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7], decay=[0.7, 0.35])
    >>> whittle_index_after(table, [1, 2]).round(2).tolist()
    [90.51, 105.06]
    """
    kernel: Callable[..., int] = _orbit
    sources = known_sources(sources)
    columns = [sources.decay_rate, sources.inflow, sources.ceiling, sources.cost]
    if sources.saturates:
        kernel = _saturating_orbit
        columns[2:] = [sources.unbounded_ceiling, sources.ceiling, sources.cost, sources.exact_lifetime]
    return _each_source(kernel, "slots", slots, sources, columns, lambda x: x >= 0.0, "a number of slots >= 0")
