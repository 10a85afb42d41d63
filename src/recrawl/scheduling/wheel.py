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

The wheel is one ring of slots. Who would sleep longer than the ring sleeps to its far end and is looked at again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from recrawl.kernels.continuous_index import age_at_price, index_at_age
from recrawl.kernels.index_growth import growth_at_age
from recrawl.scheduling.chains import drained, push
from recrawl.scheduling.compiled import inner
from recrawl.scheduling.state import (
    AHEAD,
    ARRIVALS,
    AWAKE,
    CURRENT,
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
    SHELF,
    SLOTS,
    STEEPNESS,
    TIMER,
    VALUE,
    WAITING,
    WARD,
    WIDTH,
    Catalogue,
    Chains,
    Hosts,
    Int64Array,
    Wards,
)

# The computed index may differ from the exact one by some units in the last place; naps aim this much below the mark.
CAUTION = 1.0 - 1e-9
# The ring covers this many mean revisit periods at the mark, so most sources are looked at once per crawl.
PERIODS = 4.0
# Steepness in units of the mean revisit rate.
STEEP = 0.2


@inner
def cost_of(catalogue: Catalogue, source: int) -> float:
    """C of one source."""
    return catalogue.cost[source] if len(catalogue.cost) > 1 else catalogue.cost[0]


@inner
def group_of(catalogue: Catalogue, source: int) -> Any:
    """The host of one source."""
    return np.int64(catalogue.group[source])


@inner
def due_at(catalogue: Catalogue, source: int) -> float:
    """When `max_age` makes a source overdue: -inf if it was never crawled, inf (or NaN) where there is no limit."""
    limit = catalogue.max_age[source] if len(catalogue.max_age) > 1 else catalogue.max_age[0]
    return catalogue.record[source, LAST] + limit if limit < math.inf else math.inf


@inner
def index_now(catalogue: Catalogue, source: int, now: float) -> float:
    """The continuous index of one source; 0 for one crawled after `now`."""
    age = max(now - catalogue.record[source, LAST], 0.0)
    return index_at_age(
        catalogue.record[source, VALUE], catalogue.record[source, RATE], age, cost_of(catalogue, source)
    )


@njit(cache=True)
def safe_nap(value: float, rate: float, cost: float, age: float, index: float, mark: float, steepness: float) -> float:
    """The longest safe nap on the ward's clock (module docstring); 0 at or above the mark."""
    line = mark * CAUTION
    if value <= 0.0:
        return math.inf
    if not index < line:
        return 0.0
    crossing = age_at_price(value, rate, line, cost)
    if crossing < math.inf and growth_at_age(rate, crossing) >= steepness:
        return max(crossing - age, 0.0)
    if index > 0.0 and growth_at_age(rate, age) <= steepness:
        return math.log(line / index) / steepness
    nearer = 0.5 * (1.0 + index / line)
    return min(max(age_at_price(value, rate, nearer * line, cost) - age, 0.0), -math.log(nearer) / steepness)


@inner
def slot_after(wards: Wards, ward: int, now: float, nap: float) -> int:
    """The chain of the slot in which a nap ends, or -1 if it is too short for the wheel."""
    width = wards.dial[ward, WIDTH]
    if width <= 0.0:
        return -1
    slots = wards.knob[ward, SLOTS]
    clock = now - wards.dial[ward, ORIGIN] + wards.dial[ward, AHEAD]
    ahead = slots - 1
    if nap < slots * width:
        ahead = min(ahead, math.floor((clock + nap) / width) - wards.knob[ward, CURRENT])
    if ahead < 1:
        return -1
    return wards.knob[ward, FIRST_SLOT] + (wards.knob[ward, CURRENT] + ahead) % slots


@inner
def slots_ahead(wards: Wards, ward: int, chain: int) -> int:
    """How many slots from now a slot's chain comes up; -1 if the chain is no slot of this ward."""
    slots, first = wards.knob[ward, SLOTS], wards.knob[ward, FIRST_SLOT]
    if not first <= chain < first + slots:
        return -1
    return (chain - first - wards.knob[ward, CURRENT]) % slots


@inner
def go_to(catalogue: Catalogue, chains: Chains, source: int, chain: int) -> None:
    """Make a chain the place of a source."""
    catalogue.place[source] = chain
    push(chains, chain, source)


@inner
def arrive(catalogue: Catalogue, chains: Chains, wards: Wards, ward: int, source: int) -> None:
    """Wake a source into a ward; the next survey looks at it afresh."""
    catalogue.place[source] = wards.knob[ward, POOL]
    push(chains, wards.knob[ward, ARRIVALS], source)
    wards.knob[ward, AWAKE] += 1


@inner
def stay(catalogue: Catalogue, chains: Chains, wards: Wards, ward: int, source: int) -> None:
    """Keep a source awake."""
    catalogue.place[source] = wards.knob[ward, POOL]
    push(chains, wards.knob[ward, POOL], source)
    wards.knob[ward, AWAKE] += 1


@inner
def nap_or_stay(
    catalogue: Catalogue, chains: Chains, wards: Wards, ward: int, source: int, now: float, nap: float
) -> None:
    """Put a source into the wheel, or keep it awake if the nap is shorter than a slot."""
    chain = slot_after(wards, ward, now, nap)
    if chain < 0:
        stay(catalogue, chains, wards, ward, source)
    else:
        go_to(catalogue, chains, source, chain)


@inner
def nap_of(catalogue: Catalogue, wards: Wards, ward: int, source: int, now: float, index: float) -> float:
    """How long a source may sleep: until its index or `max_age` can make it wanted."""
    wards.knob[ward, LABOUR] += 1
    record = catalogue.record[source]
    age = max(now - record[LAST], 0.0)
    mark, steepness = wards.dial[ward, MARK], wards.dial[ward, STEEPNESS]
    nap = safe_nap(record[VALUE], record[RATE], cost_of(catalogue, source), age, index, mark, steepness)
    return min(nap, max(due_at(catalogue, source) - now, 0.0))


@inner
def lower_mark(wards: Wards, ward: int, ahead: float) -> None:
    """Let the clock run ahead, and the mark fall by as much as that allows."""
    wards.dial[ward, AHEAD] += ahead
    wards.dial[ward, MARK] *= math.exp(-wards.dial[ward, STEEPNESS] * ahead)


@inner
def release(catalogue: Catalogue, chains: Chains, wards: Wards, hosts: Hosts, group: int) -> None:
    """Wake all sources that wait for their host."""
    hosts.table[group, WAITING] = 0
    ward = hosts.table[group, WARD]
    for source in drained(chains, hosts.table[group, SHELF]):
        if catalogue.place[source] == hosts.table[group, SHELF]:
            arrive(catalogue, chains, wards, ward, source)


@inner
def set_timer(catalogue: Catalogue, chains: Chains, wards: Wards, hosts: Hosts, group: int, now: float) -> None:
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
def _ring(catalogue: Catalogue, chains: Chains, wards: Wards, hosts: Hosts, ward: int, chain: int, now: float) -> None:
    for entry in drained(chains, chain):
        if entry >= 0:
            if catalogue.place[entry] == chain:
                arrive(catalogue, chains, wards, ward, entry)
        elif hosts.table[-2 - entry, TIMER] == chain:
            hosts.table[-2 - entry, TIMER] = -1
            set_timer(catalogue, chains, wards, hosts, -2 - entry, now)


@inner
def turn(catalogue: Catalogue, chains: Chains, wards: Wards, hosts: Hosts, ward: int, now: float) -> None:
    """Turn a ward's wheel to `now` and wake everybody whose slot has come."""
    dial, knob = wards.dial[ward], wards.knob[ward]
    dial[NOW] = max(dial[NOW], now)
    if dial[WIDTH] <= 0.0:
        return
    before = knob[CURRENT]
    current = math.floor((now - dial[ORIGIN] + dial[AHEAD]) / dial[WIDTH])
    if current <= before:
        return
    knob[CURRENT] = current
    for number in range(before + 1, min(current, before + knob[SLOTS]) + 1):
        chain = knob[FIRST_SLOT] + number % knob[SLOTS]
        if chains.heads[chain, HEAD] >= 0:
            _ring(catalogue, chains, wards, hosts, ward, chain, now)


@inner
def tune(catalogue: Catalogue, wards: Wards, ward: int, sample: Int64Array, now: float) -> None:
    """Set slot width and steepness of an empty wheel from the revisit rates of a sample at the present mark."""
    dial, knob = wards.dial[ward], wards.knob[ward]
    total, rates, seen = 0.0, 0.0, 0
    for source in sample:
        if catalogue.place[source] == GONE:
            continue
        record = catalogue.record[source]
        seen += 1
        rates += record[RATE]
        crossing = age_at_price(record[VALUE], record[RATE], dial[MARK], cost_of(catalogue, source))
        if 0.0 < crossing < math.inf:
            total += 1.0 / crossing
    frequency = total / max(seen, 1)
    if not 1e-200 < frequency < 1e200:
        frequency = max(rates / max(seen, 1), 1e-9)
    dial[WIDTH] = PERIODS / frequency / knob[SLOTS]
    dial[STEEPNESS] = STEEP * frequency
    dial[ORIGIN], dial[AHEAD] = now, 0.0
    knob[CURRENT] = 0
    knob[LABOUR] = 0


@njit(cache=True)
def untune(catalogue: Catalogue, chains: Chains, wards: Wards, hosts: Hosts, ward: int) -> None:
    """Wake the whole ward, so that its wheel can be tuned anew."""
    first = wards.knob[ward, FIRST_SLOT]
    wards.dial[ward, WIDTH] = 0.0
    for chain in range(first, first + wards.knob[ward, SLOTS]):
        if chains.heads[chain, HEAD] >= 0:
            _ring(catalogue, chains, wards, hosts, ward, chain, wards.dial[ward, NOW])
    wards.dial[ward, MARK] = 0.0


@inner
def touch(catalogue: Catalogue, chains: Chains, wards: Wards, source: int, ward: int) -> None:
    """After a source's record changed: wake it earlier if it must be; later takes care of itself."""
    ahead = slots_ahead(wards, ward, catalogue.place[source])
    if ahead < 0:
        return
    now = wards.dial[ward, NOW]
    nap = nap_of(catalogue, wards, ward, source, now, index_now(catalogue, source, now))
    nap = max(nap, catalogue.record[source, NOT_BEFORE] - now)
    chain = slot_after(wards, ward, now, nap)
    if chain < 0:
        arrive(catalogue, chains, wards, ward, source)
    elif slots_ahead(wards, ward, chain) < ahead:
        go_to(catalogue, chains, source, chain)
