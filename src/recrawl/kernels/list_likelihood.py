"""How likely a visit finds a page unchanged, given what a list has said of it since the last visit.

A list of **recall** λ announces a change of a page with probability λ, and names pages that did not change at φ per
change of the page and ν per time, whatever the page does: of all that it says of a page that changes at rate Δ the
share ::

    r = (φΔ + ν) / (λΔ + φΔ + ν)

is false. The list was last read c after the page was last visited, and u ago; it has named the page n times since that
visit. Changes that it missed, and those since it was read, are hidden; each naming is false with probability r::

    P(unchanged) = e^{−Δ(u + (1−λ)c)} · rⁿ

That is e^{−ℓ} of the model with signals [docs/design/019], with ν + φΔ in the place of ν. Averaged over what is
believed of Δ, for every (λ, φ, ν) of a grid, it says how well each of them predicts what visits find.

A list that says nothing leaves the plain law. To tell the two apart by what they predict, the plain one must be allowed
its own errors: changes come in bursts, and rates drift. So it has a scale s and a power k::

    P(unchanged) = E exp(−s(Δτ)ᵏ)

Symbols: Δ change rate, τ gap between two visits, λ recall, φ false signals per change, ν false signals per time, n
signals.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.compiled_code import njit
from recrawl.records import FloatArray

LEAST_SHARE = 1e-7
"""Rates believed in less than this are passed over."""


@njit(cache=True)
def false_share(change: float, recall: float, per_change: float, per_time: float) -> float:
    """r: which share of what a list says of a page is false; 1 of a list that never says anything."""
    false = per_change * change + per_time
    told = recall * change + false
    return false / told if told > 0.0 else 1.0


@njit(cache=True)
def unchanged_by_list(
    shares: FloatArray,
    rates: FloatArray,
    since_read: float,
    covered: float,
    signals: int,
    recalls: FloatArray,
    per_change: FloatArray,
    per_time: FloatArray,
    out: FloatArray,
) -> None:
    """P(unchanged) for every (λ, φ, ν), in this order in `out`; `shares` are probabilities over `rates`."""
    many, slots = len(per_change) * len(per_time), len(per_time)
    kept = np.empty(len(rates))
    for a in range(len(recalls)):
        plain = 0.0
        for g in range(len(rates)):
            kept[g] = 0.0
            if shares[g] > LEAST_SHARE:
                kept[g] = shares[g] * math.exp(-rates[g] * (since_read + (1.0 - recalls[a]) * covered))
            plain += kept[g]
        for b in range(len(per_change)):
            for v in range(slots):
                total = plain
                if signals > 0:
                    total = 0.0
                    for g in range(len(rates)):
                        if kept[g] > 0.0:
                            share = false_share(rates[g], recalls[a], per_change[b], per_time[v])
                            total += kept[g] * (share if signals == 1 else share**signals)
                out[a * many + b * slots + v] = total


@njit(cache=True)
def unchanged_without(
    shares: FloatArray, rates: FloatArray, gap: float, scales: FloatArray, powers: FloatArray, out: FloatArray
) -> None:
    """P(unchanged) by the plain law for every (scale, power), in this order in `out`."""
    out[:] = 0.0
    for g in range(len(rates)):
        if shares[g] > LEAST_SHARE:
            logarithm = math.log(max(rates[g] * gap, 1e-300))
            for k in range(len(powers)):
                expected = math.exp(powers[k] * logarithm)
                for s in range(len(scales)):
                    out[s * len(powers) + k] += shares[g] * math.exp(-scales[s] * expected)


@njit(cache=True)
def hidden_evidence(
    evidence: FloatArray,
    rates: FloatArray,
    since_read: float,
    covered: float,
    signals: int,
    doubt: float,
    recall: float,
    per_change: float,
    per_time: float,
    changed: bool,
) -> None:
    """Add a visit to a page of a list that is right, to the log-likelihood of its rates, in place.

    `doubt` is the probability that all else that was said of it is false.
    """
    for g in range(len(rates)):
        same = doubt * math.exp(-rates[g] * (since_read + (1.0 - recall) * covered))
        if signals > 0:
            same *= false_share(rates[g], recall, per_change, per_time) ** signals
        evidence[g] += math.log(max(1.0 - same, 1e-9)) if changed else math.log(max(same, 1e-30))


@njit(cache=True)
def signal_evidence(
    evidence: FloatArray,
    rates: FloatArray,
    count: float,
    time: float,
    recall: float,
    per_change: float,
    per_time: float,
) -> None:
    """Add how often a list has named a page in so much time, to the log-likelihood of its rates, in place.

    Silence counts as well: a page that a good list has not named for long has calmed down.
    """
    for g in range(len(rates)):
        told = (recall + per_change) * rates[g] + per_time + 1e-12
        evidence[g] += count * math.log(told) - told * time
