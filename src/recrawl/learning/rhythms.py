"""The hours and weekdays at which feeds publish.

A feed publishes at rate Λ·h(t)·w(t), with h a profile of 24 hours and w one of seven weekdays, each of mean 1. Most
feeds show few items, and 24 counts of few items are noise. So each is drawn to that of the catalogue::

    pooled    what feeds together published in a slot over what their rates led to expect there, with K items of flat
    own       (n_s + κ·pooled_s)/(Λ̂·T_s + κ), the feed's own n_s items in a slot, watched there for the time T_s

T is known without being kept: a feed is watched from its first listing's oldest item to its last visit. To weigh flat,
pooled and own by how well each had predicted a feed's items was tried and lost [docs/design/007].

Time is in days. Symbols: Λ rate, h and w profiles, T time watched, κ pseudo-items per slot.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.kernels.rhythm_index import HOURS, WEEK
from recrawl.records import FloatArray, IntArray

Counts = npt.NDArray[np.float32]

OWN_ITEMS_BY_HOUR, OWN_ITEMS_BY_WEEKDAY = 20.0, 50.0
"""Pseudo-items for which the pooled profile counts in a feed's own."""
POOLED_ITEMS = 240.0
"""Pseudo-items for which flat counts in the pooled profile."""
LONGEST_PROFILE_DAYS = 28.0
"""Beyond this a window is taken to have seen every hour alike."""


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
def own_profiles(
    rows: IntArray,
    counts: Counts,
    known_from: FloatArray,
    until: FloatArray,
    pooled: FloatArray,
    items: float,
    out: Counts,
) -> None:
    """The profiles of some feeds in one factor, from their counts and the time they were watched per slot."""
    time, weight = np.empty(len(pooled)), items / len(pooled)
    for i in rows:
        if not until[i] > known_from[i]:
            out[i] = pooled
            continue
        watched(known_from[i], until[i], time)
        count, reach, total = 0.0, 0.0, 0.0
        for s in range(len(pooled)):
            count += counts[i, s]
            reach += time[s] * pooled[s]
        rate = count / reach if reach > 0.0 else 0.0
        for s in range(len(pooled)):
            out[i, s] = (counts[i, s] + weight * pooled[s]) / (rate * time[s] + weight)
            total += out[i, s]
        out[i] *= len(pooled) / total


@njit(cache=True)
def fill_exposures(
    start: float, end: float, hours: Counts, weekdays: Counts, hour_time: FloatArray, weekday_time: FloatArray
) -> float:
    """∫h·w over a window; the time in each slot, weighed by the other factor, into the last two."""
    length = end - start
    hour_time[:], weekday_time[:] = 0.0, 0.0
    if length > LONGEST_PROFILE_DAYS:
        hour_time[:], weekday_time[:] = length / HOURS, length / WEEK
        return length
    total, at = 0.0, start
    while at < end - 1e-12:
        stop = min((math.floor(at * HOURS + 1e-9) + 1.0) / HOURS, end)
        step, middle = stop - at, 0.5 * (at + stop)
        h, w = slot_of(middle, HOURS), slot_of(middle, WEEK)
        total += step * hours[h] * weekdays[w]
        hour_time[h] += step * weekdays[w]
        weekday_time[w] += step * hours[h]
        at = stop
    return total


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
