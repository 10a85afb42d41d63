"""How much the slotted policies want a source: one compiled scoring function, used in and out of the fast simulator.

A rule scores a source either by its observed worth or, where that is not observed, by the slots since its crawl
[tcns2018, §VIII, mixed case]. Scores are per unit of cost, so that unequal costs rank rightly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from recrawl.compiled_code import njit
from recrawl.kernels.slotted_index import ceiled_index_of_state, index_of_state, saturating_index_after, worth_after
from recrawl.kernels.stochastic_index import interpolated_index
from recrawl.records import FloatArray, Sources
from recrawl.scheduling.compiled import inner

WHITTLE, CEILED, TABLED, GREEDY, MYOPIC, OLDEST, FIXED, PERIODIC = range(8)


RATE, INFLOW, UNBOUNDED, CEILING, COST, LIFETIME, WEIGHT = range(7)


class Rule(NamedTuple):
    """A rule and the numbers it needs, one row per source.

    The numbers stand in one array, not in named ones, because compiled code that takes named arrays out of a tuple in
    its innermost loop spends its time counting references.
    """

    kind: int
    numbers: FloatArray
    """Columns RATE to WEIGHT; the weight is the score itself (FIXED) or the period in slots (PERIODIC)."""
    thresholds: FloatArray
    values: FloatArray
    """The index of the state at some thresholds (TABLED), one row per source."""


def rule_for(
    kind: int,
    sources: Sources,
    weight: FloatArray | None = None,
    tables: tuple[FloatArray, FloatArray] | None = None,
) -> Rule:
    """The rule for these sources."""
    nothing = np.zeros(len(sources))
    columns = (
        sources.decay_rate,
        sources.inflow,
        sources.unbounded_ceiling,
        sources.ceiling,
        sources.cost,
        sources.exact_lifetime,
        nothing if weight is None else weight,
    )
    thresholds, values = (nothing[:, None], nothing[:, None]) if tables is None else tables
    return Rule(kind, np.ascontiguousarray(np.stack(columns, axis=1)), thresholds, values)


@inner
def score_after(kind: int, numbers: FloatArray, i: int, slots: float) -> float:
    """The score of source i `slots` slots after its crawl, when nothing else is known."""
    weight, cost, rate = numbers[i, WEIGHT], numbers[i, COST], numbers[i, RATE]
    if kind == OLDEST:
        return slots
    if kind == FIXED:
        return weight
    if kind == PERIODIC:
        return slots / weight if slots >= weight else -math.inf
    inflow, unbounded, ceiling = numbers[i, INFLOW], numbers[i, UNBOUNDED], numbers[i, CEILING]
    if kind in (WHITTLE, TABLED):
        return saturating_index_after(slots, rate, inflow, unbounded, ceiling, cost, numbers[i, LIFETIME])
    worth = worth_after(min(slots, numbers[i, LIFETIME]), rate, unbounded)
    if kind == CEILED:
        return ceiled_index_of_state(worth, rate, inflow, ceiling, cost)
    return worth / cost


@inner
def score_of_state(
    kind: int, numbers: FloatArray, thresholds: FloatArray, values: FloatArray, i: int, worth: float
) -> float:
    """The score of source i at an observed worth, for the rules that look at it (see `looks`)."""
    rate, inflow, ceiling, cost = numbers[i, RATE], numbers[i, INFLOW], numbers[i, CEILING], numbers[i, COST]
    if kind == WHITTLE:
        return index_of_state(worth, rate, inflow, ceiling, cost)
    if kind == CEILED:
        return ceiled_index_of_state(worth, rate, inflow, ceiling, cost)
    if kind == TABLED:
        return interpolated_index(worth, thresholds[i], values[i], cost)
    return worth / cost


@inner
def looks(kind: int, numbers: FloatArray, i: int) -> bool:
    """Whether the rule uses an observed worth; with an exact lifetime the index depends on slots alone."""
    return kind == MYOPIC or (kind in (WHITTLE, CEILED, TABLED) and numbers[i, LIFETIME] == math.inf)


@njit(cache=True)
def _scores(
    kind: int,
    numbers: FloatArray,
    thresholds: FloatArray,
    values: FloatArray,
    slots: FloatArray,
    states: FloatArray,
) -> FloatArray:
    out = np.empty(len(slots))
    for i in range(len(slots)):
        if looks(kind, numbers, i) and not math.isnan(states[i]):
            out[i] = score_of_state(kind, numbers, thresholds, values, i, states[i])
        else:
            out[i] = score_after(kind, numbers, i, slots[i])
    return out


def scores(rule: Rule, slots: FloatArray, states: FloatArray) -> FloatArray:
    """The score of every source; `states` is NaN where the worth is not observed."""
    return _scores(rule.kind, rule.numbers, rule.thresholds, rule.values, slots, states)
