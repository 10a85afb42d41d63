"""Likelihoods against the sums and integrals they stand for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import poisson

from recrawl.kernels.likelihood import (
    add_change_evidence,
    filled,
    gamma_prior,
    inflow_posterior,
    log_change_seen,
    smoothed_change_rate,
)


def plain_log_likelihood(rate: float, gaps: np.ndarray, changed: np.ndarray) -> float:
    total = 0.0
    for gap, saw in zip(gaps, changed, strict=True):
        total += math.log(1 - math.exp(-rate * gap)) if saw else -rate * gap
    return total


@pytest.fixture
def visits() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    gaps = random.exponential(2.0, 60)
    return gaps, random.random(60) < 1 - np.exp(-0.4 * gaps)


def test_evidence_on_a_grid_is_the_log_likelihood_up_to_a_constant(visits: tuple[np.ndarray, np.ndarray]) -> None:
    rates = np.geomspace(0.05, 5.0, 9)
    evidence = np.zeros(9, dtype=np.float32)
    for gap, saw in zip(*visits, strict=True):
        add_change_evidence(evidence, rates, gap, saw)
    plain = np.array([plain_log_likelihood(rate, *visits) for rate in rates])
    np.testing.assert_allclose(evidence, plain - plain.max(), rtol=1e-4, atol=1e-3)


def test_smoothed_estimate_maximises_the_likelihood_with_two_more_visits(visits: tuple[np.ndarray, np.ndarray]) -> None:
    gaps, changed = visits
    more_gaps, more_changed = np.append(gaps, [gaps.mean()] * 2), np.append(changed, [True, False])
    best = minimize_scalar(
        lambda log_rate: -plain_log_likelihood(math.exp(log_rate), more_gaps, more_changed),
        bounds=(-8, 5),
        method="bounded",
    )
    assert smoothed_change_rate(gaps, changed) == pytest.approx(math.exp(best.x), rel=1e-4)


@pytest.mark.parametrize("saw", [True, False])
def test_smoothed_estimate_is_finite_and_positive_when_all_visits_agree(saw: bool) -> None:
    estimate = smoothed_change_rate(np.full(1000, 2.0), np.full(1000, saw))
    assert 0.0 < estimate < 10.0


def test_tiny_and_huge_gaps_have_finite_likelihoods() -> None:
    assert math.isfinite(log_change_seen(1e-12, 1e-12))
    assert log_change_seen(10.0, 1e9) == 0.0
    assert filled(1e-12, 5.0) == pytest.approx(5.0)
    assert filled(2.0, 1e9) == pytest.approx(0.5)


def test_inflow_posterior_is_the_integral_over_inflows() -> None:
    rates, gaps, counts = np.array([0.1, 0.5, 2.0]), np.array([1.0, 4.0, 2.0]), np.array([3.0, 5.0, 2.0])
    dispersion, shape, scale_rate = 2.0, 0.7, 0.3
    weights = np.array([[(1 - math.exp(-r * g)) / r for r in rates] for g in gaps])
    log_posterior, inflow = np.empty(3), np.empty(3)
    inflow_posterior(
        (counts[:, None] * dispersion * np.log(weights)).sum(axis=0),
        weights.sum(axis=0),
        counts.sum() * dispersion,
        dispersion,
        shape,
        scale_rate,
        np.zeros(3),
        log_posterior,
        inflow,
    )
    u = np.linspace(1e-4, 120, 200_000)
    prior = u ** (shape - 1) * np.exp(-scale_rate * u)
    joint = [
        prior
        * np.prod([poisson.pmf(c, u * w / dispersion) for c, w in zip(counts, weights[:, g], strict=True)], axis=0)
        for g in range(3)
    ]
    plain = np.array([row.sum() for row in joint])
    mean = np.array([(row * u).sum() / row.sum() for row in joint])
    np.testing.assert_allclose(np.exp(log_posterior - log_posterior[0]), plain / plain[0], rtol=1e-3)
    np.testing.assert_allclose(inflow, mean, rtol=1e-3)


def test_gamma_prior_finds_the_law_rates_were_drawn_from() -> None:
    random = np.random.default_rng(1)
    rates = random.gamma(1.5, 1 / 0.5, 4000)
    exposure = random.uniform(0.5, 5.0, 4000)
    shape, rate = gamma_prior(random.poisson(rates * exposure).astype(float), exposure, (0.5, 0.5), rounds=500)
    assert shape == pytest.approx(1.5, rel=0.1)
    assert shape / rate == pytest.approx(3.0, rel=0.05)


def test_gamma_prior_of_a_silent_catalogue_expects_little_but_not_nothing() -> None:
    shape, rate = gamma_prior(np.zeros(100), np.ones(100), (0.5, 1.0))
    assert 0.0 < shape / rate < 0.05
