"""The top of a ranking that a budget can pay for.

Ties go to the lowest id, so that a choice depends on scores alone. With unequal costs the rule is: go down the
ranking, stop at the first that does not fit, keep the rest of the budget.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.compiled_code import njit
from recrawl.records import FloatArray, IntArray

# Budgets are sums of fractions: a balance this much short of a cost still pays for it.
ROUNDING = 1e-9
_NO_GROUPS = np.empty(0, np.int64)
SMOOTHING = 1 / 8
"""How much of the newest observation the smoothed price takes over."""
FEW = 64
"""Up to so many, one pass that keeps the best so far in order beats partitioning."""


@njit(cache=True)
def _best_few(scores: FloatArray, count: int) -> IntArray:
    """`top` by insertion: nearly every score is dismissed by one comparison with the worst kept."""
    ids, kept = np.empty(count, np.int64), 0
    for i in range(len(scores)):
        if not scores[i] > -np.inf or (kept == count and not scores[i] > scores[ids[kept - 1]]):
            continue
        place = kept if kept < count else count - 1
        kept = min(kept + 1, count)
        while place > 0 and scores[ids[place - 1]] < scores[i]:
            ids[place] = ids[place - 1]
            place -= 1
        ids[place] = i
    return ids[:kept]


def top(scores: FloatArray, count: int) -> IntArray:
    """The ids of the `count` largest scores above −inf, largest first, ties by id.

    >>> top(np.array([1.0, 3.0, 3.0, -np.inf]), 2).tolist()
    [1, 2]
    """
    if count <= 0:
        return np.empty(0, np.int64)
    if count <= FEW:
        return _best_few(scores, min(count, len(scores)))
    if count < len(scores):
        threshold = np.partition(scores, len(scores) - count)[len(scores) - count]
        above = np.flatnonzero(scores > threshold)
        level = np.flatnonzero(scores == threshold)[: count - len(above)]
        ids = np.concatenate([above, level])
    else:
        ids = np.arange(len(scores))
    ids = ids[scores[ids] > -np.inf]
    return ids[np.lexsort((ids, -scores[ids]))].astype(np.int64)


def affordable(ranked: IntArray, cost: FloatArray, budget: float) -> IntArray:
    """The head of a ranking whose costs together fit the budget."""
    spent = np.cumsum(cost[ranked])
    return ranked[: int(np.searchsorted(spent, budget + ROUNDING, side="right"))]


@njit(cache=True)
def _few(
    ids: IntArray,
    scores: FloatArray,
    cost: FloatArray,
    group: IntArray,
    budget: float,
    cheapest: float,
    most: int,
) -> tuple[IntArray, float, float]:
    """`spend` for at most a few: places of those taken, the last score taken, and the one at which it ended."""
    taken, count, lowest, end, spent = np.empty(most, np.int64), 0, np.inf, np.inf, 0.0
    while count < most and budget - spent + ROUNDING >= cheapest:
        best = -1
        for j in range(len(ids)):
            if not scores[j] > 0.0 or (best >= 0 and scores[j] < scores[best]):
                continue
            if best >= 0 and scores[j] == scores[best] and ids[j] > ids[best]:
                continue
            fresh = True
            for t in range(count):
                if taken[t] == j or (len(group) > 0 and group[taken[t]] == group[j]):
                    fresh = False
            if fresh:
                best = j
        if best < 0:
            return taken[:count], lowest, -np.inf
        end = scores[best]
        if spent + cost[best] > budget + ROUNDING:
            break
        spent += cost[best]
        lowest = end
        taken[count] = best
        count += 1
    if count == len(ids) and budget - spent + ROUNDING >= cheapest:
        end = -np.inf
    return taken[:count], lowest, end


def spend(
    ids: IntArray,
    scores: FloatArray,
    cost: FloatArray,
    group: IntArray | None,
    budget: float,
    cheapest: float,
) -> tuple[IntArray, float, float]:
    """Down a ranking of some targets, one per group, as far as the budget goes.

    `scores`, `cost` and `group` are one per id named; those with a score of 0 or less, or NaN, are not taken. Also the
    score of the last one taken (inf if none was), and the score at which the ranking was left: that of the last one
    taken or of the first that did not fit, -inf if all were taken and more could have been.
    """
    count = int(min(len(ids), max((budget + ROUNDING) // cheapest, 0.0)))
    hosts = _NO_GROUPS if group is None else group
    if count <= FEW // 4:
        taken, lowest, end = _few(ids, scores, cost, hosts, budget, cheapest, count)
        return ids[taken], lowest, end
    wanted = np.where(scores > 0.0, scores, -np.inf)
    order = np.argsort(ids)
    ids, wanted, cost = ids[order], wanted[order], cost[order]
    if group is not None:
        group, count = group[order], min(len(ids), 4 * count + FEW)
    while True:
        ranked = top(wanted, count)
        several = ranked if group is None else first_of_each(ranked, group)
        taken = affordable(several, cost, budget)
        lowest = float(wanted[taken[-1]]) if len(taken) else np.inf
        if len(taken) < len(several):
            return ids[taken], lowest, float(wanted[several[len(taken)]])
        if budget - float(cost[taken].sum()) + ROUNDING < cheapest:
            return ids[taken], lowest, lowest
        if len(ranked) < count or count == len(ids):
            return ids[taken], lowest, -np.inf
        count = min(4 * count, len(ids))


def first_of_each(ranked: IntArray, groups: IntArray) -> IntArray:
    """The ranking with all but the best target of each group struck out."""
    _, first = np.unique(groups[ranked], return_index=True)
    return ranked[np.sort(first)]


def smoothed_price(price: float, lowest: float) -> float:
    """The price after a choice whose last one had this index; NaN is a price not known yet."""
    return price + SMOOTHING * (lowest - price) if math.isfinite(price) else lowest
