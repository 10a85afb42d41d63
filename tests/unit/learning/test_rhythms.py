"""Hours and weekdays: counted by the time watched, and drawn to those of the catalogue."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.learning.feed_model import FeedModel
from recrawl.learning.model import Setting
from recrawl.learning.rhythms import MOST_ITEMS, FeedRhythms, count_items, own_profiles, pool, watched
from recrawl.records import FloatArray, Visits

DAY = 86400.0
NOW = 20_000.3 * DAY
WINDOW = 20


def watch(times: list[FloatArray], days: float, gap: float) -> FeedModel:
    """Feeds visited together every `gap` days, each showing its latest items."""
    setting = Setting(NOW, "ephemeral", 6 * 3600.0, None, None, "mean", np.random.default_rng(0))
    feeds, ids = FeedModel(setting), np.arange(len(times))
    feeds.grow(len(times))
    feeds.enter(ids, None)
    last, now = np.full(len(times), NOW), NOW
    for k in range(1, round(days / gap) + 1):
        now, shown = NOW + k * gap * DAY, []
        for i, t in enumerate(times):
            end = int(np.searchsorted(t, now))
            listed = t[max(end - WINDOW, 0) : end]
            shown.append(listed if k == 1 else listed[listed > last[i]])
        feeds.learn(Visits(ids, now, published=shown), last, np.full(len(times), k == 1))
        last = np.full(len(times), now)
    return feeds


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
    counts, start = np.zeros((1, 24), np.float32), 20_000.0 + 10 / 24
    counts[0, [10, 11]] = 200.0
    own = np.empty((1, 24), np.float32)
    known_from, until = np.array([start]), np.array([start + 2 / 24])
    own_profiles(np.array([0]), counts, known_from, until, np.ones(24), 20.0, own)
    np.testing.assert_allclose(own, 1.0, atol=1e-6)


def test_a_feed_of_few_items_has_the_profile_of_the_others() -> None:
    counts, pooled = np.zeros((2, 24), np.float32), np.where(np.arange(24) == 9, 12.5, 0.5)
    counts[1, 3] = 2000.0
    own = np.empty((2, 24), np.float32)
    own_profiles(np.arange(2), counts, np.full(2, 20_000.0), np.full(2, 20_100.0), pooled, 20.0, own)
    np.testing.assert_allclose(own[0], pooled, rtol=1e-6)
    np.testing.assert_allclose(own.mean(axis=1), 1.0, rtol=1e-6)
    assert own[1, 3] > 15.0


def test_pooled_weekdays_are_counted_by_how_long_each_was_watched() -> None:
    counts, expected, profile = np.array([300.0, 100, 100, 100, 100, 100, 100]), np.full(7, 100.0), np.empty(7)
    pool(counts, expected * 1.0, profile)
    assert profile[0] / profile[1] == pytest.approx(2.5, rel=0.1)
    pool(counts, counts * 1.3, profile)
    np.testing.assert_allclose(profile, 1.0, atol=0.1)


def test_each_feed_gets_the_rhythm_it_has() -> None:
    peaked = np.arange(60) % 3 == 0
    hours = watch(made(np.full(60, 8.0), 12.0, peaked, 3), 12.0, 0.25).rhythms.hours[:60]
    assert np.median(hours[peaked, 9:13]) > 2.5
    assert np.median(hours[peaked, 18:23]) < 0.25
    assert np.sqrt(np.mean((hours[~peaked] - 1.0) ** 2)) < 0.4


def test_rates_are_right_whatever_the_weekdays_watched() -> None:
    rates = np.exp(np.random.default_rng(5).normal(1.5, 0.8, 80))
    feeds = watch(made(rates, 10.0, np.zeros(80), 6), 10.0, 0.125)
    believed = feeds.arrivals.mean(np.arange(80))
    assert np.median(believed / rates) == pytest.approx(1.0, abs=0.06)
    assert believed.sum() / rates.sum() == pytest.approx(1.0, abs=0.06)


def test_a_listing_that_reaches_back_before_the_feed_was_known_says_the_pace() -> None:
    items = [NOW - 3600.0 * np.arange(1, 21), NOW - 86400.0 * np.arange(1, 21)]
    fast, slow = watch([np.sort(times) for times in items], 0.01, 0.01).arrivals.mean(np.arange(2))
    assert fast == pytest.approx(24.0, rel=0.2)
    assert slow == pytest.approx(1.0, rel=0.3)


def test_a_listing_that_is_all_new_and_dense_has_dropped_items() -> None:
    step = 86400.0 / 200
    times = np.arange(NOW - 86400.0, NOW + 10 * 86400.0, step)
    believed = watch([times], 10.0, 1.0).arrivals.mean(np.array([0]))
    assert believed[0] == pytest.approx(200.0, rel=0.2)


def test_when_a_slot_is_full_the_proportions_of_all_slots_are_kept() -> None:
    own, counts, expected = np.zeros(24, np.uint16), np.zeros(24), np.zeros(24)
    own[:2] = MOST_ITEMS, 1000
    count_items(np.array([0.0, 1 / 24]), 1.0, np.ones(24), own, counts, expected)
    assert own[:3].tolist() == [MOST_ITEMS // 2 + 1, 501, 0]
    rhythms = FeedRhythms(2)
    packed = rhythms.pack(np.arange(2))
    packed["own_hours"][1, :2] = 4.0 * MOST_ITEMS, 4000.0
    packed["own_hours"][0, 0] = 7.0
    rhythms.unpack(np.arange(2), packed)
    assert rhythms.own_hours[:2, :2].tolist() == [[7, 0], [MOST_ITEMS, 1000]]
