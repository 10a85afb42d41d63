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
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.rhythm_index import HOURS, WEEK, SinceVisit
from recrawl.learning.columns import Column, Columns
from recrawl.records import BoolArray, FloatArray, IntArray

Counts = npt.NDArray[np.float32]
Items = npt.NDArray[np.uint16]
MOST_ITEMS = np.iinfo(np.uint16).max
"""In a slot; when there are more, only the proportions of all slots are kept."""

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
    counts: Items,
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
    times: FloatArray, rate: float, slot_time: FloatArray, own: Items, counts: FloatArray, expected: FloatArray
) -> None:
    """Count items by slot for the feed and for all, and what all were expected to publish there."""
    for time in times:
        slot = slot_of(time, len(counts))
        if own[slot] == MOST_ITEMS:
            for s in range(len(own)):
                own[s] //= 2
        own[slot] += 1
        counts[slot] += 1.0
    for s in range(len(counts)):
        expected[s] += rate * slot_time[s]


class RhythmRecord(NamedTuple):
    """One row per feed: whether it was seen, since when it is known, its own items by hour and weekday, its profile."""

    seen: BoolArray
    known_from: FloatArray
    own_hours: Items
    own_weekdays: Items
    hours: Counts
    weekdays: Counts


class FeedRhythms(Columns):
    """When each feed publishes, and what has come since its last visit; times in days.

    Hours and weekdays as they are believed, the rate to act on, and owners' terms follow from what is kept. `exposure`
    and `worth` are those of :mod:`recrawl.kernels.rhythm_index` at the time `at`.
    """

    columns: ClassVar[Mapping[str, Column]] = {
        "seen": Column(np.bool_, False),
        "known_from": Column(np.float64, np.nan),
        "until": Column(np.float64, 0.0),
        "own_hours": Column(np.uint16, 0, HOURS, stored=np.float32),
        "own_weekdays": Column(np.uint16, 0, WEEK, stored=np.float32),
        "hours": Column(np.float32, 1.0, HOURS, kept=False),
        "weekdays": Column(np.float32, 1.0, WEEK, kept=False),
        "rate": Column(np.float32, 0.0, kept=False),
        "appeal": Column(np.float32, 1.0, kept=False, alike=True),
        "decay": Column(np.float64, 1.0, kept=False),
        "weight": Column(np.float64, 1.0, kept=False, alike=True),
        "at": Column(np.float64, 0.0, kept=False),
        "exposure": Column(np.float64, 0.0, kept=False),
        "worth": Column(np.float64, 0.0, kept=False),
    }
    seen: BoolArray
    known_from: FloatArray
    until: FloatArray
    own_hours: Items
    own_weekdays: Items
    hours: Counts
    weekdays: Counts
    rate: Counts
    appeal: Counts
    decay: FloatArray
    weight: FloatArray
    at: FloatArray
    exposure: FloatArray
    worth: FloatArray

    def since_visit(self) -> SinceVisit:
        """What has come since the last visits, for compiled code."""
        return SinceVisit(self.until, self.at, self.exposure, self.worth)

    def unpack(self, ids: IntArray, packed: npt.NDArray[Any]) -> None:
        """Write rows packed before, perhaps with larger counts than are kept now."""
        counts = ("own_hours", "own_weekdays")
        if any(packed[name].max(initial=0.0) > MOST_ITEMS for name in counts):
            packed = packed.copy()
            for name in counts:
                packed[name] /= np.maximum(packed[name].max(axis=1, keepdims=True) / MOST_ITEMS, 1.0)
        super().unpack(ids, packed)

    def record(self) -> RhythmRecord:
        """What listings are counted in, for compiled code."""
        own = self.seen, self.known_from, self.own_hours, self.own_weekdays
        return RhythmRecord(*own, self.hours, self.weekdays)
