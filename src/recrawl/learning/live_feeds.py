"""Feeds learned visit by visit: what a catalogue too large to be scanned can know of its arrivals.

A feed is believed to publish at rate Λπ(t): Λ by several memories (:mod:`recrawl.learning.drift`), π its own hours and
weekdays shrunk to those of the catalogue. Items fade at μ. What waits there is Λ∫π(u)e^{−μ(t−u)}du since the last
visit: with π̄ the average of π so weighted, the feed is the source (v, r) = (Λπ̄/μ, μ); under discovery (Λπ̄, 0), π̄
the plain average. Its index is then that of :mod:`recrawl.kernels.rhythm_index` without looking ahead. π̄ is
taken at the beginning of the hour. Only the feeds visited are touched; the common prior is fitted anew every so many
visits.

*The first visit* shows a listing of the latest items. Its oldest dated item marks the window and is not counted; the
others are n − 1 arrivals over that window, whatever the pace: 20 items within 40 s or within 40 years. Each memory
sees the listing through its own forgetting, so one stray date of 1970 is outlived by the short ones. Undated items
beside dated ones are taken to come in the same window; alone they belong to no known time. An empty listing is only a
beginning.

*Later visits* show what came since the last one. A listing that begins long after the last visit, given how dense it
is, has dropped items: then its own window counts.

*Hours* are only counted of feeds watched, their first listing included, for a day or more, weekdays for a week: a
shorter window would make its own hours look busy.

Times at the interface are Unix seconds; inside, as in the memories, days.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.kernels.likelihood import gamma_prior
from recrawl.kernels.rhythm_index import HOURS, WEEK, shrink_profiles
from recrawl.learning.columns import Column, Columns
from recrawl.learning.drift import MEMORIES_DAYS, PRIOR_MEMORY, learn_counts, sum_up
from recrawl.learning.feeds import DAY, HOUR_ITEMS, WEEKDAY_ITEMS
from recrawl.learning.model import Moments
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

_MEMORIES = np.array(MEMORIES_DAYS)
_SIZE = len(MEMORIES_DAYS)
_EVEN_WEEK = np.ones(WEEK)
MEMORY_OF_HOURS_DAYS, FADED = 7.0, 7.0
"""The profile since the last visit is averaged over a week at most, and not where less than e^{−7} is left."""
LONGEST_PROFILE_DAYS = 28.0
"""Beyond this a window is taken to have seen every hour alike."""
DROPPED_AT = 1e-6
"""A listing has dropped items if its being so late within the gap, by chance, is less likely than this."""
REFIT_SHARE = 0.25
"""The prior is fitted anew after visits to this share of the catalogue, or of all visits so far if that is less."""
CHUNK = 4096
FIRST_PRIOR = (0.5, 0.5)
"""Shape and rate (days) of the law of Λ before anything was seen: one item a day, and anything possible."""


@njit(cache=True)
def _exposure(start: float, end: float, hours: FloatArray, weekdays: FloatArray) -> float:
    """∫π over [start, end], in days."""
    if end - start > LONGEST_PROFILE_DAYS:
        return end - start
    total, at = 0.0, start
    while at < end - 1e-12:
        stop = min((math.floor(at * HOURS + 1e-9) + 1.0) / HOURS, end)
        middle = 0.5 * (at + stop)
        total += (stop - at) * hours[math.floor(middle * HOURS) % HOURS] * weekdays[math.floor(middle) % WEEK]
        at = stop
    return total


@njit(cache=True)
def _past_profile(
    now: float, since: FloatArray, decay: FloatArray, hours: FloatArray, weekdays: FloatArray, out: FloatArray
) -> None:
    """∫π(u)e^{−μ(now−u)}du over ∫e^{−μ(now−u)}du since the last visit; the present hour's π where that is now."""
    for i in range(len(out)):
        begin = max(since[i], now - MEMORY_OF_HOURS_DAYS)
        if decay[i] > 0.0:
            begin = max(begin, now - FADED / decay[i])
        if not begin < now - 1e-9:
            out[i] = hours[i, math.floor(now * HOURS + 1e-9) % HOURS] * weekdays[i, math.floor(now + 1e-9) % WEEK]
            continue
        total, whole, at = 0.0, 0.0, begin
        while at < now - 1e-12:
            stop = min((math.floor(at * HOURS + 1e-9) + 1.0) / HOURS, now)
            middle = 0.5 * (at + stop)
            weight = (stop - at) * math.exp(-decay[i] * (now - middle))
            total += weight * hours[i, math.floor(middle * HOURS) % HOURS] * weekdays[i, math.floor(middle) % WEEK]
            whole += weight
            at = stop
        out[i] = total / whole


@njit(cache=True)
def _date(
    times: FloatArray,
    now: float,
    window: float,
    own_hours: npt.NDArray[np.float32],
    own_weekdays: npt.NDArray[np.float32],
    pooled_hours: FloatArray,
    pooled_weekdays: FloatArray,
) -> None:
    """Count items by hour and weekday, as far as the window allows."""
    for time in times:
        day = min(time, now) / DAY
        hour, weekday = math.floor(day * HOURS) % HOURS, math.floor(day) % WEEK
        if window >= 1.0:
            own_hours[hour] += 1.0
            pooled_hours[hour] += 1.0
        if window >= WEEK:
            own_weekdays[weekday] += 1.0
            pooled_weekdays[weekday] += 1.0


@njit(cache=True)
def _first_listing(
    times: FloatArray, undated: float, now: float, share: float, counts: FloatArray, exposures: FloatArray
) -> None:
    """What the listing of a first visit says to each memory; `share` is ∫π over the window per length of it."""
    oldest = times.min()
    window = (now - oldest) / DAY
    boost = 1.0 + undated / len(times)
    for m in range(len(counts)):
        memory = MEMORIES_DAYS[m]
        count = -math.exp(-window / memory)
        for time in times:
            count += math.exp(-(now - time) / DAY / memory)
        counts[m] = count * boost
        exposures[m] = share * memory * -math.expm1(-window / memory)


@njit(cache=True)
def _listings(
    ids: IntArray,
    offsets: IntArray,
    times: FloatArray,
    undated: FloatArray,
    since: FloatArray,
    now: float,
    hours: FloatArray,
    weekdays: FloatArray,
    seen: BoolArray,
    known_from: FloatArray,
    counts: FloatArray,
    exposures: FloatArray,
    own_hours: npt.NDArray[np.float32],
    own_weekdays: npt.NDArray[np.float32],
    pooled_hours: FloatArray,
    pooled_weekdays: FloatArray,
    count: FloatArray,
    exposure: FloatArray,
    gap: FloatArray,
) -> None:
    """First listings are learned at once; of later visits, count, exposure and gap are filled in."""
    for k in range(len(ids)):
        i = ids[k]
        listed = times[offsets[k] : offsets[k + 1]]
        start, number = since[k], len(listed) + undated[k]
        if not seen[i]:
            seen[i] = True
            known_from[i] = now
            if len(listed) > 0:
                start = listed.min()
                known_from[i] = start
                if start < now:
                    share = _exposure(start / DAY, now / DAY, hours[k], weekdays[k]) / ((now - start) / DAY)
                    _first_listing(listed, undated[k], now, share, counts[i], exposures[i])
        elif now > start:
            if len(listed) > 1 and undated[k] == 0.0:
                oldest = listed.min()
                late = (now - oldest) / (now - start)
                if 0.0 < late < 1.0 and len(listed) * math.log(late) < math.log(DROPPED_AT):
                    start, number = oldest, number - 1.0
            count[k] = number
            exposure[k] = _exposure(start / DAY, now / DAY, hours[k], weekdays[k])
            gap[k] = (now - start) / DAY
        _date(
            listed,
            now,
            (now - known_from[i]) / DAY,
            own_hours[i],
            own_weekdays[i],
            pooled_hours,
            pooled_weekdays,
        )


def flattened(published: Sequence[npt.ArrayLike] | None, count: int, now: float) -> tuple[IntArray, FloatArray]:
    """Publication times in one array with offsets; those in the future are taken for now, those unusable left out."""
    if published is None:
        return np.zeros(count + 1, np.int64), np.empty(0)
    lists = [np.asarray(times, np.float64).ravel() for times in published]
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum([len(times) for times in lists], out=offsets[1:])
    flat = np.concatenate([*lists, np.empty(0)])
    bad = np.isnan(flat)
    if bad.any():
        offsets -= np.concatenate([[0], np.cumsum(bad)])[offsets]
        flat = flat[~bad]
    return offsets, np.clip(flat, -1e11, now)


class LiveFeeds(Columns):
    """What is known of every feed, and what a crawl of each is worth at this hour."""

    columns: ClassVar[dict[str, Column]] = {
        "seen": Column(np.bool_, False),
        "known_from": Column(np.float64, np.nan),
        "counts": Column(np.float64, 0.0, _SIZE),
        "exposures": Column(np.float64, 0.0, _SIZE),
        "record": Column(np.float64, 0.0, _SIZE),
        "own_hours": Column(np.float32, 0.0, HOURS),
        "own_weekdays": Column(np.float32, 0.0, WEEK),
        "weight": Column(np.float64, 1.0 / _SIZE, _SIZE, kept=False),
        "shape": Column(np.float64, FIRST_PRIOR[0], kept=False),
        "scale_rate": Column(np.float64, FIRST_PRIOR[1], kept=False),
    }
    seen: BoolArray
    known_from: FloatArray
    counts: FloatArray
    exposures: FloatArray
    record: FloatArray
    weight: FloatArray
    own_hours: npt.NDArray[np.float32]
    own_weekdays: npt.NDArray[np.float32]
    shape: FloatArray
    scale_rate: FloatArray

    def __init__(self, size: int, discovery: bool = False) -> None:
        super().__init__(size)
        self.discovery = discovery
        self.prior = FIRST_PRIOR
        self.common: FloatArray = np.full(_SIZE, 1.0 / _SIZE)
        self.pooled_hours, self.pooled_weekdays = np.zeros(HOURS), np.zeros(WEEK)
        self.visits, self.refit_at = 0.0, 1.0

    def learn(self, visits: Visits, since: FloatArray) -> bool:
        """Take in what visits showed; True if the prior was fitted anew, which changes every feed's beliefs."""
        ids = visits.ids
        offsets, times = flattened(visits.published, len(ids), visits.now)
        undated = np.zeros(len(ids)) if visits.new is None else np.maximum(visits.new.astype(np.float64), 0.0)
        hours, weekdays = self._profiles(ids)
        count, exposure, gap = np.zeros(len(ids)), np.zeros(len(ids)), np.zeros(len(ids))
        _listings(
            ids,
            offsets,
            times,
            undated,
            since,
            visits.now,
            hours,
            weekdays,
            self.seen,
            self.known_from,
            self.counts,
            self.exposures,
            self.own_hours,
            self.own_weekdays,
            self.pooled_hours,
            self.pooled_weekdays,
            count,
            exposure,
            gap,
        )
        told = exposure > 0.0
        learn_counts(
            ids[told],
            count[told],
            exposure[told],
            gap[told],
            _MEMORIES,
            *self.prior,
            self.counts,
            self.exposures,
            self.record,
        )
        return self._fit(ids)

    def _fit(self, ids: IntArray) -> bool:
        self.visits += len(ids)
        due = self.visits >= self.refit_at
        if due:
            self.refit_at = self.visits + max(REFIT_SHARE * min(self.visits, self.size), 1.0)
            self.refit()
        else:
            self._sum_up(ids)
        return due

    def refit(self) -> None:
        """Fit the law of rates, and how far each memory is trusted, to the feeds seen."""
        known = np.flatnonzero(self.exposures[: self.size, PRIOR_MEMORY] > 0.0)
        if len(known):
            counts, exposures = self.counts[known, PRIOR_MEMORY], self.exposures[known, PRIOR_MEMORY]
            start = self.prior
            if start == FIRST_PRIOR:
                start = (FIRST_PRIOR[0], FIRST_PRIOR[0] * exposures.sum() / (counts.sum() + 0.5))
            shape, rate = gamma_prior(counts, exposures, start)
            self.prior = (float(shape), float(rate))
            self.common = (self.weight[known].sum(axis=0) + 1.0) / (len(known) + _SIZE)
        self._sum_up(np.flatnonzero(self.seen[: self.size]))

    def beliefs(self, ids: IntArray, since: FloatArray, fading: FloatArray, now: float) -> Moments:
        """Value at this hour and rate, each with its standard deviation; `since` and μ, `fading`, are one per id."""
        shape = np.where(self.seen[ids], self.shape[ids], self.prior[0])
        per_day = shape / np.where(self.seen[ids], self.scale_rate[ids], self.prior[1])
        value = per_day / DAY * self.since_last(ids, since, fading, now)
        rate = np.zeros(len(ids)) if self.discovery else fading.copy()
        if not self.discovery:
            value /= fading
        return value, value / np.sqrt(shape), rate, np.zeros(len(ids))

    def since_last(self, ids: IntArray, since: FloatArray, fading: FloatArray, now: float) -> FloatArray:
        """π of each feed averaged over the time since it was last looked at, as far as it has not faded."""
        out = np.empty(len(ids))
        for start in range(0, len(ids), CHUNK):
            part = slice(start, start + CHUNK)
            hours, weekdays = self._profiles(ids[part])
            decay = np.zeros(len(hours)) if self.discovery else fading[part] * DAY
            _past_profile(now / DAY, since[part] / DAY, decay, hours, weekdays, out[part])
        return out

    def shared(self) -> dict[str, Any]:
        """What belongs to no single feed, as plain numbers."""
        return {
            "prior": list(self.prior),
            "common": self.common.tolist(),
            "hours": self.pooled_hours.tolist(),
            "weekdays": self.pooled_weekdays.tolist(),
            "visits": [self.visits, self.refit_at],
        }

    def load_shared(self, state: dict[str, Any]) -> None:
        """Go on from `shared`."""
        self.prior = (float(state["prior"][0]), float(state["prior"][1]))
        self.common = np.array(state["common"])
        self.pooled_hours, self.pooled_weekdays = np.array(state["hours"]), np.array(state["weekdays"])
        self.visits, self.refit_at = state["visits"]

    def settle(self) -> None:
        """Bring what follows from rows and `shared` in line, after either was loaded."""
        self._sum_up(np.flatnonzero(self.seen[: self.size]))

    def _sum_up(self, ids: IntArray) -> None:
        sum_up(
            ids,
            *self.prior,
            self.counts,
            self.exposures,
            self.record,
            self.common,
            self.weight,
            self.shape,
            self.scale_rate,
        )

    def _profiles(self, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        hours, weekdays = np.empty((len(ids), HOURS)), np.empty((len(ids), WEEK))
        shrink_profiles(
            np.arange(len(ids)),
            self.own_hours[ids].astype(np.float64),
            self.own_weekdays[ids].astype(np.float64),
            self.pooled_hours,
            self.pooled_weekdays,
            _EVEN_WEEK,
            HOUR_ITEMS,
            WEEKDAY_ITEMS,
            True,
            hours,
            weekdays,
        )
        return hours, weekdays
