"""Feeds in real time: dated items that come by the hour and the weekday, at rates that drift.

A feed is believed to publish at rate Λπ(t): Λ by several memories (:mod:`recrawl.learning.drift`), π by hours and
weekdays as far as those are to be trusted (:mod:`recrawl.learning.rhythms`). Items fade at μ. The index waits for busy
hours and counts what a crawl finds out (:mod:`recrawl.kernels.rhythm_index`).

What listings of visits say is the matter of :mod:`recrawl.learning.listings`. Times at the interface are Unix seconds;
inside, as in the memories, days.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from recrawl.kernels.information_bonus import information
from recrawl.kernels.rhythm_crossings import flat_ages, quiet_until, rhythm_meets
from recrawl.kernels.rhythm_index import (
    HOURS,
    WEEK,
    FeedBeliefs,
    best_wait,
    carry,
    rhythm_index,
    rhythm_scan,
)
from recrawl.kernels.worth import LN2
from recrawl.learning.columns import Parts
from recrawl.learning.drift import DriftingArrivals
from recrawl.learning.interest import FadingInterest
from recrawl.learning.listings import flattened, learn_listings
from recrawl.learning.model import Moments, Reason, Setting, Times
from recrawl.learning.rates import normalised
from recrawl.learning.rhythms import OWN_ITEMS_BY_HOUR, OWN_ITEMS_BY_WEEKDAY, FeedRhythms, own_profiles, pool
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

DAY = 86400.0
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
        self.arrivals.update_posterior(rows)
        self._bring_in_line(rows)

    def leave(self, rows: IntArray) -> None:
        """What these showed no longer counts in the common law."""
        self.arrivals.counted[rows] = False

    def agree(self, rows: IntArray, fading: FloatArray, weight: FloatArray) -> None:
        """The decay of interest in some feeds, and what they are worth per cost."""
        self.rhythms.decay[rows] = 0.0 if self.discovery else fading * DAY
        self.rhythms.put("weight", rows, weight)
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
        learn_listings(
            rows, offsets, times / DAY, undated, since / DAY, now,
            arrivals.shape, arrivals.scale_rate, arrivals.counts, arrivals.exposures,
            rhythms.record(), self.pooled_hours, self.pooled_weekdays, count, exposure, gap,
        )  # fmt: skip
        told = exposure > 0.0
        arrivals.learn(rows[told], count[told], exposure[told], gap[told])
        rhythms.until[rows] = now
        appraised = self._appraise(visits)
        self.visits += len(rows)
        if self.visits >= self.refit_at:
            self.refit_at = self.visits + max(REFIT_SHARE * min(self.visits, len(self)), 1.0)
            self.refit()
            return True
        arrivals.update_posterior(rows)
        self._bring_in_line(rows)
        return appraised

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
        self.rhythms.put("appeal", rows, self.interest.estimate(rows)[0])
        return refitted

    def _bring_in_line(self, rows: IntArray) -> None:
        """Profile and rate of some feeds, as what was learned has them; what has come since is to be counted anew.

        The rate to act on is the mean, a draw, or the mean plus a standard deviation.
        """
        rhythms, hours, weekdays = self.rhythms, self.common_hours, self.common_weekdays
        start, end = rhythms.known_from, rhythms.until
        own_profiles(rows, rhythms.own_hours, start, end, hours, OWN_ITEMS_BY_HOUR, rhythms.hours)
        own_profiles(rows, rhythms.own_weekdays, start, end, weekdays, OWN_ITEMS_BY_WEEKDAY, rhythms.weekdays)
        self._empty(rows)
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
        out = np.empty(len(rows))
        times, ahead = np.full(len(rows), now) / DAY, (HORIZON_DAYS, SHORTEST_WAIT_DAYS, self.bonus)
        columns: tuple[Any, ...] = (*self.rhythms.since_visit(), *self._believed(), *ahead, out)
        rhythm_scan(rows, times, isinstance(now, float), since / DAY, *columns)
        return out * self._worth(rows)

    def asleep_until(self, rows: IntArray, since: FloatArray, now: float, level: Times) -> FloatArray:
        """Times before which the index of some feeds is surely below a level, within a day."""
        out, ahead = np.empty(len(rows)), (HORIZON_DAYS, self.bonus)
        with np.errstate(divide="ignore"):
            wanted = level / self._worth(rows)
        columns: tuple[Any, ...] = (*self.rhythms.since_visit(), *self._believed(), *ahead, out)
        quiet_until(rows, now / DAY, since / DAY, wanted, FURTHEST_DAYS, *columns)
        return out * DAY

    def meets(self, rows: IntArray, since: FloatArray, level: Times, latest: FloatArray) -> FloatArray:
        """Times at which the index of some feeds meets a level, `latest` at most."""
        out, ahead = np.empty(len(rows)), (HORIZON_DAYS, SHORTEST_WAIT_DAYS, self.bonus)
        with np.errstate(divide="ignore"):
            wanted = level / self._worth(rows)
        furthest = since / DAY + LONGEST_SEARCH_DAYS
        rhythm_meets(rows, since / DAY, wanted, np.minimum(latest / DAY, furthest), *self._believed(), *ahead, out)
        return np.where(out < furthest, np.minimum(out * DAY, latest), latest)

    def ages(self, rows: IntArray, level: Times) -> FloatArray:
        """Ages at which it would do so if every hour were alike; inf for never."""
        out, wanted = np.empty(len(rows)), level / np.maximum(self._worth(rows), 1e-300)
        flat_ages(rows, wanted, self._believed(), self.bonus, out)
        return out * DAY

    def rates(self, rows: IntArray) -> FloatArray:
        """Items per second, on average."""
        return self.arrivals.mean(rows) / DAY

    def rate_shares(self, rows: IntArray, rates: FloatArray) -> FloatArray:
        """Probabilities of rates per second, which are at equal ratios."""
        per_day = rates * DAY
        shape, scale_rate = self.arrivals.shape[rows][:, None], self.arrivals.scale_rate[rows][:, None]
        return normalised(shape * np.log(per_day) - scale_rate * per_day)

    def found_so_far(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Since when and until when feeds were watched, Unix seconds, NaN for never, and their items per second."""
        rows = np.arange(len(self))
        return self.rhythms.known_from[rows] * DAY, self.rhythms.until[rows] * DAY, self.rates(rows)

    def _believed(self) -> FeedBeliefs:
        arrivals, rhythms = self.arrivals, self.rhythms
        law = rhythms.rate, arrivals.shape, arrivals.scale_rate
        return FeedBeliefs(*law, rhythms.hours, rhythms.weekdays, rhythms.decay)

    def _worth(self, rows: IntArray) -> FloatArray:
        result: FloatArray = self.rhythms.weight[rows] * self.rhythms.appeal[rows]
        return result * DAY if self.discovery else result

    # -- queries

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
                "half_life_s": LN2 * DAY / decay if decay > 0.0 else math.inf,
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

    def recompute(self) -> None:
        """Bring everything in line with rows and common laws, after either was loaded."""
        rows = np.arange(len(self))
        self.arrivals.update_posterior(rows)
        self._bring_in_line(rows)
