"""Feeds learned visit by visit: what a catalogue too large to be scanned can know of its arrivals.

A feed is believed to publish at rate Λπ(t): Λ by several memories (:mod:`recrawl.learning.drift`), π by hours and
weekdays as far as those are to be trusted (:mod:`recrawl.learning.rhythms`). Items fade at μ. What waits there is
Λ∫π(u)e^{−μ(t−u)}du since the last visit: with π̄ the average of π so weighted, the feed is the source
(v, r) = (Λπ̄/μ, μ); under discovery (Λπ̄, 0), π̄ the plain average. Its index is then that of
:mod:`recrawl.kernels.rhythm_index` without looking ahead. π̄ is taken at the beginning of the hour. Only the feeds
visited are touched; the common prior is fitted anew every so many visits.

*The first visit* shows a listing of the latest items. Its oldest dated item marks the window and is not counted; the
others are n − 1 arrivals over that window, whatever the pace: 20 items within 40 s or within 40 years. Each memory
sees the listing through its own forgetting, so one stray date of 1970 is outlived by the short ones. Undated items
beside dated ones are taken to come in the same window; alone they belong to no known time. An empty listing is only a
beginning.

*Later visits* show what came since the last one. A listing that begins long after the last visit, given how dense it
is, has dropped items: then its own window counts.

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
from recrawl.kernels.rhythm_index import HOURS, WEEK
from recrawl.learning.columns import Column, Columns
from recrawl.learning.drift import MEMORIES_DAYS, PRIOR_MEMORY, learn_counts, sum_up
from recrawl.learning.feeds import DAY
from recrawl.learning.model import Moments
from recrawl.learning.rhythms import (
    FIRST_TRUST,
    OWN_ITEMS_BY_HOUR,
    OWN_ITEMS_BY_WEEKDAY,
    Counts,
    count_items,
    fill_candidates,
    fill_exposures,
    judge,
    mixtures,
    past_profile,
    pool,
    trusted,
)
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

_MEMORIES = np.array(MEMORIES_DAYS)
_SIZE = len(MEMORIES_DAYS)
DROPPED_AT = 1e-6
"""A listing has dropped items if its being so late within the gap, by chance, is less likely than this."""
REFIT_SHARE = 0.25
"""The prior is fitted anew after visits to this share of the catalogue, or of all visits so far if that is less."""
CHUNK = 4096
FIRST_PRIOR = (0.5, 0.5)
"""Shape and rate (days) of the law of Λ before anything was seen: one item a day, and anything possible."""


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
    prior: tuple[float, float],
    shape: FloatArray,
    scale_rate: FloatArray,
    seen: BoolArray,
    known_from: FloatArray,
    counts: FloatArray,
    exposures: FloatArray,
    own_hours: Counts,
    own_weekdays: Counts,
    hour_record: Counts,
    weekday_record: Counts,
    hour_trust: FloatArray,
    weekday_trust: FloatArray,
    pooled_hours: FloatArray,
    pooled_weekdays: FloatArray,
    count: FloatArray,
    exposure: FloatArray,
    gap: FloatArray,
) -> None:
    """First listings are learned at once; of later visits, count, exposure and gap are filled in.

    `pooled_hours` and `pooled_weekdays` have the items of all feeds in the first row, those expected in the second.
    """
    common_hours, common_weekdays = np.empty(HOURS), np.empty(WEEK)
    pool(pooled_hours[0], pooled_hours[1], common_hours)
    pool(pooled_weekdays[0], pooled_weekdays[1], common_weekdays)
    hours, weekdays = np.empty((4, HOURS)), np.empty((4, WEEK))
    hour_time, weekday_time = np.empty(HOURS), np.empty(WEEK)
    by_hours, by_weekdays, weights = np.empty(3), np.empty(3), np.empty(3)
    for k in range(len(ids)):
        i = ids[k]
        listed = times[offsets[k] : offsets[k + 1]]
        start, number, first = since[k], len(listed) + undated[k], not seen[i]
        if first:
            seen[i] = True
            known_from[i] = start = listed.min() if len(listed) > 0 else now
        elif len(listed) > 1 and undated[k] == 0.0 and now > start:
            oldest = listed.min()
            late = (now - oldest) / (now - start)
            if 0.0 < late < 1.0 and len(listed) * math.log(late) < math.log(DROPPED_AT):
                start, number = oldest, number - 1.0
        if not now > start:
            continue
        began, until = known_from[i] / DAY, 0.0 if first else since[k] / DAY
        fill_candidates(
            own_hours[i],
            began,
            until,
            common_hours,
            OWN_ITEMS_BY_HOUR,
            hour_record[i],
            hour_trust,
            hour_time,
            weights,
            hours,
        )
        fill_candidates(
            own_weekdays[i],
            began,
            until,
            common_weekdays,
            OWN_ITEMS_BY_WEEKDAY,
            weekday_record[i],
            weekday_trust,
            weekday_time,
            weights,
            weekdays,
        )
        length = (now - start) / DAY
        reach = fill_exposures(start / DAY, now / DAY, hours, weekdays, by_hours, by_weekdays, hour_time, weekday_time)
        if first:
            _first_listing(listed, undated[k], now, reach / length, counts[i], exposures[i])
            a, b, rate = prior[0], prior[1], len(listed) / reach
        else:
            count[k], exposure[k], gap[k] = number, reach, length
            a, b = shape[i], scale_rate[i]
            rate = a / b
        days = listed / DAY
        judge(days, undated[k], a, b, by_hours, hours, first, length, hour_record[i])
        judge(days, undated[k], a, b, by_weekdays, weekdays, first, length, weekday_record[i])
        count_items(days, rate, hour_time, own_hours[i], pooled_hours[0], pooled_hours[1])
        count_items(days, rate, weekday_time, own_weekdays[i], pooled_weekdays[0], pooled_weekdays[1])


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
        "hour_record": Column(np.float32, 0.0, 2),
        "weekday_record": Column(np.float32, 0.0, 2),
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
    own_hours: Counts
    own_weekdays: Counts
    hour_record: Counts
    weekday_record: Counts
    shape: FloatArray
    scale_rate: FloatArray

    def __init__(self, size: int, discovery: bool = False) -> None:
        super().__init__(size)
        self.discovery = discovery
        self.prior = FIRST_PRIOR
        self.common: FloatArray = np.full(_SIZE, 1.0 / _SIZE)
        self.pooled_hours, self.pooled_weekdays = np.zeros((2, HOURS)), np.zeros((2, WEEK))
        self.hour_trust, self.weekday_trust = FIRST_TRUST.copy(), FIRST_TRUST.copy()
        self.visits, self.refit_at = 0.0, 1.0

    def learn(self, visits: Visits, since: FloatArray) -> bool:
        """Take in what visits showed; True if the prior was fitted anew, which changes every feed's beliefs."""
        ids = visits.ids
        offsets, times = flattened(visits.published, len(ids), visits.now)
        undated = np.zeros(len(ids)) if visits.new is None else np.maximum(visits.new.astype(np.float64), 0.0)
        count, exposure, gap = np.zeros(len(ids)), np.zeros(len(ids)), np.zeros(len(ids))
        _listings(
            ids,
            offsets,
            times,
            undated,
            since,
            visits.now,
            self.prior,
            self.shape,
            self.scale_rate,
            self.seen,
            self.known_from,
            self.counts,
            self.exposures,
            self.own_hours,
            self.own_weekdays,
            self.hour_record,
            self.weekday_record,
            self.hour_trust,
            self.weekday_trust,
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
            self.hour_trust = trusted(known, self.hour_record, self.hour_trust)
            self.weekday_trust = trusted(known, self.weekday_record, self.weekday_trust)
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
            hours, weekdays = self._profiles(ids[part], since[part])
            decay = np.zeros(len(hours)) if self.discovery else fading[part] * DAY
            past_profile(now / DAY, since[part] / DAY, decay, hours, weekdays, out[part])
        return out

    def shared(self) -> dict[str, Any]:
        """What belongs to no single feed, as plain numbers."""
        return {
            "prior": list(self.prior),
            "common": self.common.tolist(),
            "hours": self.pooled_hours.tolist(),
            "weekdays": self.pooled_weekdays.tolist(),
            "trust": [self.hour_trust.tolist(), self.weekday_trust.tolist()],
            "visits": [self.visits, self.refit_at],
        }

    def load_shared(self, state: dict[str, Any]) -> None:
        """Go on from `shared`."""
        self.prior = (float(state["prior"][0]), float(state["prior"][1]))
        self.common = np.array(state["common"])
        self.pooled_hours, self.pooled_weekdays = np.array(state["hours"]), np.array(state["weekdays"])
        self.hour_trust, self.weekday_trust = np.array(state["trust"][0]), np.array(state["trust"][1])
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

    def _profiles(self, ids: IntArray, since: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Hours and weekdays of some feeds, watched until `since`."""
        until, pooled_hours, pooled_weekdays = since / DAY, np.empty(HOURS), np.empty(WEEK)
        hours, weekdays = np.empty((len(ids), HOURS)), np.empty((len(ids), WEEK))
        pool(self.pooled_hours[0], self.pooled_hours[1], pooled_hours)
        pool(self.pooled_weekdays[0], self.pooled_weekdays[1], pooled_weekdays)
        start = self.known_from
        mixtures(
            ids,
            self.own_hours,
            start,
            until,
            pooled_hours,
            OWN_ITEMS_BY_HOUR,
            self.hour_record,
            self.hour_trust,
            hours,
        )
        mixtures(
            ids,
            self.own_weekdays,
            start,
            until,
            pooled_weekdays,
            OWN_ITEMS_BY_WEEKDAY,
            self.weekday_record,
            self.weekday_trust,
            weekdays,
        )
        return hours, weekdays
