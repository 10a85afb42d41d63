"""The hours and weekdays of feeds, trusted as far as they have predicted.

A feed publishes at rate Λ·h(t)·w(t), with h a profile of 24 hours and w one of seven weekdays, each of mean 1. Most
feeds show few items, and 24 counts of few items are noise. So each factor has three candidates::

    flat      1
    pooled    what feeds together published in a slot over what their rates led to expect there, with K items of flat
    own       (n_s + κ·pooled_s)/(Λ̂·T_s + κ), the feed's own n_s items in a slot, watched there for the time T_s

and the profile is their mixture, each weighed by how well it predicted this feed's items before they were seen. A visit
that finds items at times t_j since the last one gives candidate c, under the Gamma(A, B) belief of Λ, the evidence::

    Σ log c(t_j) − (A + n)·log(B + ∫c)

(the other factor as it is believed), counted against that of flat. A feed about which little is known takes the weights
of the catalogue; where nothing has a rhythm, those come to be flat's. A first listing comes before the feed has hours
of its own: there `own` is judged as `pooled`. What a single visit can say is bounded, for items often come in heaps.

T is known without being kept: a feed is watched from its first listing's oldest item to its last visit.

Time is in days. Symbols: Λ rate, h and w profiles, T time watched, κ pseudo-items per slot.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.kernels.rhythm_index import HOURS, WEEK
from recrawl.learning.drift import TRUST_DAYS
from recrawl.records import FloatArray, IntArray

Counts = npt.NDArray[np.float32]

FLAT, POOLED, OWN = range(3)
FIRST_TRUST = np.array((0.5, 0.4, 0.1))
"""Weights of the candidates before anything was predicted."""
TRUST_FEEDS = 10.0
"""For how many feeds these count among the catalogue's."""
OWN_ITEMS_BY_HOUR, OWN_ITEMS_BY_WEEKDAY = 20.0, 50.0
"""Pseudo-items for which the pooled profile counts in a feed's own."""
POOLED_ITEMS = 240.0
"""Pseudo-items for which flat counts in the pooled profile."""
MOST_EVIDENCE = 5.0
"""Bound on what one visit says of a candidate, in nats."""
LONGEST_PROFILE_DAYS = 28.0
"""Beyond this a window is taken to have seen every hour alike."""
MEMORY_OF_HOURS_DAYS, FADED = 7.0, 7.0
"""The profile since the last visit is averaged over a week at most, and not where less than e^{−7} is left."""


@njit(cache=True)
def slot_of(day: float, slots: int) -> int:
    """The hour (24 slots) or the weekday (7) of a time in days."""
    return math.floor(day * HOURS + 1e-9) % HOURS if slots == HOURS else math.floor(day + 1e-9) % WEEK


@njit(cache=True)
def watched(start: float, end: float, out: FloatArray) -> None:
    """The time spent in each slot between two times: 24 slots of a day, or 7 of a week."""
    slots = len(out)
    slot = 1.0 / HOURS if slots == HOURS else 1.0
    cycles = math.floor(max(end - start, 0.0) / (slots * slot))
    out[:] = cycles * slot
    at = start + cycles * slots * slot
    while at < end - 1e-9:
        stop = min((math.floor(at / slot + 1e-9) + 1.0) * slot, end)
        out[slot_of(0.5 * (at + stop), slots)] += stop - at
        at = stop


@njit(cache=True)
def pool(counts: FloatArray, expected: FloatArray, out: FloatArray) -> None:
    """The pooled profile."""
    weight = POOLED_ITEMS / len(out)
    for s in range(len(out)):
        out[s] = (counts[s] + weight) / (expected[s] + weight)
    out /= out.mean()


@njit(cache=True)
def fill_own(counts: Counts, times: FloatArray, pooled: FloatArray, items: float, out: FloatArray) -> None:
    """A feed's own profile, from its counts and the time it was watched per slot."""
    count, reach = 0.0, 0.0
    for s in range(len(out)):
        count += counts[s]
        reach += times[s] * pooled[s]
    rate, weight = count / reach if reach > 0.0 else 0.0, items / len(out)
    for s in range(len(out)):
        out[s] = (counts[s] + weight * pooled[s]) / (rate * times[s] + weight)
    out /= out.mean()


@njit(cache=True)
def weigh(record: Counts, common: FloatArray, out: FloatArray) -> None:
    """How far each candidate is trusted."""
    top, total = max(0.0, record[0], record[1]), 0.0
    for c in range(3):
        evidence = record[c - 1] if c > 0 else 0.0
        out[c] = common[c] * math.exp(evidence - top)
        total += out[c]
    out /= total


@njit(cache=True)
def fill_candidates(
    counts: Counts,
    known_from: float,
    until: float,
    pooled: FloatArray,
    items: float,
    record: Counts,
    common: FloatArray,
    work: FloatArray,
    weights: FloatArray,
    out: FloatArray,
) -> None:
    """Rows flat, pooled, own and their mixture, of one feed and one factor."""
    out[FLAT] = 1.0
    out[POOLED] = pooled
    if until > known_from:
        watched(known_from, until, work)
        fill_own(counts, work, pooled, items, out[OWN])
    else:
        out[OWN] = pooled
    weigh(record, common, weights)
    for s in range(len(pooled)):
        out[3, s] = weights[FLAT] + weights[POOLED] * pooled[s] + weights[OWN] * out[OWN, s]


@njit(cache=True)
def mixtures(
    ids: IntArray,
    counts: Counts,
    known_from: FloatArray,
    until: FloatArray,
    pooled: FloatArray,
    items: float,
    record: Counts,
    common: FloatArray,
    out: FloatArray,
) -> None:
    """The profile of some feeds in one factor; times in days, `until` one per id, `known_from` by feed, in seconds."""
    rows, work, weights = np.empty((4, len(pooled))), np.empty(len(pooled)), np.empty(3)
    for k in range(len(ids)):
        i = ids[k]
        start = known_from[i] / 86400.0
        fill_candidates(counts[i], start, until[k], pooled, items, record[i], common, work, weights, rows)
        out[k] = rows[3]


@njit(cache=True)
def _shares(ids: IntArray, record: Counts, common: FloatArray) -> FloatArray:
    """The sum over some feeds of how far each candidate is trusted."""
    weights, total = np.empty(3), np.zeros(3)
    for i in ids:
        weigh(record[i], common, weights)
        total += weights
    return total


def trusted(ids: IntArray, record: Counts, common: FloatArray) -> FloatArray:
    """How far the catalogue trusts each candidate, fitted anew to some feeds."""
    result: FloatArray = (_shares(ids, record, common) + TRUST_FEEDS * FIRST_TRUST) / (len(ids) + TRUST_FEEDS)
    return result


@njit(cache=True)
def fill_exposures(
    start: float,
    end: float,
    hours: FloatArray,
    weekdays: FloatArray,
    by_hours: FloatArray,
    by_weekdays: FloatArray,
    hour_time: FloatArray,
    weekday_time: FloatArray,
) -> float:
    """∫h·w by the mixtures over a window, and by each candidate of a factor with the other as believed.

    `hours` and `weekdays` have rows as :func:`fill_candidates` makes them; `hour_time` and `weekday_time` become the
    time in each slot, weighed by the other factor.
    """
    length = end - start
    by_hours[:], by_weekdays[:] = 0.0, 0.0
    hour_time[:], weekday_time[:] = 0.0, 0.0
    if length > LONGEST_PROFILE_DAYS:
        by_hours[:], by_weekdays[:] = length, length
        hour_time[:], weekday_time[:] = length / HOURS, length / WEEK
        return length
    total, at = 0.0, start
    while at < end - 1e-12:
        stop = min((math.floor(at * HOURS + 1e-9) + 1.0) / HOURS, end)
        step, middle = stop - at, 0.5 * (at + stop)
        h, w = slot_of(middle, HOURS), slot_of(middle, WEEK)
        total += step * hours[3, h] * weekdays[3, w]
        hour_time[h] += step * weekdays[3, w]
        weekday_time[w] += step * hours[3, h]
        at = stop
    for c in range(3):
        for h in range(HOURS):
            by_hours[c] += hours[c, h] * hour_time[h]
        for w in range(WEEK):
            by_weekdays[c] += weekdays[c, w] * weekday_time[w]
    return total


@njit(cache=True)
def judge(
    times: FloatArray,
    undated: float,
    shape: float,
    scale_rate: float,
    reach: FloatArray,
    rows: FloatArray,
    first: bool,
    gap: float,
    record: Counts,
) -> None:
    """Take in how well the candidates of one factor predicted a visit; times in days, `reach` their exposures."""
    slots, number = rows.shape[1], len(times) + undated
    kept = math.exp(-gap / TRUST_DAYS)
    for c in range(1, 3):
        judged = POOLED if first else c
        evidence = -(shape + number) * math.log((scale_rate + reach[judged]) / (scale_rate + reach[FLAT]))
        for time in times:
            evidence += math.log(rows[judged, slot_of(time, slots)])
        evidence += undated * math.log(reach[judged] / reach[FLAT])
        record[c - 1] = kept * record[c - 1] + min(max(evidence, -MOST_EVIDENCE), MOST_EVIDENCE)


@njit(cache=True)
def count_items(
    times: FloatArray, rate: float, slot_time: FloatArray, own: Counts, counts: FloatArray, expected: FloatArray
) -> None:
    """Count items by slot for the feed and for all, and what all were expected to publish there."""
    for time in times:
        slot = slot_of(time, len(counts))
        own[slot] += 1.0
        counts[slot] += 1.0
    for s in range(len(counts)):
        expected[s] += rate * slot_time[s]


@njit(cache=True)
def past_profile(
    now: float, since: FloatArray, decay: FloatArray, hours: FloatArray, weekdays: FloatArray, out: FloatArray
) -> None:
    """∫π(u)e^{−μ(now−u)}du over ∫e^{−μ(now−u)}du since the last visit; the present hour's π where that is now."""
    for i in range(len(out)):
        begin = max(since[i], now - MEMORY_OF_HOURS_DAYS)
        if decay[i] > 0.0:
            begin = max(begin, now - FADED / decay[i])
        if not begin < now - 1e-9:
            out[i] = hours[i, slot_of(now, HOURS)] * weekdays[i, slot_of(now, WEEK)]
            continue
        total, whole, at = 0.0, 0.0, begin
        while at < now - 1e-12:
            stop = min((math.floor(at * HOURS + 1e-9) + 1.0) / HOURS, now)
            middle = 0.5 * (at + stop)
            weight = (stop - at) * math.exp(-decay[i] * (now - middle))
            total += weight * hours[i, slot_of(middle, HOURS)] * weekdays[i, slot_of(middle, WEEK)]
            whole += weight
            at = stop
        out[i] = total / whole
