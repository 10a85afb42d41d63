"""The timing wheel: who sleeps, for how long, and why nobody oversleeps.

A ward has a **mark**, a price below the lowest index it expects to need. A source whose index is below the mark
sleeps; the promise is that *every sleeping source has an index below the mark*, whatever the mark does meanwhile.
Waking early costs a second look, waking late would break the ranking, so all bounds below err early.

At a constant mark ℓ a source may sleep until its index crosses ℓ: the crossing age is known in closed form. But the
mark falls when the price does, and then it may not. So the wheel turns on a **clock** that runs with time and, when
the mark falls, runs ahead::

    clock = time + (sum of all falls of ln ℓ)/ρ

with one constant ρ, the ward's steepness. A nap of length S on this clock is safe if for every Δ in [0, S]::

    ln g(τ + Δ) < ln ℓ − ρ(S − Δ)

that is, if the index is still below the mark when Δ of the nap was time and the rest was falling. ln g is concave,
hence the longest safe nap is

- the time to the crossing, if ln g still grows at ρ or faster there;
- (ln ℓ − ln g(τ))/ρ, if it grows at ρ or slower already now;
- between the two, min(time to the crossing of hℓ, −ln h/ρ) is safe for every h < 1; h halves the distance.

So a fall of the mark turns the wheel a little faster instead of re-sorting it: work in proportion to the fall, and
none of it at once. When the mark rises nothing needs to be done: whoever wakes early goes back to sleep.

A source whose ceiling v/C is below the mark needs no clock at all: it can only matter once the mark has fallen to its
ceiling. It sleeps on a **ladder** of price levels, on the rung of its ceiling, and is woken when the mark comes down
to that rung. The ladder is a ring too: a rung also holds the sources of rungs a whole ladder lower, which then wake
early.

The wheel is a ring of fine slots and a ring of coarse ones for long naps. Who wakes in a coarse slot is looked at and
sleeps on in a fine one; who would sleep longer than both rings sleeps to the far end and is looked at again.

All of this is one file, because slots, rungs and naps keep one promise together, and the argument above is for all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from recrawl.compiled_code import njit
from recrawl.kernels.continuous_index import age_at_price, index_at_age
from recrawl.kernels.early_crossing import EASY, ripening_at_most
from recrawl.kernels.index_growth import growth_at_age
from recrawl.scheduling.chains import MEMBERS, next_block, push, unhook
from recrawl.scheduling.compiled import inlined, inner
from recrawl.scheduling.prefetch import prefetch
from recrawl.scheduling.state import (
    AHEAD,
    ARRIVALS,
    AWAKE,
    CURRENT,
    FILL,
    FIRST_SLOT,
    GONE,
    HEAD,
    LABOUR,
    LAST,
    MARK,
    NOT_BEFORE,
    NOW,
    ORIGIN,
    POOL,
    RATE,
    RUNG,
    SHELF,
    SLOTS,
    STEEPNESS,
    TIMER,
    VALUE,
    WAITING,
    WARD,
    WIDTH,
    Chains,
    HostColumns,
    Int64Array,
    SourceRecords,
    Wards,
)

# The computed index may differ from the exact one by some units in the last place; naps aim this much below the mark.
CAUTION = 1.0 - 1e-9
# The fine ring covers this many mean revisit periods at the mark.
PERIODS = 2.0
# Steepness in units of the mean revisit rate.
STEEP = 1.0
# The ladder has one rung for so many fine slots, and spans this ratio of prices, as a logarithm.
LADDER_SHARE, LADDER_SPAN = 8, 4.0
# The rung of a mark of 0.
GROUND = -(1 << 60)
# A share of the ceiling this small is 0 for all purposes.
SLIGHT = 1e-290
# Where mark × cost exceeds the value by this factor, the ceiling alone decides how long to sleep.
FUTILE = 1.1
# No slot is shorter, in seconds: the number of the slot the clock is in must be a whole number of 64 bits.
SHORTEST_SLOT = 1e-6
# One coarse slot lasts as long as so many fine ones.
COARSENESS = 32
# So many sources go to bed at once.
PORTION = 128
# There is one coarse slot for so many fine ones.
COARSE_SHARE = 4


@njit(cache=True)
def beds(slots: int) -> int:
    """How many chains a ward with so many fine slots sleeps in."""
    return slots + slots // COARSE_SHARE + slots // LADDER_SHARE


@inlined
def cost_of(catalogue: SourceRecords, source: int) -> float:
    """C of one source."""
    return catalogue.cost[source] if len(catalogue.cost) > 1 else catalogue.cost[0]


@inlined
def group_of(catalogue: SourceRecords, source: int) -> Any:
    """The host of one source."""
    return np.int64(catalogue.group[source])


@inlined
def due_at(catalogue: SourceRecords, source: int) -> float:
    """When `max_age` makes a source overdue: -inf if it was never crawled, inf (or NaN) where there is no limit."""
    limit = catalogue.max_age[source] if len(catalogue.max_age) > 1 else catalogue.max_age[0]
    return catalogue.record[source, LAST] + limit if limit < math.inf else math.inf


@inlined
def index_now(catalogue: SourceRecords, source: int, now: float) -> float:
    """The continuous index of one source; 0 for one crawled after `now`."""
    age = max(now - catalogue.record[source, LAST], 0.0)
    return index_at_age(
        catalogue.record[source, VALUE], catalogue.record[source, RATE], age, cost_of(catalogue, source)
    )


@njit(cache=True)
def _age_at_most(value: float, rate: float, price: float, cost: float) -> float:
    """The age at which the index reaches a price, or a little less."""
    share = price * cost / value
    if rate > 0.0 and share < EASY:
        return ripening_at_most(share) / rate
    return age_at_price(value, rate, price, cost)


@njit(cache=True)
def safe_nap(value: float, rate: float, cost: float, age: float, index: float, mark: float, steepness: float) -> float:
    """The longest safe nap on the ward's clock (module docstring); 0 at or above the mark."""
    line = mark * CAUTION
    if value <= 0.0:
        return math.inf
    if not index < line:
        return 0.0
    share = line * cost / value
    if rate > 0.0 and share < EASY:
        ripe = ripening_at_most(share)
        # G(s) = share gives e^{-s} = (1 - share)/(1 + s), hence the growth there without an exponential
        if share > SLIGHT and rate * ripe * (1.0 - share) >= steepness * (1.0 + ripe) * share:
            return max(ripe / rate - age, 0.0)
    elif rate > 0.0 and share > FUTILE:
        # the index stays below the ceiling, whatever the age
        return math.log(share) / steepness
    else:
        crossing = age_at_price(value, rate, line, cost)
        if crossing < math.inf and growth_at_age(rate, crossing) >= steepness:
            return max(crossing - age, 0.0)
    if index > 0.0 and growth_at_age(rate, age) <= steepness:
        return math.log(line / index) / steepness
    nearer = 0.5 * (1.0 + index / line)
    return min(max(_age_at_most(value, rate, nearer * line, cost) - age, 0.0), -math.log(nearer) / steepness)


@inlined
def slot_after(wards: Wards, ward: int, now: float, nap: float) -> int:
    """The chain of the slot in which a nap ends, or -1 if it is too short for the wheel."""
    width, current, slots = wards.dial[ward, WIDTH], wards.knob[ward, CURRENT], wards.knob[ward, SLOTS]
    if width <= 0.0 or nap <= 0.0:
        return -1
    first, coarse = wards.knob[ward, FIRST_SLOT], slots // COARSE_SHARE
    ahead = coarse * COARSENESS
    if nap < ahead * width:
        clock = now - wards.dial[ward, ORIGIN] + wards.dial[ward, AHEAD]
        ahead = math.floor((clock + nap) / width) - current
    if ahead < 1:
        return -1
    if ahead < slots:
        return first + (current + ahead) % slots
    turns = min((current + ahead) // COARSENESS - current // COARSENESS, coarse - 1)
    if turns < 1:
        return first + (current + slots - 1) % slots
    return first + slots + (current // COARSENESS + turns) % coarse


@inner
def slots_ahead(wards: Wards, ward: int, chain: int) -> int:
    """How many fine slots from now a slot's chain comes up; -1 if the chain is no slot of this ward."""
    knob = wards.knob[ward]
    slots, current, place = knob[SLOTS], knob[CURRENT], chain - knob[FIRST_SLOT]
    if not 0 <= place < slots + slots // COARSE_SHARE:
        return -1
    if place < slots:
        return (place - current) % slots
    turns = (place - slots - current // COARSENESS) % (slots // COARSE_SHARE)
    return (current // COARSENESS + turns) * COARSENESS - current


@inlined
def go_to(catalogue: SourceRecords, chains: Chains, source: int, chain: int) -> None:
    """Make a chain the place of a source."""
    catalogue.place[source] = chain
    push(chains, chain, source)


@inlined
def arrive(catalogue: SourceRecords, chains: Chains, wards: Wards, ward: int, source: int) -> None:
    """Wake a source into a ward; the next survey looks at it afresh."""
    catalogue.place[source] = wards.knob[ward, POOL]
    push(chains, wards.knob[ward, ARRIVALS], source)
    wards.knob[ward, AWAKE] += 1


@inlined
def stay(catalogue: SourceRecords, chains: Chains, wards: Wards, ward: int, source: int) -> None:
    """Keep a source awake."""
    catalogue.place[source] = wards.knob[ward, POOL]
    push(chains, wards.knob[ward, POOL], source)
    wards.knob[ward, AWAKE] += 1


@inlined
def rung_at(wards: Wards, ward: int, price: float) -> int:
    """The rung of the ladder that a price is on."""
    if price <= 0.0:
        return GROUND
    return math.floor(math.log(price) * (wards.knob[ward, SLOTS] // LADDER_SHARE) / LADDER_SPAN)


@inlined
def first_rung(wards: Wards, ward: int) -> int:
    """The chain of the ladder's first rung."""
    slots = wards.knob[ward, SLOTS]
    return wards.knob[ward, FIRST_SLOT] + slots + slots // COARSE_SHARE


@inlined
def sleeps_in(wards: Wards, ward: int, chain: int) -> bool:
    """Whether a chain is a slot or a rung of a ward."""
    return 0 <= chain - wards.knob[ward, FIRST_SLOT] < beds(wards.knob[ward, SLOTS])


@inlined
def rung_below_mark(catalogue: SourceRecords, wards: Wards, ward: int, source: int) -> int:
    """The chain of the rung of a source's ceiling; -1 if that is not below the mark's, or time matters as well."""
    value, cost = catalogue.record[source, VALUE], cost_of(catalogue, source)
    if wards.dial[ward, WIDTH] <= 0.0 or catalogue.record[source, RATE] <= 0.0 or value <= 0.0:
        return -1
    mark = wards.dial[ward, MARK]
    if value >= mark * cost or due_at(catalogue, source) < math.inf:
        return -1
    rung = rung_at(wards, ward, value / cost / CAUTION)
    if rung >= rung_at(wards, ward, mark):
        return -1
    # the mark may have risen since the ladder was last looked at: the next look must start above this rung
    wards.knob[ward, RUNG] = max(wards.knob[ward, RUNG], rung + 1)
    return first_rung(wards, ward) + rung % (wards.knob[ward, SLOTS] // LADDER_SHARE)


@inlined
def nap_of(catalogue: SourceRecords, wards: Wards, ward: int, source: int, now: float, index: float) -> float:
    """How long a source may sleep: until its index or `max_age` can make it wanted."""
    wards.knob[ward, LABOUR] += 1
    value, rate = catalogue.record[source, VALUE], catalogue.record[source, RATE]
    age = max(now - catalogue.record[source, LAST], 0.0)
    mark, steepness = wards.dial[ward, MARK], wards.dial[ward, STEEPNESS]
    nap = safe_nap(value, rate, cost_of(catalogue, source), age, index, mark, steepness)
    return min(nap, max(due_at(catalogue, source) - now, 0.0))


@inlined
def bed_of(catalogue: SourceRecords, wards: Wards, ward: int, source: int, now: float, index: float) -> int:
    """The chain in which a source with this index may sleep, or -1 if it should stay awake."""
    if wards.dial[ward, WIDTH] <= 0.0:
        # no steepness yet to measure a nap by, though the mark may have been raised to that of ward 0
        return -1
    chain = rung_below_mark(catalogue, wards, ward, source)
    if chain < 0:
        chain = slot_after(wards, ward, now, nap_of(catalogue, wards, ward, source, now, index))
    return chain


@inner
def put_to_bed(
    catalogue: SourceRecords, chains: Chains, wards: Wards, ward: int, sources: Int64Array, beds: Int64Array, count: int
) -> None:
    """Let sources sleep in the chains given, or keep those awake that have none.

    Each goes to another corner of memory: so that is asked for in portions, and waited for all at once.
    """
    for start in range(0, count, PORTION):
        end = min(start + PORTION, count)
        for k in range(start, end):
            prefetch(chains.heads, max(beds[k], 0))
            prefetch(catalogue.place, sources[k])
        for k in range(start, end):
            prefetch(chains.blocks, max(np.int64(chains.heads[max(beds[k], 0), HEAD]), 0))
        for k in range(start, end):
            if beds[k] < 0:
                stay(catalogue, chains, wards, ward, sources[k])
            else:
                go_to(catalogue, chains, sources[k], beds[k])


@inner
def lower_mark(wards: Wards, ward: int, ahead: float) -> None:
    """Let the clock run ahead, and the mark fall by as much as that allows."""
    wards.dial[ward, AHEAD] += ahead
    wards.dial[ward, MARK] *= math.exp(-wards.dial[ward, STEEPNESS] * ahead)


@inner
def release(catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, group: int) -> None:
    """Wake all sources that wait for their host."""
    hosts.table[group, WAITING] = 0
    ward = hosts.table[group, WARD]
    shelf = hosts.table[group, SHELF]
    used: Any = np.int64(chains.heads[shelf, FILL])
    block: Any = np.int64(unhook(chains, shelf))
    while block >= 0:
        for k in range(used):
            source: Any = np.int64(chains.blocks[block, k + 1])
            if catalogue.place[source] == shelf:
                arrive(catalogue, chains, wards, ward, source)
        block, used = np.int64(next_block(chains, block, used)), MEMBERS


@inner
def set_timer(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, group: int, now: float
) -> None:
    """Have the wheel of ward 0 ring when a host's hold ends; release its sources at once if that is too soon."""
    chain = slot_after(wards, 0, now, hosts.until[group] - now)
    if chain < 0:
        hosts.table[group, TIMER] = -1
        release(catalogue, chains, wards, hosts, group)
    elif hosts.table[group, TIMER] < 0 or slots_ahead(wards, 0, chain) < slots_ahead(
        wards, 0, hosts.table[group, TIMER]
    ):
        hosts.table[group, TIMER] = chain
        push(chains, chain, -2 - group)


@inner
def _ask_for(catalogue: SourceRecords, chains: Chains, block: int, used: int) -> None:
    """Have what will be needed of a block's members, and of the block after it, brought into the cache."""
    prefetch(chains.blocks, max(np.int64(chains.blocks[block, 0]), 0))
    for k in range(used):
        entry = max(np.int64(chains.blocks[block, k + 1]), 0)
        prefetch(catalogue.place, entry)
        prefetch(catalogue.record, entry)


@inner
def _ring(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, ward: int, chain: int, now: float
) -> None:
    used: Any = np.int64(chains.heads[chain, FILL])
    block: Any = np.int64(unhook(chains, chain))
    if block >= 0:
        _ask_for(catalogue, chains, block, used)
    while block >= 0:
        following: Any = np.int64(chains.blocks[block, 0])
        if following >= 0:
            _ask_for(catalogue, chains, following, MEMBERS)
        for k in range(used):
            entry: Any = np.int64(chains.blocks[block, k + 1])
            if entry >= 0:
                if catalogue.place[entry] == chain:
                    arrive(catalogue, chains, wards, ward, entry)
            elif hosts.table[-2 - entry, TIMER] == chain:
                hosts.table[-2 - entry, TIMER] = -1
                set_timer(catalogue, chains, wards, hosts, -2 - entry, now)
        block, used = np.int64(next_block(chains, block, used)), MEMBERS


@inner
def _ring_if_any(
    catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, ward: int, chain: int, now: float
) -> None:
    if chains.heads[chain, HEAD] >= 0:
        _ring(catalogue, chains, wards, hosts, ward, chain, now)


@inner
def _descend(catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, ward: int, now: float) -> None:
    """Wake everybody on the rungs down to the one the mark is on now."""
    knob = wards.knob[ward]
    rung, rungs, first = (
        rung_at(wards, ward, wards.dial[ward, MARK]),
        knob[SLOTS] // LADDER_SHARE,
        first_rung(wards, ward),
    )
    lowest = max(rung, knob[RUNG] - rungs)
    for number in range(lowest, knob[RUNG]):
        _ring_if_any(catalogue, chains, wards, hosts, ward, first + number % rungs, now)
    knob[RUNG] = rung


@inner
def turn(catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, ward: int, now: float) -> None:
    """Turn a ward's wheel to `now` and wake everybody whose slot has come."""
    dial, knob = wards.dial[ward], wards.knob[ward]
    # Time may be set back, the clock may not: a nap that ends by it would outlast falls of the mark meanwhile.
    dial[AHEAD] += max(dial[NOW] - now, 0.0)
    dial[NOW] = now
    if dial[WIDTH] <= 0.0:
        return
    _descend(catalogue, chains, wards, hosts, ward, now)
    before = knob[CURRENT]
    current = math.floor((now - dial[ORIGIN] + dial[AHEAD]) / dial[WIDTH])
    if current <= before:
        return
    knob[CURRENT] = current
    slots, coarse = knob[SLOTS], knob[SLOTS] // COARSE_SHARE
    for number in range(before + 1, min(current, before + slots) + 1):
        _ring_if_any(catalogue, chains, wards, hosts, ward, knob[FIRST_SLOT] + number % slots, now)
    passed, turns = before // COARSENESS, current // COARSENESS
    for number in range(passed + 1, min(turns, passed + coarse) + 1):
        _ring_if_any(catalogue, chains, wards, hosts, ward, knob[FIRST_SLOT] + slots + number % coarse, now)


@njit(cache=True)
def revisits(catalogue: SourceRecords, sample: Int64Array, mark: float) -> float:
    """How often, on average, the sources of a sample would be crawled at a price of `mark`, per unit of time."""
    total, rates, seen = 0.0, 0.0, 0
    for source in sample:
        if catalogue.place[source] == GONE:
            continue
        record = catalogue.record[source]
        seen += 1
        rates += record[RATE]
        crossing = age_at_price(record[VALUE], record[RATE], mark, cost_of(catalogue, source))
        if 0.0 < crossing < math.inf:
            total += 1.0 / crossing
    frequency = total / max(seen, 1)
    if 1e-200 < frequency < 1e200:
        return frequency
    return max(rates / max(seen, 1), 1e-9)


@inner
def tune(catalogue: SourceRecords, wards: Wards, ward: int, sample: Int64Array, now: float) -> None:
    """Set slot width and steepness of an empty wheel from the revisit rates of a sample at the present mark."""
    dial, knob = wards.dial[ward], wards.knob[ward]
    frequency = revisits(catalogue, sample, dial[MARK])
    dial[WIDTH] = max(PERIODS / frequency / knob[SLOTS], SHORTEST_SLOT)
    dial[STEEPNESS] = STEEP * frequency
    dial[ORIGIN], dial[AHEAD] = now, 0.0
    knob[CURRENT] = 0
    knob[LABOUR] = 0
    knob[RUNG] = rung_at(wards, ward, dial[MARK])


@njit(cache=True)
def untune(catalogue: SourceRecords, chains: Chains, wards: Wards, hosts: HostColumns, ward: int) -> None:
    """Wake the whole ward, so that its wheel can be tuned anew."""
    first, slots = wards.knob[ward, FIRST_SLOT], wards.knob[ward, SLOTS]
    wards.dial[ward, WIDTH] = 0.0
    for chain in range(first, first + beds(slots)):
        _ring_if_any(catalogue, chains, wards, hosts, ward, chain, wards.dial[ward, NOW])
    wards.dial[ward, MARK] = 0.0


@inner
def touch(catalogue: SourceRecords, chains: Chains, wards: Wards, source: int, ward: int) -> None:
    """After a source's record changed: wake it earlier if it must be; later takes care of itself."""
    place = catalogue.place[source]
    if not sleeps_in(wards, ward, place):
        return
    ahead = slots_ahead(wards, ward, place)
    now = wards.dial[ward, NOW]
    chain = slot_after(wards, ward, now, catalogue.record[source, NOT_BEFORE] - now)
    if chain < 0:
        chain = bed_of(catalogue, wards, ward, source, now, index_now(catalogue, source, now))
    if chain < 0:
        arrive(catalogue, chains, wards, ward, source)
    elif chain != place and (ahead < 0 or slots_ahead(wards, ward, chain) < ahead):
        # a rung has no time: the mark may come down to it before the slot comes up
        go_to(catalogue, chains, source, chain)
