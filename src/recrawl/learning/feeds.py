"""Feeds in real time: dated items that come by the hour and the weekday, at rates that drift.

A feed is believed to publish at rate Λπ(t): Λ by several memories (:mod:`recrawl.learning.drift`), π by hours and
weekdays as far as those are to be trusted (:mod:`recrawl.learning.rhythms`). Items fade at μ. The index waits for busy
hours and counts what a crawl finds out (:mod:`recrawl.kernels.rhythm_index`).

*The first visit* shows a listing of the latest items. Where it reaches back to before the feed was known, its oldest
dated item marks the window and is not counted; the others are n − 1 arrivals over that window, whatever the pace: 20
items within 40 s or within 40 years. Each memory sees the listing through its own forgetting, so one stray date of 1970
is outlived by the short ones. Otherwise it shows what came since the feed was known. Undated items beside dated ones
are taken to come in the same window; alone they belong to no known time.

*Later visits* show what came since the last one. A listing that begins long after the last visit, given how dense it
is, has dropped items: then its own window counts, and the hours of its items say nothing.

Times at the interface are Unix seconds; inside, as in the memories, days.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.kernels.rhythm_index import (
    HOURS,
    WEEK,
    best_wait,
    carry,
    flat_ages,
    information,
    quiet_until,
    rhythm_index,
    rhythm_meets,
    rhythm_scan,
)
from recrawl.learning.columns import Column, Columns, Parts
from recrawl.learning.drift import MEMORIES_DAYS, DriftingArrivals, Record
from recrawl.learning.interest import FadingInterest
from recrawl.learning.model import Moments, Reason, Setting, Times
from recrawl.learning.rhythms import (
    OWN_ITEMS_BY_HOUR,
    OWN_ITEMS_BY_WEEKDAY,
    Counts,
    count_items,
    fill_exposures,
    own_profiles,
    pool,
)
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

DAY = 86400.0
DROPPED_AT = 1e-6
"""A listing has dropped items if its being so late within the gap, by chance, is less likely than this."""
HORIZON_DAYS, SHORTEST_WAIT_DAYS = 8.0 / 24.0, 1.0 / 144.0
"""How far ahead busy hours are waited for, and the least wait considered."""
BONUS = 1.2
"""What a standard deviation of the log rate, removed, is worth, as a share of the index."""
REFIT_SHARE = 0.25
"""Priors and trust are fitted anew after visits to this share of the catalogue, or of all visits if those are fewer."""
LONGEST_SEARCH_DAYS = 400.0
"""How far ahead the time is looked for at which a feed is worth a crawl."""
FURTHEST_DAYS = 1.0
"""How far ahead it is worth knowing that nothing can happen: a look a day is cheaper than a search over a week."""


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
def _listings(
    rows: IntArray,
    offsets: IntArray,
    times: FloatArray,
    undated: FloatArray,
    since: FloatArray,
    now: float,
    shape: Record,
    scale_rate: Record,
    seen: BoolArray,
    known_from: FloatArray,
    counts: Record,
    exposures: Record,
    own_hours: Counts,
    own_weekdays: Counts,
    hours: Counts,
    weekdays: Counts,
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
        start, number, first = since[k], len(listed) + undated[k], not seen[i]
        oldest = listed.min() if len(listed) > 0 else now
        backlog = first and oldest < start
        dropped = len(listed) > 1 and undated[k] == 0.0 and _begins_late(len(listed), now - oldest, now - start)
        if first:
            seen[i] = True
            known_from[i] = oldest if backlog or dropped else now if len(listed) == 0 and number > 0.0 else start
        if backlog or dropped:
            start = oldest
        elif first:
            start = known_from[i]
        if not now > start:
            continue
        reach = fill_exposures(start, now, hours[i], weekdays[i], hour_time, weekday_time)
        if first and start == oldest:
            _first_listing(listed, undated[k], now, reach / (now - start), counts[i], exposures[i])
            rate = len(listed) / reach
        else:
            count[k], exposure[k], gap[k] = number - (1.0 if dropped else 0.0), reach, now - start
            rate = shape[i] / scale_rate[i]
        if not dropped:
            count_items(listed, rate, hour_time, own_hours[i], pooled_hours[0], pooled_hours[1])
            count_items(listed, rate, weekday_time, own_weekdays[i], pooled_weekdays[0], pooled_weekdays[1])


def flattened(published: Sequence[npt.ArrayLike] | None, count: int, now: float) -> tuple[IntArray, FloatArray]:
    """Publication times in one array with offsets; those in the future are taken for now."""
    if published is None:
        return np.zeros(count + 1, np.int64), np.empty(0)
    lists = [np.asarray(times, np.float64).ravel() for times in published]
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum([len(times) for times in lists], out=offsets[1:])
    flat = lists[0] if len(lists) == 1 else np.concatenate([*lists, np.empty(0)])
    return offsets, np.minimum(np.maximum(flat, -1e11), now)


class FeedRhythms(Columns):
    """When each feed publishes, and what has come since its last visit; times in days.

    Hours and weekdays as they are believed, the rate to act on, and owners' terms follow from what is kept. `exposure`
    and `worth` are those of :mod:`recrawl.kernels.rhythm_index` at the time `at`.
    """

    columns: ClassVar[Mapping[str, Column]] = {
        "seen": Column(np.bool_, False),
        "known_from": Column(np.float64, np.nan),
        "until": Column(np.float64, 0.0),
        "own_hours": Column(np.float32, 0.0, HOURS),
        "own_weekdays": Column(np.float32, 0.0, WEEK),
        "hours": Column(np.float32, 1.0, HOURS, kept=False),
        "weekdays": Column(np.float32, 1.0, WEEK, kept=False),
        "rate": Column(np.float32, 0.0, kept=False),
        "appeal": Column(np.float32, 1.0, kept=False),
        "decay": Column(np.float64, 1.0, kept=False),
        "weight": Column(np.float64, 1.0, kept=False),
        "at": Column(np.float64, 0.0, kept=False),
        "exposure": Column(np.float64, 0.0, kept=False),
        "worth": Column(np.float64, 0.0, kept=False),
    }
    seen: BoolArray
    known_from: FloatArray
    until: FloatArray
    own_hours: Counts
    own_weekdays: Counts
    hours: Counts
    weekdays: Counts
    rate: Counts
    appeal: Counts
    decay: FloatArray
    weight: FloatArray
    at: FloatArray
    exposure: FloatArray
    worth: FloatArray


class FeedModel(Parts):
    """Profiles, drifting rates, and the index that looks ahead."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.discovery = setting.objective == "discovery"
        self.arrivals = DriftingArrivals(0)
        self.rhythms = FeedRhythms(0)
        self.parts = (self.arrivals, self.rhythms)
        self.interest: FadingInterest | None = None
        self.bonus = BONUS if setting.act == "mean" else 0.0
        self.pooled_hours, self.pooled_weekdays = np.zeros((2, HOURS)), np.zeros((2, WEEK))
        self.other_hours, self.other_weekdays = np.zeros((2, HOURS)), np.zeros((2, WEEK))
        self.common_hours, self.common_weekdays = np.ones(HOURS), np.ones(WEEK)
        """The profile of all feeds together, as it was when last fitted."""
        self.visits, self.refit_at = 0.0, 1.0
        self.shown = np.zeros(1, np.int64), np.empty(0), np.empty(0)
        """What the latest visits listed: publication times cut by offsets, and how many more had none."""

    def grow(self, count: int) -> None:
        """Rows for new sources."""
        super().grow(count)
        if self.interest is not None:
            self.interest.grow(count)

    def clear(self, rows: IntArray) -> None:
        """Rows for new sources, of sources that are gone."""
        super().clear(rows)
        if self.interest is not None:
            self.interest.clear(rows)

    def enter(self, rows: IntArray, labels: Sequence[str] | None) -> None:
        """New rows: nothing is known of them."""
        self.arrivals.settle(rows)
        self._bring_in_line(rows)

    def leave(self, rows: IntArray) -> None:
        """What these showed no longer counts in the common law."""
        self.arrivals.counted[rows] = False

    def agree(self, rows: IntArray, fading: FloatArray, weight: FloatArray) -> None:
        """The decay of interest in some feeds, and what they are worth per cost."""
        self.rhythms.decay[rows] = 0.0 if self.discovery else fading * DAY
        self.rhythms.weight[rows] = weight
        self._empty(rows)

    def looked_at(self, rows: IntArray, last: FloatArray) -> None:
        """Some feeds were crawled at these times, and no more is known of them."""
        self.rhythms.until[rows] = last / DAY
        self._empty(rows)

    def _empty(self, rows: IntArray) -> None:
        """What has come since the last visit is yet to be counted."""
        rhythms = self.rhythms
        rhythms.at[rows], rhythms.exposure[rows], rhythms.worth[rows] = rhythms.until[rows], 0.0, 0.0

    # -- learning

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray) -> bool:
        """Counts over exposures, hours of items, and their interest where it shows."""
        rows, rhythms, arrivals, now = visits.ids, self.rhythms, self.arrivals, visits.now / DAY
        if visits.published is None and visits.new is None:
            rhythms.until[rows] = now
            self._empty(rows)
            return False
        offsets, times = flattened(visits.published, len(rows), visits.now)
        undated = np.zeros(len(rows)) if visits.new is None else np.maximum(visits.new.astype(np.float64), 0.0)
        self.shown = offsets, times, undated
        count, exposure, gap = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
        _listings(
            rows,
            offsets,
            times / DAY,
            undated,
            since / DAY,
            now,
            arrivals.shape,
            arrivals.scale_rate,
            rhythms.seen,
            rhythms.known_from,
            arrivals.counts,
            arrivals.exposures,
            rhythms.own_hours,
            rhythms.own_weekdays,
            rhythms.hours,
            rhythms.weekdays,
            self.pooled_hours,
            self.pooled_weekdays,
            count,
            exposure,
            gap,
        )
        told = exposure > 0.0
        arrivals.learn(rows[told], count[told], exposure[told], gap[told])
        rhythms.until[rows] = now
        appraised = self._appraise(visits)
        return self._refit_or(rows) or appraised

    def _refit_or(self, rows: IntArray) -> bool:
        """Fit the common laws anew if it is time, or bring these feeds alone in line; whether it was time."""
        self.visits += len(rows)
        due = self.visits >= self.refit_at
        if due:
            self.refit_at = self.visits + max(REFIT_SHARE * min(self.visits, len(self)), 1.0)
            self.refit()
        else:
            self.arrivals.settle(rows)
            self._bring_in_line(rows)
        return due

    def refit(self) -> None:
        """Fit the law of rates, how far memories are trusted, and the common profile to all feeds."""
        self.arrivals.refit()
        by_hour, by_weekday = self.pooled_hours + self.other_hours, self.pooled_weekdays + self.other_weekdays
        pool(by_hour[0], by_hour[1], self.common_hours)
        pool(by_weekday[0], by_weekday[1], self.common_weekdays)
        self._bring_in_line(np.arange(len(self)))

    def summary(self) -> FloatArray:
        """What the common laws are fitted to, summed over feeds."""
        return np.concatenate([self.arrivals.summary(), self.pooled_hours.ravel(), self.pooled_weekdays.ravel()])

    def adopt(self, others: FloatArray) -> None:
        """Count the summary of feeds that others know of."""
        ends = np.cumsum([len(self.arrivals.others), 2 * HOURS])
        self.arrivals.others, hours, weekdays = np.split(others, ends)
        self.other_hours, self.other_weekdays = hours.reshape(2, HOURS), weekdays.reshape(2, WEEK)
        self.refit()

    def _appraise(self, visits: Visits) -> bool:
        """Initial interest per source, where items show theirs or visits their worth; True if everybody's changed."""
        shown = visits.interest if visits.interest is not None else visits.worth
        if shown is None or visits.published is None or self.discovery:
            return False
        if self.interest is None:
            self.interest = FadingInterest(len(self), (self.setting.fading, self.setting.fading), self.setting.memory)
        refitted = False
        for i, times, amount in zip(visits.ids.tolist(), visits.published, shown, strict=True):
            ages = np.maximum(visits.now - np.asarray(times, dtype=np.float64), 0.0)
            if ages.size:
                refitted |= self.interest.appraise(i, ages, float(np.sum(amount)), 0.0)
        rows = np.arange(len(self)) if refitted else visits.ids
        self.rhythms.appeal[rows] = self.interest.estimate(rows)[0]
        return refitted

    def _bring_in_line(self, rows: IntArray) -> None:
        """Profile and rate of some feeds, as what was learned has them; what has come since is to be counted anew."""
        rhythms, hours, weekdays = self.rhythms, self.common_hours, self.common_weekdays
        start, end = rhythms.known_from, rhythms.until
        own_profiles(rows, rhythms.own_hours, start, end, hours, OWN_ITEMS_BY_HOUR, rhythms.hours)
        own_profiles(rows, rhythms.own_weekdays, start, end, weekdays, OWN_ITEMS_BY_WEEKDAY, rhythms.weekdays)
        self._empty(rows)
        self._act(rows)

    def _act(self, rows: IntArray) -> None:
        """The rate to act on: the mean, a draw, or the mean plus a standard deviation."""
        mean, shape = self.arrivals.mean(rows), self.arrivals.shape[rows]
        if self.setting.act == "thompson":
            mean = self.setting.random.standard_gamma(shape) / self.arrivals.scale_rate[rows]
        elif self.setting.act == "optimism":
            mean = mean * (1.0 + 1.0 / np.sqrt(shape))
        self.rhythms.rate[rows] = mean

    # -- ranking

    def index(self, rows: IntArray, since: FloatArray, now: Times, tick: float) -> FloatArray:
        """The index that looks ahead; discovery in item-seconds, as the plain one.

        Asked for one time, it keeps what has come by then; asked for several, it only looks.
        """
        out, rhythms, arrivals = np.empty(len(rows)), self.rhythms, self.arrivals
        rhythm_scan(
            rows,
            np.full(len(rows), now) / DAY,
            isinstance(now, float),
            since / DAY,
            rhythms.until,
            rhythms.at,
            rhythms.exposure,
            rhythms.worth,
            rhythms.rate,
            arrivals.shape,
            arrivals.scale_rate,
            rhythms.hours,
            rhythms.weekdays,
            rhythms.decay,
            HORIZON_DAYS,
            SHORTEST_WAIT_DAYS,
            self.bonus,
            out,
        )
        return out * self._worth(rows)

    def asleep_until(self, rows: IntArray, since: FloatArray, now: float, level: float) -> FloatArray:
        """Times before which the index of some feeds is surely below a level, within a day."""
        out, rhythms, arrivals = np.empty(len(rows)), self.rhythms, self.arrivals
        with np.errstate(divide="ignore"):
            wanted = level / self._worth(rows)
        quiet_until(
            rows,
            now / DAY,
            since / DAY,
            wanted,
            FURTHEST_DAYS,
            rhythms.until,
            rhythms.at,
            rhythms.exposure,
            rhythms.worth,
            rhythms.rate,
            arrivals.shape,
            arrivals.scale_rate,
            rhythms.hours,
            rhythms.weekdays,
            rhythms.decay,
            HORIZON_DAYS,
            self.bonus,
            out,
        )
        return out * DAY

    def meets(self, rows: IntArray, since: FloatArray, level: float, latest: FloatArray) -> FloatArray:
        """Times at which the index of some feeds meets a level, `latest` at most."""
        out, rhythms, arrivals = np.empty(len(rows)), self.rhythms, self.arrivals
        with np.errstate(divide="ignore"):
            wanted = level / self._worth(rows)
        furthest = since / DAY + LONGEST_SEARCH_DAYS
        rhythm_meets(
            rows,
            since / DAY,
            wanted,
            np.minimum(latest / DAY, furthest),
            rhythms.rate,
            arrivals.shape,
            arrivals.scale_rate,
            rhythms.hours,
            rhythms.weekdays,
            rhythms.decay,
            HORIZON_DAYS,
            SHORTEST_WAIT_DAYS,
            self.bonus,
            out,
        )
        return np.where(out < furthest, np.minimum(out * DAY, latest), latest)

    def ages(self, rows: IntArray, level: float) -> FloatArray:
        """Ages at which it would do so if every hour were alike; inf for never."""
        arrivals, rhythms = self.arrivals, self.rhythms
        out, wanted = np.empty(len(rows)), level / np.maximum(self._worth(rows), 1e-300)
        flat_ages(rows, wanted, rhythms.rate, arrivals.shape, arrivals.scale_rate, rhythms.decay, self.bonus, out)
        return out * DAY

    def _worth(self, rows: IntArray) -> FloatArray:
        result: FloatArray = self.rhythms.weight[rows] * self.rhythms.appeal[rows]
        return result * DAY if self.discovery else result

    # -- looking

    def moments(self, rows: IntArray) -> Moments:
        """Value and rate, per second, averaged over the hours; for discovery, arrival rate and 0."""
        fading = self.rhythms.decay[rows] / DAY
        value = self.arrivals.mean(rows) * self.rhythms.appeal[rows] / DAY
        if not self.discovery:
            value /= fading
        return value, value / np.sqrt(self.arrivals.shape[rows]), fading, np.zeros(len(rows))

    def reasons(self, rows: IntArray, since: FloatArray, now: float) -> list[Reason]:
        """Pace and its doubt, what this hour makes of it, what waits there, and what waiting and finding out do."""
        rhythms, arrivals, today = self.rhythms, self.arrivals, now / DAY
        found = []
        for k, i in enumerate(rows.tolist()):
            hours, weekdays, decay = rhythms.hours[i], rhythms.weekdays[i], float(rhythms.decay[i])
            exposure, worth = carry(float(rhythms.until[i]), today, hours, weekdays, decay, 0.0, 0.0)
            wait = best_wait(today, HORIZON_DAYS, SHORTEST_WAIT_DAYS, hours, weekdays, decay, exposure, worth)
            rate, shape, scale = float(rhythms.rate[i]), float(arrivals.shape[i]), float(arrivals.scale_rate[i])
            age = max(today - float(since[k]) / DAY, 0.0)
            ripe = exposure * 0.5 * age if self.discovery else worth
            numbers = {
                "items_per_day": rate,
                "items_per_day_sd": math.sqrt(shape) / scale,
                "profile_now": float(hours[math.floor(today * HOURS) % HOURS] * weekdays[math.floor(today) % WEEK]),
                "items_waiting": rate * exposure,
                "worth_waiting": rate * worth,
                "wait_factor": rhythm_index(rate, age, exposure, worth, decay, wait) / max(rate * ripe, 1e-300),
                "doubt_factor": 1.0 + self.bonus * information(shape, scale, exposure),
                "weight": float(self._worth(rows[k : k + 1])[0]),
                "half_life_s": math.log(2.0) * DAY / decay if decay > 0.0 else math.inf,
                "age_s": age * DAY,
            }
            found.append(Reason("rhythm", numbers))
        return found

    # -- keeping

    def shared(self) -> dict[str, Any]:
        """What belongs to no single feed, as plain numbers."""
        return {
            "prior": list(self.arrivals.prior),
            "common": self.arrivals.common.tolist(),
            "hours": self.pooled_hours.tolist(),
            "weekdays": self.pooled_weekdays.tolist(),
            "profile": [self.common_hours.tolist(), self.common_weekdays.tolist()],
            "visits": [self.visits, self.refit_at],
        }

    def load_shared(self, state: dict[str, Any]) -> None:
        """Go on from `shared`."""
        profile = state.get("profile", [np.ones(HOURS), np.ones(WEEK)])
        told = [np.array(law, np.float64) for law in (state["common"], state["hours"], state["weekdays"], *profile)]
        shapes = [self.arrivals.common.shape, (2, HOURS), (2, WEEK), (HOURS,), (WEEK,)]
        if [law.shape for law in told] != shapes or not all(np.isfinite(law).all() for law in told):
            raise ValueError("the law of feeds is of another form")
        self.arrivals.prior = (float(state["prior"][0]), float(state["prior"][1]))
        self.arrivals.common, self.pooled_hours, self.pooled_weekdays, self.common_hours, self.common_weekdays = told
        self.visits, self.refit_at = state["visits"]

    def settle(self) -> None:
        """Bring everything in line with rows and common laws, after either was loaded."""
        rows = np.arange(len(self))
        self.arrivals.settle(rows)
        self._bring_in_line(rows)
