"""What the caller changes between calls: beliefs, crawls of its own, delays, holds, arrivals and departures.

Each costs a constant time per source or group named. A change that lets a source sleep longer is only written down:
it wakes at the old time, and the next survey puts it back to sleep.
"""

from __future__ import annotations

import math

from recrawl.compiled_code import njit
from recrawl.scheduling.compiled import inner
from recrawl.scheduling.newcomer_heap import enrol
from recrawl.scheduling.state import (
    GONE,
    LAST,
    NEWCOMER,
    NOT_BEFORE,
    NOW,
    RATE,
    TIMER,
    VALUE,
    WARD,
    Chains,
    Float64Array,
    HostColumns,
    Int64Array,
    SourceRecords,
    Wards,
)
from recrawl.scheduling.timing_wheel import arrive, group_of, release, set_timer, sleeps_in, touch


@inner
def _reconsider(catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, source: int) -> None:
    if catalogue.place[source] == NEWCOMER:
        arrive(catalogue, chains, wards, 0, source)
        return
    ward = hosts.table[group_of(catalogue, source), WARD] if len(catalogue.group) > 0 else 0
    if not sleeps_in(wards, ward, catalogue.place[source]):
        ward = 0
    touch(catalogue, chains, wards, source, ward)


@njit(cache=True)
def set_beliefs(
    catalogue: SourceRecords,
    chains: Chains,
    wards: Wards,
    hosts: HostColumns,
    ids: Int64Array,
    value: Float64Array,
    rate: Float64Array,
) -> None:
    """New value and rate for some sources."""
    for k in range(len(ids)):
        catalogue.record[ids[k], VALUE] = value[k]
        catalogue.record[ids[k], RATE] = rate[k]
        _reconsider(catalogue, chains, wards, hosts, ids[k])


@njit(cache=True)
def set_last(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, ids: Int64Array, at: Float64Array
) -> None:
    """New last crawl for some sources."""
    for k in range(len(ids)):
        catalogue.record[ids[k], LAST] = at[k]
        _reconsider(catalogue, chains, wards, hosts, ids[k])


@njit(cache=True)
def set_not_before(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, ids: Int64Array, until: Float64Array
) -> None:
    """Some sources may not be crawled before a time."""
    for k in range(len(ids)):
        earlier = until[k] < catalogue.record[ids[k], NOT_BEFORE]
        catalogue.record[ids[k], NOT_BEFORE] = until[k]
        if earlier:
            _reconsider(catalogue, chains, wards, hosts, ids[k])


@njit(cache=True)
def dismiss(catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, ids: Int64Array) -> None:
    """Some sources are gone; their entries are dropped where they are next read."""
    for source in ids:
        catalogue.place[source] = GONE
        catalogue.record[source, VALUE] = 0.0


@njit(cache=True)
def admit(catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, first: int, end: int) -> None:
    """Take in the sources first .. end - 1, whose records are written."""
    for source in range(first, end):
        if catalogue.record[source, LAST] == -math.inf:
            enrol(catalogue, chains, source)
        else:
            arrive(catalogue, chains, wards, 0, source)


@njit(cache=True)
def set_holds(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, groups: Int64Array, until: Float64Array
) -> None:
    """Hold some groups until a time, whatever was said before."""
    for k in range(len(groups)):
        group = groups[k]
        hosts.until[group] = until[k]
        if hosts.table[group, TIMER] >= 0:
            set_timer(catalogue, chains, wards, hosts, group, wards.dial[0, NOW])


@njit(cache=True)
def open_ward(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, group: int, ward: int
) -> None:
    """Give a group a ward of its own; sources that wait for the host move in at once, the others when they wake."""
    hosts.table[group, WARD] = ward
    release(catalogue, chains, wards, hosts, group)
