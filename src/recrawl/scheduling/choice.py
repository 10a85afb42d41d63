"""One call of the calendar: the first of the ranking, as far as the budget goes, and the mark for next time.

The ranking: overdue sources first, the longest overdue first; then by index. Equal indices go to the lower id. With
groups, a group whose best has been taken is skipped. The walk stops at the first source that does not fit.

The result is exact because every source that is not a candidate ranks below every candidate: sleepers by the wheel's
promise, newcomers by the heap. If candidates run out before the budget does, more newcomers are fed, then the mark is
lowered, and the call looks again; with the mark at 0 everybody with a positive index is a candidate.

Afterwards the mark is moved so that next time about three calls' worth of candidates are left over: down by letting
the clock run ahead, up by naming a higher mark, which puts the surplus to sleep in the next survey.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.compiled_code import njit
from recrawl.scheduling.candidate_scan import Candidates, note_crowd, survey
from recrawl.scheduling.compiled import inlined, inner
from recrawl.scheduling.newcomer_heap import feed, first_newcomer, wanted
from recrawl.scheduling.ranking import bring_first, precedes, put_in_order
from recrawl.scheduling.state import (
    AHEAD,
    AWAKE,
    BEST,
    COUNT,
    DEMAND,
    GROUP,
    LABOUR,
    LAST,
    LATEST,
    LOWEST,
    MARK,
    NOW,
    POOL,
    ROSE,
    SLOTS,
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
    COARSE_SHARE,
    COARSENESS,
    bed_of,
    cost_of,
    due_at,
    group_of,
    index_now,
    lower_mark,
    put_to_bed,
    stay,
    turn,
)

# Budgets are sums of costs in floating point; what exceeds them by less than this, relatively, still fits.
FITS = 1.0 + 1e-12
USED = -2
# A ward of one host aims at so many candidates.
HOST_KEEP = 8
# Calls over which the demand is smoothed.
DEMAND_MEMORY = 32.0


@inlined
def ward_of(catalogue: SourceRecords, wards: Wards, hosts: HostColumns, source: int) -> int:
    """The ward in whose pool a source is."""
    if len(catalogue.group) == 0:
        return 0
    ward = hosts.table[group_of(catalogue, source), WARD]
    return ward if catalogue.place[source] == wards.knob[ward, POOL] else 0


@inner
def _give_back(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, ids: Int64Array, low: int, high: int
) -> None:
    for k in range(low, high):
        stay(catalogue, chains, wards, ward_of(catalogue, wards, hosts, ids[k]), ids[k])


@njit(cache=True)
def _order_overdue(catalogue: SourceRecords, late: Int64Array, due: Float64Array, count: int, now: float) -> None:
    """Sort by due time, then by rank."""
    key = -due[:count]
    put_in_order(key, late, 0, count)
    start = 0
    while start < count:
        end = start + 1
        while end < count and key[end] == key[start]:
            end += 1
        if end - start > 1:
            index = np.empty(end - start)
            for k in range(start, end):
                index[k - start] = index_now(catalogue, late[k], now)
            put_in_order(index, late[start:end], 0, end - start)
        start = end
    due[:count] = -key


@inner
def _champions(
    catalogue: SourceRecords,
    chains: Chains,
    wards: Wards,
    hosts: HostColumns,
    ids: Int64Array,
    index: Float64Array,
    count: int,
) -> int:
    """Bring each group's best to the front and give the others back; how many groups there are."""
    for k in range(count):
        group = group_of(catalogue, ids[k])
        hosts.table[group, COUNT] += 1
        note_crowd(chains, hosts, group, hosts.table[group, COUNT])
        best = hosts.table[group, BEST]
        if best == USED:
            continue
        if best < 0 or precedes(index[k], ids[k], index[best], ids[best]):
            hosts.table[group, BEST] = k
    front = 0
    for k in range(count):
        source, merit = ids[k], index[k]
        group = group_of(catalogue, source)
        hosts.table[group, COUNT] = 0
        if hosts.table[group, BEST] == k:
            # positions before k are done, so what stands at `front` has been dealt with
            hosts.table[group, BEST] = -1
            ids[front], index[front] = source, merit
            front += 1
        else:
            stay(catalogue, chains, wards, ward_of(catalogue, wards, hosts, source), source)
    return front


@inner
def _lower_by_need(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, ward: int, ahead: float, floor: float
) -> None:
    """Lower a mark because candidates ran out, to `floor` at most; to 0, waking everybody, once the ring is round."""
    dial, knob = wards.dial[ward], wards.knob[ward]
    if dial[WIDTH] <= 0.0 or not ahead < knob[SLOTS] * dial[WIDTH]:
        if dial[WIDTH] > 0.0:
            dial[AHEAD] += (knob[SLOTS] // COARSE_SHARE + 1) * COARSENESS * dial[WIDTH] + knob[SLOTS] * dial[WIDTH]
        dial[MARK] = 0.0
    else:
        lower_mark(wards, ward, ahead)
    if dial[MARK] < floor:
        # the clock ran further than it had to: harmless, and the promise holds for the higher mark too
        dial[MARK] = floor
    turn(catalogue, chains, wards, hosts, ward, dial[NOW])


@inner
def _govern(wards: Wards, ward: int, ids: Int64Array, index: Float64Array, low: int, high: int, elapsed: float) -> None:
    """Move the mark so that about the right number of candidates is left over; [low, high) are those left now.

    The mark of a host's ward need not be below that of ward 0.
    """
    dial, knob = wards.dial[ward], wards.knob[ward]
    left, want = high - low, 3.0 * dial[DEMAND] + HOST_KEEP
    if dial[WIDTH] <= 0.0 or dial[MARK] <= 0.0:
        return
    if left < 0.7 * want:
        if ward > 0 and dial[MARK] <= wards.dial[0, MARK]:
            return
        lower_mark(wards, ward, 2.0 * max(elapsed, 0.0) * (want - left) / want)
    elif left > want and knob[AWAKE] > 1.3 * want + HOST_KEEP:
        keep = int(want)
        bring_first(index, ids, low, high, keep)
        if index[low + keep - 1] > dial[MARK]:
            dial[MARK] = index[low + keep - 1]
            knob[ROSE] = 1


@njit(cache=True)
def _ward_candidates(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, ward: int, now: float
) -> Candidates:
    """The candidates of one host's ward, lowering its mark, if need be, as far as that of ward 0."""
    turn(catalogue, chains, wards, hosts, ward, now)
    ahead = max(now - wards.dial[ward, LATEST], wards.dial[ward, WIDTH])
    may_raise = True
    while True:
        seen = survey(catalogue, chains, wards, hosts, ward, now, HOST_KEEP, may_raise)
        if seen[2] + seen[5] > 0 or wards.dial[ward, MARK] <= wards.dial[0, MARK]:
            return seen
        may_raise = False
        _lower_by_need(catalogue, chains, wards, hosts, ward, ahead, wards.dial[0, MARK])
        ahead = max(2.0 * ahead, wards.dial[ward, WIDTH])


@njit(cache=True)
def _visit_wards(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, now: float, candidates: Candidates
) -> Candidates:
    """Add the best of every host that has a ward of its own."""
    found, index, bright, late, due, overdue = candidates
    for ward in range(1, len(wards.dial)):
        held = hosts.until[wards.knob[ward, GROUP]] > now
        turn(catalogue, chains, wards, hosts, ward, now)
        if wards.dial[ward, MARK] < wards.dial[0, MARK]:
            # below the mark of ward 0 nobody can be a candidate
            wards.dial[ward, MARK] = wards.dial[0, MARK]
            wards.knob[ward, ROSE] = 1
        if wards.knob[ward, AWAKE] == 0 and wards.dial[ward, MARK] == wards.dial[0, MARK]:
            continue
        if held and wards.knob[ward, AWAKE] < 16 * HOST_KEEP:
            continue
        ids, merit, count, tardy, deadline, tardies = _ward_candidates(catalogue, chains, wards, hosts, ward, now)
        elapsed = now - wards.dial[ward, LATEST]
        wards.dial[ward, LATEST] = now
        first = 0
        if tardies > 0:
            _order_overdue(catalogue, tardy, deadline, tardies, now)
            if not held:
                late[overdue], due[overdue] = tardy[0], deadline[0]
                overdue += 1
            _give_back(catalogue, chains, wards, hosts, tardy, 0 if held else 1, tardies)
        elif count > 0 and not held:
            bring_first(merit, ids, 0, count, 1)
            found[bright], index[bright] = ids[0], merit[0]
            bright += 1
            first = 1
        _give_back(catalogue, chains, wards, hosts, ids, first, count)
        _govern(wards, ward, ids, merit, first, count, elapsed)
    return found, index, bright, late, due, overdue


@inner
def _take_overdue(
    catalogue: SourceRecords, hosts: HostColumns, late: Int64Array, count: int, budget: float
) -> tuple[int, float, int]:
    """Walk down the overdue, bringing those taken to the front; how many, what they cost, who did not fit, or -1."""
    taken, spent = 0, 0.0
    for k in range(count):
        source = late[k]
        if len(catalogue.group) > 0 and hosts.table[group_of(catalogue, source), BEST] == USED:
            continue
        cost = cost_of(catalogue, source)
        if spent + cost > budget * FITS:
            return taken, spent, source
        spent += cost
        if len(catalogue.group) > 0:
            hosts.table[group_of(catalogue, source), BEST] = USED
        # keep the order of those passed over: they only go back to the pool
        late[k] = late[taken]
        late[taken] = source
        taken += 1
    return taken, spent, -1


@njit(cache=True)
def _take_ranked(
    catalogue: SourceRecords, ids: Int64Array, index: Float64Array, count: int, spent: float, budget: float, guess: int
) -> tuple[int, float, int]:
    """Walk down the ranking, those taken at the front and in order; how many, spent so far, who did not fit, or -1."""
    sorted_to, taken = 0, 0
    while True:
        upto = min(count, max(guess, 1))
        bring_first(index, ids, sorted_to, count, upto - sorted_to)
        put_in_order(index, ids, sorted_to, upto)
        sorted_to = upto
        while taken < sorted_to:
            cost = cost_of(catalogue, ids[taken])
            if spent + cost > budget * FITS:
                return taken, spent, ids[taken]
            spent += cost
            taken += 1
        if taken == count:
            return taken, spent, -1
        guess = 2 * guess + 16


@inner
def _newcomer_first(catalogue: SourceRecords, newcomer: int, last: int, now: float) -> bool:
    """Whether a newcomer still in the heap ranks above the last source looked at: taken, or the one that did not fit.

    Whoever did not fit ends the walk, so those before it must all be known.
    """
    if last < 0:
        return True
    merit, other = index_now(catalogue, newcomer, now), index_now(catalogue, last, now)
    due = due_at(catalogue, last)
    if due_at(catalogue, newcomer) < math.inf:
        return due > now or due > -math.inf or precedes(merit, newcomer, other, last)
    return due > now and precedes(merit, newcomer, other, last)


@inner
def _likely(catalogue: SourceRecords, wards: Wards, newcomer: int) -> bool:
    """Whether a newcomer would have been taken in the latest call."""
    if newcomer < 0:
        return False
    return due_at(catalogue, newcomer) < math.inf or index_now(catalogue, newcomer, 0.0) >= wards.dial[0, LOWEST]


@inner
def _mark_crawled(
    catalogue: SourceRecords,
    chains: Chains,
    wards: Wards,
    hosts: HostColumns,
    picked: Int64Array,
    beds: Int64Array,
    now: float,
) -> None:
    for k in range(len(picked)):
        source = picked[k]
        ward = ward_of(catalogue, wards, hosts, source)
        catalogue.record[source, LAST] = now
        beds[k] = bed_of(catalogue, wards, ward, source, now, 0.0)
        if beds[k] < 0 and ward > 0:
            beds[k] = wards.knob[ward, POOL]
            wards.knob[ward, AWAKE] += 1
    put_to_bed(catalogue, chains, wards, 0, picked, beds, len(picked))


@inner
def _prepare_next(
    wards: Wards, picked: int, lowest: float, ids: Int64Array, index: Float64Array, taken: int, count: int, now: float
) -> None:
    """Note what the call took, and move the mark for the next one."""
    dial = wards.dial[0]
    if lowest < math.inf:
        dial[LOWEST] = lowest
    if dial[DEMAND] <= 0.0:
        dial[DEMAND] = picked
    dial[DEMAND] += (picked - dial[DEMAND]) / DEMAND_MEMORY
    _govern(wards, 0, ids, index, taken, count, now - dial[LATEST])
    dial[LATEST] = now
    wards.knob[0, LABOUR] = max(0, wards.knob[0, LABOUR] - 6 * picked)


@njit(cache=True)
def choose(
    catalogue: SourceRecords,
    chains: Chains,
    wards: Wards,
    hosts: HostColumns,
    now: float,
    budget: float,
    guess: int,
    cheapest: float,
) -> tuple[Int64Array, float]:
    """Choose at `now`, mark the chosen as crawled, and prepare the next call; also the last index, inf for none.

    `guess` is about how many it may be; no source costs less than `cheapest`.
    """
    dial = wards.dial[0]
    hosted = len(catalogue.group) > 0
    keep = 4 * guess + 2 * HOST_KEEP
    ahead = max(now - dial[LATEST], dial[WIDTH])
    may_raise = True
    turn(catalogue, chains, wards, hosts, 0, now)
    quota = guess if _likely(catalogue, wards, first_newcomer(catalogue, chains)) else 0
    while True:
        feed(catalogue, chains, wards, quota)
        candidates = survey(catalogue, chains, wards, hosts, 0, now, keep, may_raise)
        ids, index, count, late, due, overdue = _visit_wards(catalogue, chains, wards, hosts, now, candidates)
        may_raise = False
        _order_overdue(catalogue, late, due, overdue, now)
        first, spent, misfit = _take_overdue(catalogue, hosts, late, overdue, budget)
        if hosted:
            count = _champions(catalogue, chains, wards, hosts, ids, index, count)
            for k in range(first):
                hosts.table[group_of(catalogue, late[k]), BEST] = -1
        taken = 0
        if misfit < 0:
            taken, spent, misfit = _take_ranked(catalogue, ids, index, count, spent, budget, guess - first)
        full = misfit >= 0 or spent + cheapest > budget * FITS
        newcomer = first_newcomer(catalogue, chains)
        last = ids[taken - 1] if taken > 0 else (late[first - 1] if first > 0 else -1)
        last = misfit if misfit >= 0 else last
        more = wanted(catalogue, wards, newcomer) and not (full and not _newcomer_first(catalogue, newcomer, last, now))
        if (full or dial[MARK] <= 0.0) and not more:
            break
        _give_back(catalogue, chains, wards, hosts, late, 0, overdue)
        _give_back(catalogue, chains, wards, hosts, ids, 0, count)
        if more:
            quota = 2 * quota + guess + 1
        else:
            quota = 0
            _lower_by_need(catalogue, chains, wards, hosts, 0, ahead, 0.0)
            ahead = max(2.0 * ahead, dial[WIDTH])
    _give_back(catalogue, chains, wards, hosts, late, first, overdue)
    _give_back(catalogue, chains, wards, hosts, ids, taken, count)
    picked = np.concatenate((late[:first], ids[:taken]))
    lowest = index[taken - 1] if taken > 0 else math.inf
    _mark_crawled(catalogue, chains, wards, hosts, picked, np.empty(len(picked), np.int64), now)
    _prepare_next(wards, len(picked), lowest, ids, index, taken, count, now)
    return picked, lowest
