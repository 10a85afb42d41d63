"""The ranking: by index, highest first; equal indices by id, lowest first. A total order, so every choice is unique.

Candidates stand in two parallel arrays that are rearranged together.
"""

from __future__ import annotations

import numpy as np

from recrawl.compiled_code import njit
from recrawl.scheduling.compiled import inner
from recrawl.scheduling.state import Float64Array, Int64Array

SMALL = 16


@njit(cache=True)
def precedes(index: float, source: int, other_index: float, other: int) -> bool:
    """Whether the first candidate ranks above the second."""
    return index > other_index or (index == other_index and source < other)


@inner
def _swap(index: Float64Array, ids: Int64Array, a: int, b: int) -> None:
    index[a], index[b] = index[b], index[a]
    ids[a], ids[b] = ids[b], ids[a]


@inner
def _pivot(index: Float64Array, ids: Int64Array, low: int, high: int) -> None:
    """Put the median of three at `low`."""
    middle, last = (low + high) // 2, high - 1
    if precedes(index[middle], ids[middle], index[low], ids[low]):
        _swap(index, ids, middle, low)
    if precedes(index[last], ids[last], index[low], ids[low]):
        _swap(index, ids, last, low)
    # low now ranks first of the three; the better of the other two is the median
    best = middle if precedes(index[middle], ids[middle], index[last], ids[last]) else last
    _swap(index, ids, best, low)


@inner
def _split(index: Float64Array, ids: Int64Array, low: int, high: int) -> int:
    """Partition [low, high) around a pivot; the pivot's final position."""
    _pivot(index, ids, low, high)
    key, source = index[low], ids[low]
    left, right = low + 1, high - 1
    while True:
        while left <= right and precedes(index[left], ids[left], key, source):
            left += 1
        while left <= right and precedes(key, source, index[right], ids[right]):
            right -= 1
        if left >= right:
            break
        _swap(index, ids, left, right)
        left += 1
        right -= 1
    _swap(index, ids, low, right)
    return right


@inner
def _insertion(index: Float64Array, ids: Int64Array, low: int, high: int) -> None:
    for k in range(low + 1, high):
        key, source, j = index[k], ids[k], k
        while j > low and precedes(key, source, index[j - 1], ids[j - 1]):
            index[j], ids[j] = index[j - 1], ids[j - 1]
            j -= 1
        index[j], ids[j] = key, source


@njit(cache=True)
def bring_first(index: Float64Array, ids: Int64Array, low: int, high: int, count: int) -> None:
    """Rearrange [low, high) so that its `count` best come first, in any order, the worst of them last."""
    target = low + count - 1
    if count <= 0 or target >= high:
        return
    while high - low > SMALL:
        middle = _split(index, ids, low, high)
        if middle == target:
            return
        if middle > target:
            high = middle
        else:
            low = middle + 1
    _insertion(index, ids, low, high)


@njit(cache=True)
def put_in_order(index: Float64Array, ids: Int64Array, low: int, high: int) -> None:
    """Sort [low, high) by rank: quicksort, the larger part set aside, so that 64 parts are always enough."""
    aside = np.empty((64, 2), np.int64)
    waiting = 0
    while True:
        while high - low > SMALL:
            middle = _split(index, ids, low, high)
            if middle - low < high - middle:
                aside[waiting, 0], aside[waiting, 1] = middle + 1, high
                high = middle
            else:
                aside[waiting, 0], aside[waiting, 1] = low, middle
                low = middle + 1
            waiting += 1
        _insertion(index, ids, low, high)
        if waiting == 0:
            return
        waiting -= 1
        low, high = aside[waiting, 0], aside[waiting, 1]
