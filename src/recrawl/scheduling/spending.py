"""The top of a ranking that a budget can pay for.

Ties go to the lowest id, so that a choice depends on scores alone. With unequal costs the rule is: go down the
ranking, stop at the first that does not fit, keep the rest of the budget.
"""

from __future__ import annotations

import numpy as np

from recrawl.records import FloatArray, IntArray

# Budgets are sums of fractions: a balance this much short of a cost still pays for it.
ROUNDING = 1e-9


def top(scores: FloatArray, count: int) -> IntArray:
    """The ids of the `count` largest scores above −inf, largest first, ties by id.

    >>> top(np.array([1.0, 3.0, 3.0, -np.inf]), 2).tolist()
    [1, 2]
    """
    if count <= 0:
        return np.empty(0, np.int64)
    if count == 1:
        best = np.argmax(scores)
        return np.array([best] if scores[best] > -np.inf else [], dtype=np.int64)
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


def first_of_each(ranked: IntArray, groups: IntArray) -> IntArray:
    """The ranking with all but the best target of each group struck out."""
    _, first = np.unique(groups[ranked], return_index=True)
    return ranked[np.sort(first)]
