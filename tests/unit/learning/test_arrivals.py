"""Arrival rates learned from counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gamma

from recrawl.learning.arrivals import ArrivalBeliefs


def crawled(beliefs: ArrivalBeliefs, rates: np.ndarray, visits: int, random: np.random.Generator) -> None:
    ids = np.arange(len(rates))
    for _ in range(visits):
        exposure = random.exponential(1.0, len(rates))
        beliefs.learn(ids, random.poisson(rates * exposure).astype(float), exposure)


@pytest.mark.parametrize("visits", [1, 5, 40])
def test_ninety_per_cent_intervals_hold_the_truth_nine_times_in_ten(visits: int) -> None:
    random = np.random.default_rng(visits)
    rates = random.gamma(0.8, 2.0, 2000)
    beliefs = ArrivalBeliefs(2000)
    crawled(beliefs, rates, visits, random)
    shape, rate = beliefs.posterior(np.arange(2000))
    low, high = gamma.interval(0.9, shape, scale=1.0 / rate)
    assert 0.87 < ((low <= rates) & (rates <= high)).mean() < 0.93


def test_a_new_source_starts_where_the_catalogue_is() -> None:
    random = np.random.default_rng(0)
    beliefs = ArrivalBeliefs(300)
    crawled(beliefs, random.gamma(2.0, 5.0, 300), 5, random)
    beliefs.grow(1)
    assert beliefs.mean(np.array([300]))[0] == pytest.approx(10.0, rel=0.15)
    assert beliefs.sd(np.array([300]))[0] == pytest.approx(5.0 * np.sqrt(2.0), rel=0.2)


def test_evidence_halves_after_one_memory() -> None:
    beliefs = ArrivalBeliefs(1, memory=10.0)
    beliefs.learn(np.array([0]), np.array([8.0]), np.array([4.0]))
    beliefs.learn(np.array([0]), np.array([3.0]), np.array([10.0]))
    assert beliefs.count[0] == pytest.approx(8.0 / 2 + 3.0)
    assert beliefs.exposure[0] == pytest.approx(4.0 / 2 + 10.0)


def test_with_a_memory_a_source_gone_quiet_is_believed_quiet() -> None:
    steady, forgetful = ArrivalBeliefs(2), ArrivalBeliefs(2, memory=20.0)
    ids = np.arange(2)
    for beliefs in (steady, forgetful):
        for count in [10.0] * 50 + [0.0] * 50:
            beliefs.learn(ids, np.array([count, 10.0]), np.ones(2))
    assert forgetful.mean(ids)[0] < 3.0 < steady.mean(ids)[0]


def test_fitting_the_prior_becomes_rare() -> None:
    beliefs = ArrivalBeliefs(10)
    fits = sum(beliefs.learn(np.arange(10), np.ones(10), np.ones(10)) for _ in range(2000))
    assert fits < 40
