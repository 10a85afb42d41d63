"""The index with a profile: the plain one where the profile is flat, patient before the busy hours."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recrawl.kernels.continuous_index import continuous_index
from recrawl.kernels.rhythm_index import best_wait, gather, rhythm_index, rhythm_scan, shrink_profiles

FLAT_HOURS, FLAT_WEEK = np.ones((1, 24)), np.ones((1, 7))


def gathered(start: float, end: float, hours: np.ndarray, decay: float) -> tuple[float, float]:
    exposure, worth = np.zeros(1), np.zeros(1)
    gather(start, end, hours, FLAT_WEEK, decay, exposure, worth)
    return exposure[0], worth[0]


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
    hours = np.random.default_rng(0).gamma(1.0, 1.0, (1, 24))
    start, end = 18_000.111, 18_002.777
    times = np.linspace(start, end, 400_001)
    middles = 0.5 * (times[1:] + times[:-1])
    profile = hours[0, (middles * 24).astype(int) % 24]
    step = times[1] - times[0]
    exposure, worth = gathered(start, end, hours, decay)
    assert exposure == pytest.approx((profile * step).sum(), rel=1e-4)
    assert worth == pytest.approx((profile * np.exp(-decay * (end - middles)) * step).sum(), rel=1e-4)


@pytest.mark.parametrize("decay", [0.0, 3.0])
def test_before_the_busy_hours_it_waits_and_never_exceeds_the_plain_index(decay: float) -> None:
    hours = np.where(np.arange(24) == 9, 20.0, 0.2)[None, :]
    indices = []
    for clock in (8.9, 10.1):
        now, age = 18_000.0 + clock / 24, 0.2
        wait = best_wait(now, 8 / 24, 1 / 144, hours[0], FLAT_WEEK[0], decay, 0.2, 0.15)
        indices.append(rhythm_index(1.0, age, 0.2, 0.15, decay, wait))
    x = decay * 0.2
    plain = 0.15 * (1 - x / math.expm1(x)) if decay else 0.2 * 0.2 / 2
    assert indices[0] < indices[1] <= plain * (1 + 1e-12)


def test_own_profiles_are_shrunk_to_the_common_one_and_have_mean_one() -> None:
    own = np.zeros((2, 24))
    own[0, 3] = 200.0
    pooled = np.full(24, 50.0)
    hours, weekdays = np.empty((2, 24)), np.empty((2, 7))
    week = np.array([[100.0, 0, 0, 0, 0, 0, 100.0], np.zeros(7)])
    shrink_profiles(
        np.arange(2), own, week, pooled, week.sum(axis=0), np.full(7, 3.0), 20.0, 50.0, True, hours, weekdays
    )
    np.testing.assert_allclose(hours.mean(axis=1), 1.0)
    np.testing.assert_allclose(weekdays.mean(axis=1), 1.0)
    assert hours[0, 3] == pytest.approx(24 * (200 + 20 / 24) / 220, rel=0.01)
    np.testing.assert_allclose(hours[1], 1.0)


def test_a_source_little_is_known_of_is_raised_most() -> None:
    out = np.empty(2)
    args = (np.full(2, 18_000.0), np.ones(2), np.array([0.5, 500.0]), np.array([0.5, 500.0]))
    flat = (np.ones((2, 24)), np.ones((2, 7)))
    rhythm_scan(18_001.0, *args, np.ones(2), np.full(2, 0.5), *flat, 1.0, 8 / 24, 1 / 144, 1.2, out)
    assert out[0] > 1.3 * out[1]
