"""One look at everybody awake in a ward: who is a candidate now, who may sleep again, who waits for their host.

A candidate is bright (index at or above the mark, and above 0) or overdue (`max_age` has passed). Only candidates can
be chosen: whoever is dim, awake or asleep, ranks below every bright source.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.compiled_code import njit
from recrawl.scheduling.chains import drain
from recrawl.scheduling.compiled import inner
from recrawl.scheduling.prefetch import prefetch
from recrawl.scheduling.ranking import bring_first
from recrawl.scheduling.state import (
    ARRIVALS,
    AWAKE,
    CROWD,
    CROWDS,
    LABOUR,
    MARK,
    NOT_BEFORE,
    POOL,
    ROSE,
    SHELF,
    STEEPNESS,
    TICK,
    TIMER,
    WAITING,
    WARD,
    WIDTH,
    Chains,
    Float64Array,
    HostColumns,
    Int64Array,
    SourceRecords,
    Wards,
)
from recrawl.scheduling.timing_wheel import (
    CAUTION,
    arrive,
    bed_of,
    due_at,
    go_to,
    group_of,
    index_now,
    put_to_bed,
    set_timer,
    slot_after,
    stay,
    tune,
)

# A dim source that could not sleep is tried again every so many surveys.
RETRY = 15
SAMPLE = 1 << 17
# So many sources ahead of the one looked at are asked for.
AHEAD = 16
# So many sources of one host awake at once make a crowd.
CROWDED = 32
# A ward with more than this many times the sources it wants awake has its mark raised by a sample.
OVERFULL = 2

Candidates = tuple[Int64Array, Float64Array, int, Int64Array, Float64Array, int]


@njit(cache=True)
def raise_mark(catalogue: SourceRecords, wards: Wards, ward: int, ids: Int64Array, keep: int, now: float) -> None:
    """Raise the mark of an overfull ward so that about `keep` of `ids` stay bright, judging by a sample."""
    step = max(1, len(ids) // SAMPLE)
    sample = ids[::step].copy()
    index = np.empty(len(sample))
    for k in range(len(sample)):
        index[k] = index_now(catalogue, sample[k], now)
    rank = max(keep * len(sample) // max(len(ids), 1), 1)
    bring_first(index, sample, 0, len(sample), rank)
    if index[rank - 1] > wards.dial[ward, MARK]:
        wards.dial[ward, MARK] = index[rank - 1]
        wards.knob[ward, ROSE] = 1
    if wards.dial[ward, WIDTH] <= 0.0 and wards.dial[ward, MARK] > 0.0:
        tune(catalogue, wards, ward, sample, now)


@inner
def note_crowd(chains: Chains, hosts: HostColumns, group: int, awake: int) -> None:
    """Remember that a group has so many sources awake that it should get a ward of its own."""
    if awake == CROWDED and hosts.table[group, WARD] == 0 and chains.ledger[CROWDS] < len(hosts.until):
        hosts.table[chains.ledger[CROWDS], CROWD] = group
        chains.ledger[CROWDS] += 1


@inner
def _wait_for_host(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, source: int, now: float
) -> None:
    """Set a candidate of a held host aside until the hold ends; keep it awake if that is within a slot."""
    group = group_of(catalogue, source)
    if slot_after(wards, 0, now, hosts.until[group] - now) < 0:
        stay(catalogue, chains, wards, 0, source)
        return
    go_to(catalogue, chains, source, hosts.table[group, SHELF])
    hosts.table[group, WAITING] += 1
    note_crowd(chains, hosts, group, hosts.table[group, WAITING])
    if hosts.table[group, TIMER] < 0:
        # a timer that is set rings no later than the hold ends: whoever changes the hold sees to that
        set_timer(catalogue, chains, wards, hosts, group, now)


@njit(cache=True)
def gathered(chains: Chains, wards: Wards, ward: int) -> tuple[Int64Array, int]:
    """Everybody awake, those who stayed awake first, and how many these are."""
    ids = np.empty(wards.knob[ward, AWAKE], np.int64)
    stayed = drain(chains, wards.knob[ward, POOL], ids, 0)
    drain(chains, wards.knob[ward, ARRIVALS], ids, stayed)
    wards.knob[ward, AWAKE] = 0
    return ids, stayed


@inner
def _look(
    catalogue: SourceRecords,
    chains: Chains,
    wards: Wards,
    hosts: HostColumns,
    ward: int,
    now: float,
    ids: Int64Array,
    stayed: int,
    found: Int64Array,
    index: Float64Array,
    late: Int64Array,
    due: Float64Array,
    beds: Int64Array,
) -> tuple[int, int]:
    """Send everybody in `ids` where they belong; how many were bright and how many overdue.

    Those who go to sleep are gathered at the front of `ids`, their chains in `beds`.
    """
    pool, mark, width = wards.knob[ward, POOL], wards.dial[ward, MARK], wards.dial[ward, WIDTH]
    sleepy = mark * CAUTION * math.exp(-wards.dial[ward, STEEPNESS] * width) if width > 0.0 else 0.0
    everyone = wards.knob[ward, ROSE] == 1
    wards.knob[ward, ROSE] = 0
    chains.ledger[TICK] += 1
    tick = chains.ledger[TICK]
    hosted = ward == 0 and len(catalogue.group) > 0
    bright = overdue = asleep = 0
    for k in range(len(ids)):
        source, later = ids[k], ids[min(k + AHEAD, len(ids) - 1)]
        prefetch(catalogue.record, later)
        prefetch(catalogue.place, later)
        if catalogue.place[source] != pool:
            continue
        if hosted and hosts.table[group_of(catalogue, source), WARD] > 0:
            arrive(catalogue, chains, wards, hosts.table[group_of(catalogue, source), WARD], source)
            continue
        not_before = catalogue.record[source, NOT_BEFORE]
        if not_before > now:
            ids[asleep], beds[asleep] = source, slot_after(wards, ward, now, not_before - now)
            asleep += 1
            continue
        merit = index_now(catalogue, source, now)
        deadline = due_at(catalogue, source)
        if deadline > now and not (merit >= mark and merit > 0.0):
            if (merit < sleepy or merit == 0.0) and (everyone or k >= stayed or (source + tick) & RETRY == 0):
                ids[asleep], beds[asleep] = source, bed_of(catalogue, wards, ward, source, now, merit)
                asleep += 1
            else:
                stay(catalogue, chains, wards, ward, source)
        elif hosted and hosts.until[group_of(catalogue, source)] > now:
            _wait_for_host(catalogue, chains, wards, hosts, source, now)
        elif deadline <= now:
            late[overdue], due[overdue] = source, deadline
            overdue += 1
        else:
            found[bright], index[bright] = source, merit
            bright += 1
    put_to_bed(catalogue, chains, wards, ward, ids, beds, asleep)
    return bright, overdue


@njit(cache=True)
def survey(
    catalogue: SourceRecords,
    chains: Chains,
    wards: Wards,
    hosts: HostColumns,
    ward: int,
    now: float,
    keep: int,
    may_raise: bool,
) -> Candidates:
    """Look at everybody awake; candidates leave the pool and are returned, overdue ones apart with their due time.

    About `keep` bright sources are wanted; with `may_raise` the mark may be raised to that end. The arrays returned
    have room for the best of every other ward.
    """
    ids, stayed = gathered(chains, wards, ward)
    if may_raise and len(ids) > OVERFULL * keep:
        raise_mark(catalogue, wards, ward, ids, keep, now)
    wards.knob[ward, LABOUR] += max(0, len(ids) - OVERFULL * keep) // 8
    room = len(ids) + len(wards.dial)
    found, index = np.empty(room, np.int64), np.empty(room, np.float64)
    late, due = np.empty(room, np.int64), np.empty(room, np.float64)
    beds = np.empty(len(ids), np.int64)
    bright, overdue = _look(catalogue, chains, wards, hosts, ward, now, ids, stayed, found, index, late, due, beds)
    return found, index, bright, late, due, overdue
