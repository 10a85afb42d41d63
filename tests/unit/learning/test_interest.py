"""Interest and its decay learned from worth, items and clicks."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.learning.interest import FadingInterest

SPAN = (1e-3, 10.0)


def test_worth_after_gaps_of_several_lengths_shows_inflow_and_decay() -> None:
    random = np.random.default_rng(0)
    inflow, decay = np.array([100.0, 30.0]), np.array([0.5, 0.05])
    interest = FadingInterest(2, SPAN)
    for _ in range(300):
        gaps = random.exponential(5.0, 2) + 0.1
        mean = inflow * -np.expm1(-decay * gaps) / decay
        interest.collect(np.arange(2), gaps, random.poisson(mean).astype(float))
    found_inflow, found_decay = interest.estimate(np.arange(2))
    np.testing.assert_allclose(found_inflow, inflow, rtol=0.06)
    np.testing.assert_allclose(found_decay, decay, rtol=0.1)


def test_worth_at_one_age_says_little_of_the_decay_and_other_sources_fill_in() -> None:
    random = np.random.default_rng(1)
    alone, together = FadingInterest(1, SPAN), FadingInterest(200, SPAN)
    decay, inflow = 0.5, 40.0
    for _ in range(60):
        gaps = np.append(3.0, random.exponential(4.0, 199) + 0.1)
        worth = random.poisson(inflow * -np.expm1(-decay * gaps) / decay).astype(float)
        alone.collect(np.array([0]), gaps[:1], worth[:1])
        together.collect(np.arange(200), gaps, worth)
    assert together.estimate(np.array([0]))[1][0] == pytest.approx(decay, rel=0.15)
    assert alone.estimate(np.array([0]))[1][0] != pytest.approx(decay, rel=0.15)


def test_the_interest_of_items_at_their_ages_shows_initial_interest_and_decay() -> None:
    random = np.random.default_rng(2)
    interest = FadingInterest(1, SPAN)
    for _ in range(400):
        ages = random.exponential(4.0, 5)
        interest.appraise(0, ages, float(random.poisson(20.0 * np.exp(-0.3 * ages)).sum()), gap=1.0)
    initial, decay = interest.estimate(np.array([0]))
    assert initial[0] == pytest.approx(20.0, rel=0.1)
    assert decay[0] == pytest.approx(0.3, rel=0.1)


def test_a_given_half_life_leaves_only_the_inflow_to_learn() -> None:
    interest = FadingInterest(1, (0.5, 0.5))
    for _ in range(50):
        interest.collect(np.array([0]), np.array([2.0]), np.array([10.0 * -np.expm1(-1.0) / 0.5]))
    inflow, decay = interest.estimate(np.array([0]))
    assert decay[0] == 0.5
    assert inflow[0] == pytest.approx(10.0, rel=0.02)


def test_dispersion_is_learned_from_surprises() -> None:
    random = np.random.default_rng(4)
    calm, wild = FadingInterest(1, SPAN), FadingInterest(1, SPAN)
    for _ in range(500):
        gap = random.exponential(2.0, 1) + 0.1
        mean = 1000.0 * -np.expm1(-0.4 * gap) / 0.4
        calm.collect(np.array([0]), gap, random.poisson(mean).astype(float))
        wild.collect(np.array([0]), gap, 50.0 * random.poisson(mean / 50.0))
    assert 0.5 < calm.dispersion[0] < 2.0
    assert 25.0 < wild.dispersion[0] < 100.0
