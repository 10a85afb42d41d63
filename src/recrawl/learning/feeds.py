"""Feeds in real time: dated items that come by the hour and the weekday, at rates that drift.

The model for items where times are Unix seconds and the half-life is given (or nothing shows the interest of items); it
adds to :class:`~recrawl.learning.items.ItemModel` the profile of each source, shrunk to that of the catalogue, several
memories, the value of waiting for busy hours, and that of finding out.
"""

from __future__ import annotations

import numpy as np

from recrawl.kernels.rhythm_index import HOURS, WEEK, gather, rhythm_scan, shrink_profiles
from recrawl.learning.drift import DriftingArrivals
from recrawl.learning.interest import FadingInterest
from recrawl.learning.items import counted
from recrawl.learning.model import Moments, Setting
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

DAY = 86400.0
HOUR_ITEMS, WEEKDAY_ITEMS = 20.0, 50.0
"""Pseudo-items for which the pooled profile counts in a source's own: by the hour, and by the weekday."""
WEEKDAYS_FROM_DAYS = 7.0
"""Weekdays are told apart from the second week on."""
HORIZON_DAYS, SHORTEST_WAIT_DAYS = 8.0 / 24.0, 1.0 / 144.0
"""How far ahead busy hours are waited for, and the least wait considered."""
BONUS = 1.2
"""What a standard deviation of the log rate, removed, is worth, as a share of the index."""
REFIT_SHARE = 0.25
"""Priors and profiles are fitted anew after visits to this share of the catalogue."""


class FeedModel:
    """Profiles, drifting rates, and the index that looks ahead."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.decay = 0.0 if setting.objective == "discovery" else setting.fading * DAY
        self.started = self.clock = setting.now / DAY
        self.arrivals = DriftingArrivals(setting.targets)
        self.interest: FadingInterest | None = None
        self.appeal = np.ones(setting.targets)
        self.rate = self.arrivals.mean(np.arange(setting.targets))
        self.exposure, self.worth = np.zeros(setting.targets), np.zeros(setting.targets)
        self.own_hours, self.own_weekdays = np.zeros((setting.targets, HOURS)), np.zeros((setting.targets, WEEK))
        self.hours, self.weekdays = np.ones((setting.targets, HOURS)), np.ones((setting.targets, WEEK))
        self.pooled_hours, self.pooled_weekdays, self.weekday_time = np.zeros(HOURS), np.zeros(WEEK), np.zeros(WEEK)
        self.visits_to_refit = 1.0

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray) -> None:
        """Counts over exposures, hours of items, and their interest where it shows."""
        if visits.published is None and visits.new is None:
            return
        self._advance(visits.now / DAY)
        ids = visits.ids
        count, time = counted(visits, since, first)
        backlog = np.maximum(time - (visits.now - since), 0.0) / DAY
        exposure = np.where(time > 0.0, self.exposure[ids] + backlog, 0.0)
        known = exposure > 0.0
        self.arrivals.learn(ids[known], count[known], exposure[known], time[known] / DAY)
        if visits.published is not None:
            self._date(visits)
            self._appraise(visits)
        self.exposure[ids], self.worth[ids] = 0.0, 0.0
        self.visits_to_refit -= len(ids)
        if self.visits_to_refit <= 0.0:
            self.visits_to_refit = max(REFIT_SHARE * len(self.rate), 1.0)
            self.arrivals.refit()
            ids = np.arange(len(self.rate))
        self._shrink(ids)
        self._act(ids)

    def index(self, now: float, since: FloatArray, tick: float) -> FloatArray:
        """The index that looks ahead; discovery in item-seconds, as the plain one."""
        self._advance(now / DAY)
        out = np.empty(len(since))
        rhythm_scan(
            now / DAY,
            since / DAY,
            self.rate,
            self.arrivals.shape,
            self.arrivals.scale_rate,
            self.exposure,
            self.worth,
            self.hours,
            self.weekdays,
            self.decay,
            HORIZON_DAYS,
            SHORTEST_WAIT_DAYS,
            BONUS if self.setting.act == "mean" else 0.0,
            out,
        )
        return out * self.appeal * (DAY if self.decay == 0.0 else 1.0)

    def moments(self, ids: IntArray) -> Moments:
        """Value and rate, per second; for discovery, arrival rate and 0."""
        fading = self.decay / DAY
        value = self.arrivals.mean(ids) * self.appeal[ids] / DAY / (fading or 1.0)
        return value, value / np.sqrt(self.arrivals.shape[ids]), np.full(len(ids), fading), np.zeros(len(ids))

    def grow(self, count: int) -> None:
        """Room for new sources."""
        before = len(self.rate)
        self.arrivals.grow(count)
        if self.interest is not None:
            self.interest.grow(count)
        for name, fill in (("appeal", 1.0), ("rate", 0.0), ("exposure", 0.0), ("worth", 0.0)):
            setattr(self, name, np.concatenate([getattr(self, name), np.full(count, fill)]))
        for name in ("own_hours", "own_weekdays", "hours", "weekdays"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros((count, array.shape[1]))]))
        self._shrink(np.arange(before, before + count))
        self._act(np.arange(before, before + count))

    def _advance(self, today: float) -> None:
        if today <= self.clock:
            return
        gather(self.clock, today, self.hours, self.weekdays, self.decay, self.exposure, self.worth)
        while self.clock < today:
            midnight = min(np.floor(self.clock) + 1.0, today)
            self.weekday_time[int(self.clock) % WEEK] += midnight - self.clock
            self.clock = midnight

    def _date(self, visits: Visits) -> None:
        """Count the items of each source by hour and by weekday."""
        assert visits.published is not None
        for i, times in zip(visits.ids.tolist(), visits.published, strict=True):
            seconds = np.asarray(times, dtype=np.float64)
            if seconds.size:
                hour, weekday = (seconds // 3600 % HOURS).astype(int), (seconds // DAY % WEEK).astype(int)
                for own, pooled, place in (
                    (self.own_hours[i], self.pooled_hours, hour),
                    (self.own_weekdays[i], self.pooled_weekdays, weekday),
                ):
                    np.add.at(own, place, 1.0)
                    np.add.at(pooled, place, 1.0)

    def _appraise(self, visits: Visits) -> None:
        """Initial interest per source, where items show theirs or visits their worth."""
        shown = visits.interest if visits.interest is not None else visits.worth
        if shown is None or self.decay == 0.0:
            return
        assert visits.published is not None
        fading = self.decay / DAY
        if self.interest is None:
            self.interest = FadingInterest(len(self.rate), (fading, fading), self.setting.memory)
        refitted = False
        for i, times, amount in zip(visits.ids.tolist(), visits.published, shown, strict=True):
            ages = np.maximum(visits.now - np.asarray(times, dtype=np.float64), 0.0)
            if ages.size:
                refitted |= self.interest.appraise(i, ages, float(np.sum(amount)), 0.0)
        ids = np.arange(len(self.rate)) if refitted else visits.ids
        self.appeal[ids] = self.interest.estimate(ids)[0]

    def _shrink(self, ids: IntArray) -> None:
        shrink_profiles(
            ids,
            self.own_hours,
            self.own_weekdays,
            self.pooled_hours,
            self.pooled_weekdays,
            self.weekday_time,
            HOUR_ITEMS,
            WEEKDAY_ITEMS,
            self.clock - self.started >= WEEKDAYS_FROM_DAYS,
            self.hours,
            self.weekdays,
        )

    def _act(self, ids: IntArray) -> None:
        """The rate to act on: the mean, a draw, or the mean plus a standard deviation."""
        mean, shape = self.arrivals.mean(ids), self.arrivals.shape[ids]
        if self.setting.act == "thompson":
            mean = self.setting.random.standard_gamma(shape) / self.arrivals.scale_rate[ids]
        elif self.setting.act == "optimism":
            mean = mean * (1.0 + 1.0 / np.sqrt(shape))
        self.rate[ids] = mean
