"""The index with a profile: the plain one where the profile is flat, patient before the busy hours."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recrawl.kernels.continuous_index import continuous_index
from recrawl.kernels.rhythm_crossings import LONGEST_AGE, flat_ages, quiet_until, rhythm_meets
from recrawl.kernels.rhythm_index import FeedBeliefs, SinceVisit, best_wait, carry, rhythm_index, rhythm_scan

FLAT_HOURS, FLAT_WEEK = np.ones((1, 24), np.float32), np.ones((1, 7), np.float32)


def gathered(start: float, end: float, hours: np.ndarray, decay: float) -> tuple[float, float]:
    found: tuple[float, float] = carry(start, end, hours[0], FLAT_WEEK[0], decay, 0.0, 0.0)
    return found


@pytest.mark.parametrize("decay", [0.0, 3.0])
@pytest.mark.parametrize("age", [0.01, 0.3, 2.0])
def test_with_a_flat_profile_it_is_the_plain_index(decay: float, age: float) -> None:
    now = 18_000.37
    exposure, worth = gathered(now - age, now, FLAT_HOURS, decay)
    wait = best_wait(now, 8 / 24, 1e-4, FLAT_HOURS[0], FLAT_WEEK[0], decay, exposure, worth)
    plain = continuous_index(5.0 / decay if decay else 5.0, decay, age)
    assert rhythm_index(5.0, age, exposure, worth, decay, wait) == pytest.approx(plain, rel=1e-3)


@pytest.mark.parametrize("decay", [0.0, 3.0])
def test_exposure_and_worth_are_the_integrals_of_the_profile(decay: float) -> None:
    hours = np.random.default_rng(0).gamma(1.0, 1.0, (1, 24)).astype(np.float32)
    start, end = 18_000.111, 18_002.777
    times = np.linspace(start, end, 400_001)
    middles = 0.5 * (times[1:] + times[:-1])
    profile = hours[0, (middles * 24).astype(int) % 24]
    step = times[1] - times[0]
    exposure, worth = gathered(start, end, hours, decay)
    assert exposure == pytest.approx((profile * step).sum(), rel=1e-4)
    assert worth == pytest.approx((profile * np.exp(-decay * (end - middles)) * step).sum(), rel=1e-4)


def test_a_time_ninety_thousand_years_ahead_is_reached() -> None:
    for end in np.linspace(34_000_000.0, 34_000_300.0, 301).tolist():
        exposure, _ = gathered(end - 30.0, end, FLAT_HOURS, 3.0)
        assert exposure == pytest.approx(30.0, rel=1e-6)


@pytest.mark.parametrize("decay", [0.0, 3.0])
def test_before_the_busy_hours_it_waits_and_never_exceeds_the_plain_index(decay: float) -> None:
    hours = np.where(np.arange(24) == 9, 20.0, 0.2)[None, :].astype(np.float32)
    indices = []
    for clock in (8.9, 10.1):
        now, age = 18_000.0 + clock / 24, 0.2
        wait = best_wait(now, 8 / 24, 1 / 144, hours[0], FLAT_WEEK[0], decay, 0.2, 0.15)
        indices.append(rhythm_index(1.0, age, 0.2, 0.15, decay, wait))
    x = decay * 0.2
    plain = 0.15 * (1 - x / math.expm1(x)) if decay else 0.2 * 0.2 / 2
    assert indices[0] < indices[1] <= plain * (1 + 1e-12)


class Feeds:
    """Feeds with random profiles, paces and doubts."""

    def __init__(self, seed: int, decay: float, count: int = 30) -> None:
        random = np.random.default_rng(seed)
        self.rows, self.size = np.arange(count), count
        self.hours = random.gamma(0.7, 1.0, (count, 24)).astype(np.float32) + np.float32(0.01)
        self.weekdays = random.gamma(3.0, 1 / 3, (count, 7)).astype(np.float32)
        self.rate = random.lognormal(0.0, 2.0, count).astype(np.float32)
        self.shape = random.lognormal(0.0, 1.0, count).astype(np.float32)
        self.scale_rate = random.lognormal(0.0, 1.0, count).astype(np.float32)
        self.decay = np.full(count, decay) * random.lognormal(0.0, 0.5, count)
        self.until = 18_000.0 + random.uniform(-10.0, 0.0, count)
        self.at, self.exposure, self.worth = self.until.copy(), np.zeros(count), np.zeros(count)
        self.since = self.until.copy()

    def state(self) -> tuple[np.ndarray, ...]:
        return (*SinceVisit(self.until, self.at, self.exposure, self.worth), *self.beliefs())

    def beliefs(self) -> FeedBeliefs:
        return FeedBeliefs(self.rate, self.shape, self.scale_rate, self.hours, self.weekdays, self.decay)

    def index(self, now: float | np.ndarray) -> np.ndarray:
        out = np.empty(self.size)
        times = np.full(self.size, now)
        rhythm_scan(self.rows, times, True, self.since, *self.state(), 8 / 24, 1 / 144, 1.2, out)
        return out


@pytest.mark.parametrize("decay", [0.0, 3.0])
def test_what_has_come_may_be_counted_in_any_steps(decay: float) -> None:
    often, once = Feeds(1, decay), Feeds(1, decay)
    for now in np.arange(18_000.0, 18_003.0, 0.013):
        often.index(now)
    np.testing.assert_allclose(often.index(18_003.5), once.index(18_003.5), rtol=1e-9)
    np.testing.assert_allclose(often.index(18_001.3), Feeds(1, decay).index(18_001.3), rtol=1e-9)


@pytest.mark.parametrize("decay", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_nobody_is_taken_for_quiet_who_reaches_the_level(seed: int, decay: float) -> None:
    feeds, now = Feeds(seed, decay), 18_000.2
    level = feeds.index(now) * np.random.default_rng(seed).lognormal(0.5, 1.0, 30) + 1e-9
    until = np.empty(30)
    quiet_until(feeds.rows, now, feeds.since, level, 7.0, *feeds.state(), 8 / 24, 1.2, until)
    assert (until > now).any()
    for share in np.linspace(0.0, 1.0, 400):
        at = now + share * (until - now) * (1 - 1e-9)
        asleep = until > now
        assert (feeds.index(at)[asleep] < level[asleep] * (1 + 1e-9)).all()


def test_a_feed_that_waits_for_busy_hours_sleeps_through_the_quiet_ones() -> None:
    feeds, now = Feeds(1, 3.0), 18_000.0
    feeds.hours[:, :2], feeds.hours[:, 2:6], feeds.hours[:, 6:], feeds.weekdays[:] = 0.02, 6.0, 1.0, 1.0
    feeds.since[:] = feeds.until[:] = feeds.at[:] = now - 0.2
    level, until = np.maximum(feeds.index(now), 1e-12) * 1.05, np.empty(30)
    quiet_until(feeds.rows, now, feeds.since, level, 7.0, *feeds.state(), 8 / 24, 1.2, until)
    assert (until >= now + 2 / 24 - 1e-9).all()
    quiet_until(feeds.rows, now, feeds.since, level, 7.0, *feeds.state(), 0.0, 1.2, until)
    assert (until < now + 1 / 24).all()


@pytest.mark.parametrize("decay", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_level_is_met_where_the_search_says(seed: int, decay: float) -> None:
    feeds = Feeds(seed, decay)
    level = feeds.index(18_002.0) * np.random.default_rng(seed).uniform(0.2, 1.5, 30) + 1e-9
    latest, found = feeds.since + 30.0, np.empty(30)
    rhythm_meets(feeds.rows, feeds.since, level, latest, *feeds.beliefs(), 8 / 24, 1 / 144, 1.2, found)
    met = found < latest
    assert met.any()
    assert (feeds.index(found + 1e-9)[met] >= level[met] * (1 - 1e-6)).all()
    for hour in np.arange(np.floor(feeds.since.min() * 24), np.ceil(found.max() * 24)) / 24:
        before = (feeds.since < hour) & (hour < found - 1e-9)
        assert (feeds.index(hour)[before] < level[before]).all()


@pytest.mark.parametrize("decay", [0.0, 3.0])
def test_at_no_special_hour_the_level_is_met_at_the_age_of_a_flat_profile(decay: float) -> None:
    feeds, ages = Feeds(5, decay), np.empty(30)
    feeds.hours[:], feeds.weekdays[:] = 1.0, 1.0
    level = feeds.index(18_001.0) * 0.9
    flat_ages(feeds.rows, level, feeds.beliefs(), 1.2, ages)
    np.testing.assert_allclose(feeds.index(feeds.since + ages), level, rtol=0.03)


@pytest.mark.parametrize("decay", [0.0, 3.0, 20_000.0])
def test_the_age_of_a_flat_profile_is_found_for_any_pace_doubt_and_level(decay: float) -> None:
    random, count = np.random.default_rng(2), 2000
    rate, shape, scale_rate = (random.lognormal(0.0, spread, count).astype(np.float32) for spread in (3.0, 2.0, 3.0))
    rows, fades, ages = np.arange(count), np.full(count, decay), np.empty(count)
    most = rate / decay * (1.0 + 1.2 / np.sqrt(np.maximum(shape, 1e-3))) if decay else rate * 1e4
    level = most * random.choice([1e-6, 0.01, 0.5, 0.9, 0.999, 1.001], count)
    flat = np.ones((count, 24), np.float32), np.ones((count, 7), np.float32)
    flat_ages(rows, level, FeedBeliefs(rate, shape, scale_rate, *flat, fades), 1.2, ages)
    reached = np.isfinite(ages)
    np.testing.assert_array_equal(reached, (level < most) if decay else np.ones(count, bool))
    reached &= ages < LONGEST_AGE
    s = decay * ages[reached]
    plain = rate[reached] * (-(np.expm1(-s) + s * np.exp(-s)) / decay if decay else ages[reached] ** 2 / 2)
    doubt = 1.2 * np.sqrt(ages[reached] / (scale_rate[reached] + ages[reached]) / np.maximum(shape[reached], 1e-3))
    np.testing.assert_allclose(plain * (1.0 + doubt), level[reached], rtol=1e-5)


def test_a_source_little_is_known_of_is_raised_most() -> None:
    feeds = Feeds(0, 1.0, 2)
    feeds.hours[:], feeds.weekdays[:], feeds.rate[:], feeds.decay[:], feeds.since[:] = 1.0, 1.0, 1.0, 1.0, 18_000.0
    feeds.until[:], feeds.at[:] = 18_000.0, 18_000.0
    feeds.shape[:] = feeds.scale_rate[:] = [0.5, 500.0]
    little, much = feeds.index(18_001.0)
    assert little > 1.3 * much
