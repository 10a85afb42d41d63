"""How much the slotted policies want a source: one compiled scoring function, used in and out of the fast simulator.

A rule scores a source either by its observed worth or, where that is not observed, by the slots since its crawl
[tcns2018, §VIII, mixed case]. Scores are per unit of cost, so that unequal costs rank rightly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from recrawl.kernels.slotted_index import ceiled_index_of_state, index_of_state, saturating_index_after, worth_after
from recrawl.kernels.stochastic_index import interpolated_index
from recrawl.records import FloatArray, Sources

WHITTLE, CEILED, TABLED, GREEDY, MYOPIC, OLDEST, FIXED, PERIODIC = range(8)


class Rule(NamedTuple):
    """A rule and the numbers it needs, one row per source; a named tuple so that compiled code takes it whole.

    `weight` is the score itself (FIXED) or the period in slots (PERIODIC); `thresholds` and `values` tabulate the
    index of the state (TABLED).
    """

    kind: int
    rate: FloatArray
    inflow: FloatArray
    unbounded: FloatArray
    ceiling: FloatArray
    cost: FloatArray
    lifetime: FloatArray
    weight: FloatArray
    thresholds: FloatArray
    values: FloatArray


def rule_for(
    kind: int,
    sources: Sources,
    weight: FloatArray | None = None,
    tables: tuple[FloatArray, FloatArray] | None = None,
) -> Rule:
    """The rule for these sources."""
    nothing = np.zeros(len(sources))
    thresholds, values = (nothing[:, None], nothing[:, None]) if tables is None else tables
    return Rule(
        kind,
        sources.decay_rate,
        sources.inflow,
        sources.unbounded_ceiling,
        sources.ceiling,
        sources.cost,
        sources.exact_lifetime,
        nothing if weight is None else np.ascontiguousarray(weight, dtype=np.float64),
        thresholds,
        values,
    )


@njit(cache=True)
def score_after(rule: Rule, i: int, slots: float) -> float:
    """The score of source i `slots` slots after its crawl, when nothing else is known."""
    kind = rule.kind
    if kind == OLDEST:
        return slots
    if kind == FIXED:
        return rule.weight[i]
    if kind == PERIODIC:
        return slots / rule.weight[i] if slots >= rule.weight[i] else -math.inf
    if kind in (WHITTLE, TABLED):
        return saturating_index_after(
            slots, rule.rate[i], rule.inflow[i], rule.unbounded[i], rule.ceiling[i], rule.cost[i], rule.lifetime[i]
        )
    worth = worth_after(min(slots, rule.lifetime[i]), rule.rate[i], rule.unbounded[i])
    if kind == CEILED:
        return ceiled_index_of_state(worth, rule.rate[i], rule.inflow[i], rule.ceiling[i], rule.cost[i])
    return worth / rule.cost[i]


@njit(cache=True)
def score_of_state(rule: Rule, i: int, worth: float) -> float:
    """The score of source i at an observed worth, for the rules that look at it (see `looks`)."""
    kind = rule.kind
    if kind == WHITTLE:
        return index_of_state(worth, rule.rate[i], rule.inflow[i], rule.ceiling[i], rule.cost[i])
    if kind == CEILED:
        return ceiled_index_of_state(worth, rule.rate[i], rule.inflow[i], rule.ceiling[i], rule.cost[i])
    if kind == TABLED:
        return interpolated_index(worth, rule.thresholds[i], rule.values[i], rule.cost[i])
    return worth / rule.cost[i]


@njit(cache=True)
def looks(rule: Rule, i: int) -> bool:
    """Whether the rule uses an observed worth; with an exact lifetime the index depends on slots alone."""
    kind = rule.kind
    return kind == MYOPIC or ((kind in (WHITTLE, CEILED, TABLED)) and rule.lifetime[i] == math.inf)


@njit(cache=True)
def scores(rule: Rule, slots: FloatArray, states: FloatArray) -> FloatArray:
    """The score of every source; `states` is NaN where the worth is not observed."""
    out = np.empty(len(slots))
    for i in range(len(slots)):
        if looks(rule, i) and not math.isnan(states[i]):
            out[i] = score_of_state(rule, i, states[i])
        else:
            out[i] = score_after(rule, i, slots[i])
    return out
