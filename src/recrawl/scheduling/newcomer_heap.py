"""Sources never crawled: a heap, because their index does not move.

A source that was never crawled is as ripe as it can be: its index is its ceiling, v/C (the largest double in the
quadratic form). A whole new catalogue is such sources, often with equal indices. They wait in a heap by rank and are
fed to the pool in that order, as many as a call may need. Sources with a `max_age` come first: never crawled, they
are overdue. The heap keeps its own keys, negative for overdue sources, so that a source whose beliefs change can
simply leave for the pool.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from recrawl.scheduling.compiled import inner
from recrawl.scheduling.ranking import precedes
from recrawl.scheduling.state import MARK, NEWCOMER, NEWCOMERS, Chains, SourceRecords, Wards
from recrawl.scheduling.timing_wheel import arrive, due_at, index_now


@inner
def _key(catalogue: SourceRecords, source: int) -> float:
    ceiling = index_now(catalogue, source, 0.0)
    return -ceiling if due_at(catalogue, source) < math.inf else ceiling


@inner
def _above(key: float, source: int, other_key: float, other: int) -> bool:
    overdue, other_overdue = math.copysign(1.0, key) < 0.0, math.copysign(1.0, other_key) < 0.0
    if overdue != other_overdue:
        return overdue
    return precedes(abs(key), source, abs(other_key), other)


@inner
def _sink(chains: Chains, hole: int) -> None:
    heap, keys, count = chains.newcomers, chains.ceilings, chains.ledger[NEWCOMERS]
    source, key = heap[hole], keys[hole]
    while True:
        child = 2 * hole + 1
        if child >= count:
            break
        if child + 1 < count and _above(keys[child + 1], heap[child + 1], keys[child], heap[child]):
            child += 1
        if not _above(keys[child], heap[child], key, source):
            break
        heap[hole], keys[hole] = heap[child], keys[child]
        hole = child
    heap[hole], keys[hole] = source, key


@inner
def enrol(catalogue: SourceRecords, chains: Chains, source: int) -> None:
    """Add one newcomer."""
    heap, keys, hole = chains.newcomers, chains.ceilings, chains.ledger[NEWCOMERS]
    chains.ledger[NEWCOMERS] += 1
    catalogue.place[source] = NEWCOMER
    key = _key(catalogue, source)
    while hole > 0:
        parent = (hole - 1) // 2
        if not _above(key, source, keys[parent], heap[parent]):
            break
        heap[hole], keys[hole] = heap[parent], keys[parent]
        hole = parent
    heap[hole], keys[hole] = source, key


@inner
def _drop_first(chains: Chains) -> None:
    chains.ledger[NEWCOMERS] -= 1
    count = chains.ledger[NEWCOMERS]
    if count > 0:
        chains.newcomers[0], chains.ceilings[0] = chains.newcomers[count], chains.ceilings[count]
        _sink(chains, 0)


@inner
def first_newcomer(catalogue: SourceRecords, chains: Chains) -> Any:
    """The newcomer that ranks first, or -1; forgets those that have left the heap."""
    while chains.ledger[NEWCOMERS] > 0 and catalogue.place[chains.newcomers[0]] != NEWCOMER:
        _drop_first(chains)
    return np.int64(chains.newcomers[0]) if chains.ledger[NEWCOMERS] > 0 else -1


@inner
def wanted(catalogue: SourceRecords, wards: Wards, source: int) -> bool:
    """Whether a newcomer could be chosen before the sleeping sources of ward 0."""
    if source < 0:
        return False
    index = index_now(catalogue, source, 0.0)
    return due_at(catalogue, source) < math.inf or (index > 0.0 and index >= wards.dial[0, MARK])


@inner
def feed(catalogue: SourceRecords, chains: Chains, wards: Wards, most: int) -> None:
    """Wake the first newcomers, at most `most`, as long as they could be chosen."""
    for _ in range(most):
        source = first_newcomer(catalogue, chains)
        if not wanted(catalogue, wards, source):
            return
        _drop_first(chains)
        arrive(catalogue, chains, wards, 0, source)
