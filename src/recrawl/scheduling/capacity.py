"""Room: how large the calendar's arrays must be before compiled code may run, computed in one place.

Compiled code cannot make its arrays longer, and does not check where it writes. So no compiled function is called that
might write more than there is room for; :func:`chains_for` is asked before every single one, and counts whatever could
stand in chains by the time it returns:

- entries that stand in chains already, stale ones included;
- every newcomer in the heap: any call may feed all of them to the pool;
- one timer per group: a group has at most one that counts, and another is set only after that one was read;
- one entry for every source or group the call names (`more`): an amendment appends each at most once.

Everything else that is appended was read from a chain before. All blocks but the first of a chain are full, hence
``entries / 15`` blocks and one per chain, and those still being read while their members are appended elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.scheduling.chains import MEMBERS
from recrawl.scheduling.state import (
    ARRIVALS,
    BEST,
    DIALS,
    ENTRIES,
    FIRST_SLOT,
    GROUP,
    HEAD,
    KNOBS,
    LATEST,
    NEWCOMERS,
    NOW,
    POOL,
    SHELF,
    SLOTS,
    TIMER,
    Chains,
    HostColumns,
    SourceRecords,
    Wards,
)
from recrawl.scheduling.timing_wheel import beds

# A slot that is read may ring a timer, which reads a shelf: two chains at a time, each with a block that counts twice
# until it is freed, and a first block that is part empty.
WALKED = 2 * 2
# Bytes that a processor takes from memory at once.
LINE = 64


def generous(needed: int, present: int) -> int:
    """How long to make an array that is too short: at least by a quarter, so that growing is rare."""
    return max(needed, present + present // 4)


def catalogue_for(catalogue: SourceRecords, size: int, grouped: bool) -> SourceRecords:
    """Room for `size` sources."""
    capacity = len(catalogue.place)
    if size <= capacity:
        return catalogue
    wanted = generous(size, capacity)
    return SourceRecords(
        record=extended(catalogue.record, wanted),
        place=extended(catalogue.place, wanted),
        cost=extended(catalogue.cost, wanted) if len(catalogue.cost) > 1 else catalogue.cost,
        max_age=extended(catalogue.max_age, wanted) if len(catalogue.max_age) > 1 else catalogue.max_age,
        group=extended(catalogue.group, wanted) if grouped else catalogue.group,
    )


def chains_for(chains: Chains, groups: int, more: int, enrolled: int) -> Chains:
    """Room for any one compiled call that names `more` sources or groups: in the blocks, and in the newcomers' heap.

    So many of them, `enrolled`, are sources never crawled that join the heap.
    """
    newcomers = int(chains.ledger[NEWCOMERS]) + enrolled
    entries = int(chains.ledger[ENTRIES]) + int(chains.ledger[NEWCOMERS]) + more + groups
    blocks = -(-entries // MEMBERS) + len(chains.heads) + WALKED
    if newcomers > len(chains.newcomers):
        size = generous(newcomers, len(chains.newcomers))
        chains = chains._replace(newcomers=extended(chains.newcomers, size), ceilings=extended(chains.ceilings, size))
    if blocks > len(chains.blocks):
        chains = chains._replace(blocks=extended(chains.blocks, generous(blocks, len(chains.blocks))))
    return chains


def hosts_for(chains: Chains, hosts: HostColumns, groups: int) -> tuple[Chains, HostColumns]:
    """A row and a shelf for every group below `groups`."""
    known = len(hosts.until)
    if groups <= known:
        return chains, hosts
    size = generous(groups, known)
    first = len(chains.heads)
    table = extended(hosts.table, size, 0)
    table[known:, [TIMER, BEST]] = -1
    table[known:, SHELF] = np.arange(first, first + size - known)
    return more_chains(chains, size - known), HostColumns(until=extended(hosts.until, size, -math.inf), table=table)


def more_chains(chains: Chains, count: int) -> Chains:
    """With so many empty chains added after the others."""
    first = len(chains.heads)
    chains = chains._replace(heads=extended(chains.heads, first + count, 0))
    chains.heads[first:, HEAD] = -1
    return chains


def another_ward(chains: Chains, wards: Wards, slots: int, group: int) -> tuple[Chains, Wards]:
    """With an empty ward added after the others."""
    first = len(chains.heads)
    dial, knob = np.zeros((1, DIALS)), np.zeros((1, KNOBS), np.int64)
    if len(wards.dial):
        dial[0, [NOW, LATEST]] = wards.dial[0, [NOW, LATEST]]
    knob[0, [POOL, ARRIVALS, FIRST_SLOT, SLOTS, GROUP]] = first, first + 1, first + 2, slots, group
    added = Wards(np.append(wards.dial, dial, axis=0), np.append(wards.knob, knob, axis=0))
    return more_chains(chains, 2 + beds(slots)), added


def extended(array: npt.NDArray[Any], size: int, fill: float | None = None) -> npt.NDArray[Any]:
    """A longer copy; what is added is `fill`, or whatever was in memory."""
    longer = _on_lines((size, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    if fill is not None:
        longer[len(array) :] = fill
    return longer


def _on_lines(shape: tuple[int, ...], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """An array that starts where a line of the cache does, so that no record or block lies across two."""
    size = math.prod(shape) * kind.itemsize
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(kind).reshape(shape)
