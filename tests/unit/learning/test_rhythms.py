"""Hours and weekdays: counted by the time watched, and trusted only where they predict."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.learning.live_feeds import LiveFeeds
from recrawl.learning.rhythms import fill_own, pool, watched
from recrawl.records import FloatArray, Visits

DAY = 86400.0
NOW = 20_000.3 * DAY
WINDOW = 20


def watch(times: list[FloatArray], days: float, gap: float) -> tuple[LiveFeeds, float]:
    """Feeds visited together every `gap` days, each showing its latest items."""
    feeds, ids = LiveFeeds(len(times)), np.arange(len(times))
    last, now = np.full(len(times), NOW), NOW
    for k in range(1, round(days / gap) + 1):
        now, shown = NOW + k * gap * DAY, []
        for i, t in enumerate(times):
            end = int(np.searchsorted(t, now))
            listed = t[max(end - WINDOW, 0) : end]
            shown.append(listed if k == 1 else listed[listed > last[i]])
        feeds.learn(Visits(ids, now, published=shown), last)
        last = np.full(len(times), now)
    return feeds, now


def made(rates: FloatArray, days: float, peaked: FloatArray, seed: int) -> list[FloatArray]:
    """Items at rates per day from long before to `days` after; those of peaked feeds between 8 and 14 o'clock only."""
    random, out = np.random.default_rng(seed), []
    for rate, peak in zip(rates, peaked, strict=True):
        times = random.uniform(NOW - 20 * DAY, NOW + days * DAY, random.poisson(rate * (days + 20)))
        if peak:
            times = np.floor(times / DAY) * DAY + (8 + times / DAY % 1 * 6) * 3600.0
        out.append(np.sort(times))
    return out


@pytest.mark.parametrize("slots", [24, 7])
def test_time_watched_per_slot_agrees_with_looking_minute_by_minute(slots: int) -> None:
    random = np.random.default_rng(4)
    for _ in range(20):
        start = 19_000.0 + random.uniform(0, 30)
        end = start + random.choice([0.01, 0.3, 1.7, 6.5, 40.0])
        found = np.empty(slots)
        watched(start, end, found)
        minutes = np.arange(start, end, 1 / 1440) + 1 / 2880
        slot = (np.floor(minutes * 24) % 24 if slots == 24 else np.floor(minutes) % 7).astype(int)
        np.testing.assert_allclose(found, np.bincount(slot, minlength=slots) / 1440, atol=0.002)
        assert found.sum() == pytest.approx(end - start)


def test_a_busy_window_does_not_make_its_own_hours_look_busy() -> None:
    counts, times = np.zeros(24, np.float32), np.zeros(24)
    counts[[10, 11]], times[[10, 11]] = 200.0, 1 / 24
    own, flat = np.empty(24), np.ones(24)
    fill_own(counts, times, flat, 20.0, own)
    np.testing.assert_allclose(own, 1.0, atol=1e-6)


def test_pooled_weekdays_are_counted_by_how_long_each_was_watched() -> None:
    counts, expected, profile = np.array([300.0, 100, 100, 100, 100, 100, 100]), np.full(7, 100.0), np.empty(7)
    pool(counts, expected * 1.0, profile)
    assert profile[0] / profile[1] == pytest.approx(2.5, rel=0.1)
    pool(counts, counts * 1.3, profile)
    np.testing.assert_allclose(profile, 1.0, atol=0.1)


def test_feeds_without_a_rhythm_are_given_none() -> None:
    rates = np.exp(np.random.default_rng(1).normal(1.0, 1.2, 60))
    feeds, now = watch(made(rates, 12.0, np.zeros(60), 2), 12.0, 0.25)
    hours, weekdays = feeds._profiles(np.arange(60), np.full(60, now))
    assert np.sqrt(np.mean((hours - 1.0) ** 2)) < 0.06
    assert np.sqrt(np.mean((weekdays - 1.0) ** 2)) < 0.06
    assert feeds.hour_trust[0] > 0.5


def test_each_feed_gets_the_rhythm_it_has() -> None:
    peaked = np.arange(60) % 3 == 0
    feeds, now = watch(made(np.full(60, 8.0), 12.0, peaked, 3), 12.0, 0.25)
    hours, _ = feeds._profiles(np.arange(60), np.full(60, now))
    assert np.median(hours[peaked, 9:13]) > 2.5
    assert np.median(hours[peaked, 18:23]) < 0.25
    assert np.sqrt(np.mean((hours[~peaked] - 1.0) ** 2)) < 0.25


def test_rates_are_right_whatever_the_weekdays_watched() -> None:
    rates = np.exp(np.random.default_rng(5).normal(1.5, 0.8, 80))
    feeds, _ = watch(made(rates, 10.0, np.zeros(80), 6), 10.0, 0.125)
    believed = feeds.shape[:80] / feeds.scale_rate[:80]
    assert np.median(believed / rates) == pytest.approx(1.0, abs=0.06)
    assert believed.sum() / rates.sum() == pytest.approx(1.0, abs=0.06)
