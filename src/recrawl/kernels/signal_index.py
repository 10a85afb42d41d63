"""The index of a page about whose changes signals tell [docs/design/019].

A page changes at rate Δ. A change gives a signal with probability λ; false signals come at rate ν. With α = (1−λ)Δ,
γ = λΔ + ν and κ = ln(γ/ν), a copy of age τ after n signals is fresh with probability e^{−ℓ}, ℓ = ατ + κn, whenever the
signals came. ℓ only rises, by the drift α and by jumps κ at rate γ. A page is crawled when ℓ reaches a level, and the
price at which that level is right is::

    g = (v/C)·S,   S = Δ·E ∫₀ᵀ (e^{−ℓ_s} − e^{−ℓ}) ds = Δ(W − e^{−ℓ}ψ),   v = w/Δ (fresh copies) or w (changes found)

T being the time until the level is passed, W the expected fresh part of it and ψ its mean. Without signals S is G(Δτ)
of `continuous_index`. The integral splits by the number of signals so far into terms of one sign::

    S = (Δ/γ) Σ_{n'≤ℓ/κ} (ν/γ)^{n'} B_{n'},   B_{n'} = a ∫₀^x e^{−as} R_{n'}(s) ds,   a = α/γ,   ax = ℓ − κn'

Above `MOST_SIGNALS` terms the expected time spent at each ℓ has settled at 1/m, m = α + γκ, and S follows to order
(κ/ℓ)² from the renewal theorem.

It is for known Δ, λ and ν, and the yardstick for what ranks where they have to be learned (`learning/signals`).

Symbols: Δ change_rate, λ recall, ν false_rate, τ age, n signals, w weight, C cost. Inside time is in units of 1/Δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.arguments import aligned, as_float, complain, over_cores, shaped
from recrawl.kernels.continuous_index import EXHAUSTED, LARGEST, ripeness
from recrawl.kernels.poisson_tail import NEGLIGIBLE, poisson_tail
from recrawl.records import FloatArray

MOST_SIGNALS = 128
"""Terms of the sum at most; beyond, the law of large numbers is as good as 1 part in 100,000."""
SHORT = 0.2
"""Below this ax a term is summed by powers of it, because its closed form is a difference of nearly equal numbers."""
POWERS = 10
FEW = 1e-4
"""Expected signals, or drift, below which the first terms of a series are exact to rounding."""


@njit(cache=True)
def signal_step(recall: float, noise: float) -> float:
    """κ = ln(1 + λΔ/ν) for `noise` ν/Δ: by how much one signal makes a fresh copy less likely, in logarithms."""
    if recall <= 0.0:
        return 0.0
    return math.log1p(recall / noise) if noise > 0.0 else math.inf


@njit(cache=True)
def staleness(recall: float, step: float, age: float, signals: float) -> float:
    """ℓ = −ln P(fresh) at an age in units of 1/Δ; what never happens or means nothing adds 0, not 0·∞."""
    missed = (1.0 - recall) * age if recall < 1.0 else 0.0
    return missed + (step * signals if signals > 0.0 and step > 0.0 else 0.0)


@njit(cache=True)
def _short_term(n: int, x: float, wait: float, drift: float) -> float:
    """B_n by powers of `wait` = ax: ∫₀^x s^k R_n(s) ds is R_n and R_{n+k+1} at x."""
    tail, total = poisson_tail(n, x), 0.0
    power, rising, sign = 1.0, 1.0, 1.0
    for k in range(POWERS):
        power *= wait
        rising *= drift * (n + k + 1)
        total += sign / (k + 1) * (power * tail - rising * poisson_tail(n + k + 1, x))
        sign /= -(k + 1.0)
    return max(total, 0.0)


@njit(cache=True)
def _term(n: int, x: float, wait: float, drift: float) -> float:
    """B_n = a∫₀^x e^{−as}R_n(s) ds, with `wait` = ax and `drift` = a, also where x is infinite and a is 0."""
    if wait <= 0.0 or x < 1e-20:
        return 0.0
    if wait < SHORT:
        return _short_term(n, x, wait, drift)
    tail, decay = poisson_tail(n, x), -(n + 1.0) * math.log1p(drift)
    wider = poisson_tail(n, x + wait) - tail
    return max((math.expm1(decay) - math.expm1(-wait)) * tail + math.exp(decay) * wider, 0.0)


@njit(cache=True)
def _quiet(unseen: float, heard: float, age: float) -> float:
    """The term of no signal, α∫₀^τ e^{−αs}(1 − e^{−γs})/γ ds, also where γ or α is next to nothing."""
    if unseen <= 0.0:
        return 0.0
    wait, x = unseen * age, heard * age
    if wait < FEW and x < FEW:
        slope, bend = (unseen + 0.5 * heard) * age, (3.0 * unseen * (unseen + heard) + heard * heard) / 6.0
        return wait * age * (0.5 - slope / 3.0 + bend * age * age / 4.0)
    few = heard / unseen
    if x < FEW or few < FEW:
        later = few * (poisson_tail(2, wait) - few * (poisson_tail(3, wait) - few * poisson_tail(4, wait)))
        return (ripeness(wait) - later) / unseen
    return _term(0, x, wait, unseen / heard) / heard


@njit(cache=True)
def _settled(unseen: float, heard: float, step: float, level: float) -> float:
    """S where many signals are needed: time spent is even over ℓ, but for what one step overshoots."""
    pace = unseen + heard * step
    share = heard * step / pace
    overshoot = 0.5 * share * step
    # (κ − 1 + e^{−κ})/κ² − 1/2
    bend = -step * (1 / 6 - step * (1 / 24 - step * (1 / 120 - step * (1 / 720 - step * (1 / 5040 - step / 40320)))))
    excess = overshoot + share * step * bend
    constant = share * step * bend + excess * excess / (1.0 - excess)
    return (ripeness(level) - math.expm1(-level) * overshoot + constant) / pace


@njit(cache=True)
def signal_ripeness(recall: float, noise: float, age: float, signals: float) -> float:
    """S: what share of its full price a page has reached, given `noise` ν/Δ and an age in units of 1/Δ."""
    step = signal_step(recall, noise)
    level = staleness(recall, step, age, signals)
    if step <= 0.0:
        return ripeness(level)
    if level > EXHAUSTED or (1.0 + level + step) * math.exp(-level) < NEGLIGIBLE:
        return 1.0
    unseen, heard = 1.0 - recall, recall + noise
    most = signals + (level - step * signals) / step if step < math.inf else 0.0
    if most > MOST_SIGNALS:
        return min(max(_settled(unseen, heard, step, level), 0.0), 1.0)
    total = _quiet(unseen, heard, level / unseen) if unseen > 0.0 else -math.expm1(-level) / heard
    for n in range(1, int(most) + 1):
        weight, wait = math.exp(-step * n), level - step * n
        if weight < NEGLIGIBLE * recall * total:
            break
        x = wait / unseen * heard if unseen > 0.0 else math.inf
        term = weight / heard * _term(n, x, wait, unseen / heard)
        total += term
        if term < NEGLIGIBLE * total and x < n:
            break
    return min(total, 1.0)


@njit(cache=True)
def scaled(share: float, weight: float, per: float, cost: float) -> float:
    """weight·share/(per·cost), capped at the largest double where the exact figure is beyond it."""
    if share <= 0.0 or weight <= 0.0:
        return 0.0
    index = weight / cost * share / per
    if not 0.0 < index < math.inf:
        # one of the quotients leaves the doubles although the index may not
        index = math.exp(math.log(weight) + math.log(share) - math.log(per) - math.log(cost))
    return index if index < math.inf else LARGEST


@njit(cache=True)
def _valid(change_rate: float, recall: float, false_rate: float, age: float, signals: float) -> bool:
    return (
        0.0 <= change_rate < math.inf
        and 0.0 <= recall <= 1.0
        and 0.0 <= false_rate < math.inf
        and age >= 0.0
        and 0.0 <= signals < math.inf
    )


@njit(cache=True, nogil=True)
def signal_indices(
    change_rate: FloatArray,
    recall: FloatArray,
    false_rate: FloatArray,
    age: FloatArray,
    signals: FloatArray,
    weight: FloatArray,
    cost: FloatArray,
    per_change: FloatArray,
    out: FloatArray,
) -> int:
    """Fill `out` with the index of each page; the position of the first invalid element, or -1.

    `per_change` is 1 where a weight is paid for each change found, 0 where it is paid for each time unit fresh.
    """
    for i in range(len(out)):
        if not _valid(change_rate[i], recall[i], false_rate[i], age[i], signals[i]):
            return i
        if not (0.0 <= weight[i] < math.inf and 0.0 < cost[i] < math.inf):
            return i
        out[i] = 0.0
        if change_rate[i] > 0.0:
            share = signal_ripeness(recall[i], false_rate[i] / change_rate[i], change_rate[i] * age[i], signals[i])
            per = 1.0 if per_change[i] > 0.0 else change_rate[i]
            out[i] = scaled(share, weight[i], per, cost[i])
    return -1


@njit(cache=True, nogil=True)
def fresh_probabilities(
    change_rate: FloatArray,
    recall: FloatArray,
    false_rate: FloatArray,
    age: FloatArray,
    signals: FloatArray,
    out: FloatArray,
) -> int:
    """Fill `out` with e^{−ℓ} of each page; the position of the first invalid element, or -1."""
    for i in range(len(out)):
        if not _valid(change_rate[i], recall[i], false_rate[i], age[i], signals[i]):
            return i
        out[i] = 1.0
        if change_rate[i] > 0.0:
            step = signal_step(recall[i], false_rate[i] / change_rate[i])
            out[i] = math.exp(-staleness(recall[i], step, change_rate[i] * age[i], signals[i]))
    return -1


def _nonnegative(x: float) -> bool:
    return 0.0 <= x < math.inf


_RULES = {
    "change_rate": (_nonnegative, "finite and >= 0"),
    "recall": (lambda x: 0.0 <= x <= 1.0, "between 0 and 1"),
    "false_rate": (_nonnegative, "finite and >= 0"),
    "age": (lambda x: x >= 0.0, ">= 0"),
    "signals": (_nonnegative, "finite and >= 0"),
    "weight": (_nonnegative, "finite and >= 0"),
    "cost": (lambda x: 0.0 < x < math.inf, "finite and > 0"),
    "per_change": (lambda x: True, ""),
    "decay": (_nonnegative, "finite and >= 0"),
    "elapsed": (lambda x: x >= 0.0, ">= 0"),
    "worth": (lambda x: 0.0 <= x <= 1.0, "between 0 and 1"),
}


def over_pages(kernel: Callable[..., int], **arguments: npt.ArrayLike) -> FloatArray | float:
    """A compiled kernel over arguments broadcast to one shape, or the error that names the one that is wrong."""
    arrays = {name: as_float(name, x) for name, x in arguments.items()}
    flat, shape = aligned(arrays)
    out = np.empty(len(flat[0]))
    bad = over_cores(kernel, flat, out)
    if bad >= 0:
        raise complain(bad, shape, dict(zip(arrays, flat, strict=True)), {name: _RULES[name] for name in arrays})
    return shaped(out, shape)


def fresh_probability(
    change_rate: npt.ArrayLike,
    recall: npt.ArrayLike,
    false_rate: npt.ArrayLike,
    age: npt.ArrayLike,
    signals: npt.ArrayLike,
) -> FloatArray | float:
    """The probability that a copy of this age is what the page still is, after so many signals since it was made.

    >>> round(fresh_probability(change_rate=0.1, recall=0.9, false_rate=0.05, age=2.0, signals=1), 6)
    0.350071
    """
    return over_pages(
        fresh_probabilities,
        change_rate=change_rate,
        recall=recall,
        false_rate=false_rate,
        age=age,
        signals=signals,
    )


def signal_index(
    change_rate: npt.ArrayLike,
    recall: npt.ArrayLike,
    false_rate: npt.ArrayLike,
    age: npt.ArrayLike,
    signals: npt.ArrayLike,
    weight: npt.ArrayLike = 1.0,
    cost: npt.ArrayLike = 1.0,
) -> FloatArray | float:
    """The price at which crawling a page now is exactly worth it, if it is worth `weight` per time unit fresh.

    Parameters
        change_rate: Δ, changes per time unit
        recall: λ, the probability that a change gives a signal
        false_rate: ν, signals per time unit that no change gave
        age: τ, time since the last crawl; inf for never
        signals: n, how many came since
        weight: w, what a fresh copy is worth per time unit
        cost: C, what a crawl spends

    >>> round(signal_index(change_rate=0.1, recall=0.9, false_rate=0.05, age=2.0, signals=1), 6)
    4.166732
    """
    return over_pages(
        signal_indices,
        change_rate=change_rate,
        recall=recall,
        false_rate=false_rate,
        age=age,
        signals=signals,
        weight=weight,
        cost=cost,
        per_change=0.0,
    )


def change_signal_index(
    change_rate: npt.ArrayLike,
    recall: npt.ArrayLike,
    false_rate: npt.ArrayLike,
    age: npt.ArrayLike,
    signals: npt.ArrayLike,
    weight: npt.ArrayLike = 1.0,
    cost: npt.ArrayLike = 1.0,
) -> FloatArray | float:
    """The same if each crawl that finds the page changed is worth `weight`: Δ times as much as :func:`signal_index`.

    >>> round(change_signal_index(change_rate=0.1, recall=0.9, false_rate=0.05, age=2.0, signals=1), 6)
    0.416673
    """
    return over_pages(
        signal_indices,
        change_rate=change_rate,
        recall=recall,
        false_rate=false_rate,
        age=age,
        signals=signals,
        weight=weight,
        cost=cost,
        per_change=1.0,
    )
