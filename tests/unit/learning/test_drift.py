"""Arrival rates that drift."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.learning.drift import DriftingArrivals


def watched(rates: np.ndarray, seed: int = 0) -> DriftingArrivals:
    """Daily counts; one row of rates per day."""
    random = np.random.default_rng(seed)
    beliefs, ids, one = DriftingArrivals(rates.shape[1]), np.arange(rates.shape[1]), np.ones(rates.shape[1])
    for day, today in enumerate(rates):
        beliefs.learn(ids, random.poisson(today).astype(float), one, one)
        if day % 5 == 4:
            beliefs.refit()
    return beliefs


def test_steady_rates_are_learned_with_the_long_memory() -> None:
    truth = np.random.default_rng(1).gamma(1.0, 3.0, 100)
    beliefs = watched(np.tile(truth, (200, 1)))
    assert np.corrcoef(beliefs.mean(np.arange(100)), truth)[0, 1] > 0.99
    assert beliefs.common.argmax() == 3


def test_rates_that_jump_are_followed_with_a_short_memory() -> None:
    random = np.random.default_rng(2)
    levels = np.repeat(random.gamma(0.5, 6.0, (20, 100)), 15, axis=0)
    beliefs = watched(levels)
    assert beliefs.common.argmax() == 0
    assert np.corrcoef(beliefs.mean(np.arange(100)), levels[-1])[0, 1] > 0.8


def test_one_source_may_drift_where_others_do_not() -> None:
    rates = np.full((300, 40), 3.0)
    rates[250:, 0] = 30.0
    beliefs = watched(rates)
    assert beliefs.mean(np.array([0]))[0] == pytest.approx(30.0, rel=0.2)
    assert beliefs.mean(np.arange(1, 40)).mean() == pytest.approx(3.0, rel=0.1)


def test_a_new_source_starts_where_the_catalogue_is() -> None:
    beliefs = watched(np.full((50, 30), 4.0))
    beliefs.grow(1)
    assert beliefs.mean(np.array([30]))[0] == pytest.approx(4.0, rel=0.2)
