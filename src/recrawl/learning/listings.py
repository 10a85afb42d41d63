"""What the listings of a feed's visits say of its pace and of its hours.

*The first visit* shows a listing of the latest items. Where it reaches back to before the feed was known, its oldest
dated item marks the window and is not counted; the others are n − 1 arrivals over that window, whatever the pace: 20
items within 40 s or within 40 years. Each memory sees the listing through its own forgetting, so one stray date of 1970
is outlived by the short ones. Otherwise it shows what came since the feed was known. Undated items beside dated ones
are taken to come in the same window; alone they belong to no known time.

*Later visits* show what came since the last one. A listing that begins long after the last visit, given how dense it
is, has dropped items: then its own window counts, and the hours of its items say nothing.

Times are in days.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.rhythm_index import HOURS, WEEK
from recrawl.learning.drift import MEMORIES_DAYS, Record
from recrawl.learning.rhythms import RhythmRecord, count_items, fill_exposures
from recrawl.records import FloatArray, IntArray

DROPPED_AT = 1e-6
"""A listing has dropped items if its being so late within the gap, by chance, is less likely than this."""


@njit(cache=True)
def _first_listing(
    times: FloatArray, undated: float, now: float, share: float, counts: Record, exposures: Record
) -> None:
    """What the listing of a first visit says to each memory; `share` is ∫π over the window per length of it."""
    oldest = times.min()
    window = now - oldest
    boost = 1.0 + undated / len(times)
    for m in range(len(counts)):
        memory = MEMORIES_DAYS[m]
        count = -math.exp(-window / memory)
        for time in times:
            count += math.exp(-(now - time) / memory)
        counts[m] = count * boost
        exposures[m] = share * memory * -math.expm1(-window / memory)


@njit(cache=True)
def _begins_late(items: int, window: float, gap: float) -> bool:
    """Whether so many items are too late within the gap for chance: others have been dropped before them."""
    late = window / gap if gap > 0.0 else 0.0
    return 0.0 < late < 1.0 and items * math.log(late) < math.log(DROPPED_AT)


@njit(cache=True)
def learn_listings(
    rows: IntArray,
    offsets: IntArray,
    times: FloatArray,
    undated: FloatArray,
    since: FloatArray,
    now: float,
    shape: Record,
    scale_rate: Record,
    counts: Record,
    exposures: Record,
    feeds: RhythmRecord,
    pooled_hours: FloatArray,
    pooled_weekdays: FloatArray,
    count: FloatArray,
    exposure: FloatArray,
    gap: FloatArray,
) -> None:
    """First listings are learned at once; of later visits, count, exposure and gap are filled in.

    `pooled_hours` and `pooled_weekdays` have the items of all feeds in the first row, those expected in the second.
    """
    hour_time, weekday_time = np.empty(HOURS), np.empty(WEEK)
    for k in range(len(rows)):
        i = rows[k]
        listed = times[offsets[k] : offsets[k + 1]]
        start, number, first = since[k], len(listed) + undated[k], not feeds.seen[i]
        oldest = listed.min() if len(listed) > 0 else now
        backlog = first and oldest < start
        dropped = len(listed) > 1 and undated[k] == 0.0 and _begins_late(len(listed), now - oldest, now - start)
        if first:
            feeds.seen[i] = True
            feeds.known_from[i] = oldest if backlog or dropped else now if len(listed) == 0 and number > 0.0 else start
        if backlog or dropped:
            start = oldest
        elif first:
            start = feeds.known_from[i]
        if not now > start:
            continue
        reach = fill_exposures(start, now, feeds.hours[i], feeds.weekdays[i], hour_time, weekday_time)
        if first and start == oldest:
            _first_listing(listed, undated[k], now, reach / (now - start), counts[i], exposures[i])
            rate = len(listed) / reach
        else:
            count[k], exposure[k], gap[k] = number - (1.0 if dropped else 0.0), reach, now - start
            rate = shape[i] / scale_rate[i]
        if not dropped:
            count_items(listed, rate, hour_time, feeds.own_hours[i], pooled_hours[0], pooled_hours[1])
            count_items(listed, rate, weekday_time, feeds.own_weekdays[i], pooled_weekdays[0], pooled_weekdays[1])


def flattened(published: Sequence[npt.ArrayLike] | None, count: int, now: float) -> tuple[IntArray, FloatArray]:
    """Publication times in one array with offsets; those in the future are taken for now."""
    if published is None:
        return np.zeros(count + 1, np.int64), np.empty(0)
    lists = [np.asarray(times, np.float64).ravel() for times in published]
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum([len(times) for times in lists], out=offsets[1:])
    flat = lists[0] if len(lists) == 1 else np.concatenate([*lists, np.empty(0)])
    return offsets, np.minimum(np.maximum(flat, -1e11), now)
