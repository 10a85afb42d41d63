"""Change-rate estimators side by side, and what near-periodic visits do to some of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recrawl.errors import ParameterError

study = pytest.importorskip("benchmarks.estimators", reason="benchmarks are not beside the tests")


@pytest.fixture(scope="module")
def errors() -> dict[tuple[str, str], tuple[float, float]]:
    return {(e.schedule, e.estimator): (e.bias, e.rmse) for e in study.compare_estimators(runs=200)}


@pytest.mark.parametrize(
    ("schedule", "estimator", "rmse"),
    [
        ("regular", "LLN", 0.74),
        ("regular", "SA", 0.74),
        ("regular", "MLE", 0.060),
        ("poisson", "LLN", 0.090),
        ("poisson", "SA", 0.107),
        ("poisson", "MLE", 0.072),
    ],
)
def test_relative_errors_are_those_recomputed_independently(
    errors: dict[tuple[str, str], tuple[float, float]], schedule: str, estimator: str, rmse: float
) -> None:
    assert errors[schedule, estimator][1] == pytest.approx(rmse, rel=0.12)


@pytest.mark.parametrize("estimator", ["LLN", "SA", "SAM"])
def test_near_periodic_visits_bias_all_but_maximum_likelihood(
    errors: dict[tuple[str, str], tuple[float, float]], estimator: str
) -> None:
    assert errors["regular", estimator][0] == pytest.approx(study.periodic_limit(1.0, 1.0) - 1.0, abs=0.05)
    assert errors["index", estimator][0] > 0.5
    assert abs(errors["poisson", estimator][0]) < 0.03
    assert abs(errors["index", "MLE"][0]) < 0.03


def test_visits_made_by_the_index_are_nearly_periodic() -> None:
    gaps = study.index_gaps(1.0, 500, np.random.default_rng(0))
    assert gaps.mean() == pytest.approx(1.0)
    assert gaps.std() < 0.3


def test_the_fixed_point_under_poisson_visits_is_the_change_rate() -> None:
    random = np.random.default_rng(1)
    changed = random.random(200_000) < 2.0 / (2.0 + 0.5)
    gaps = np.full(200_000, 2.0)
    for estimate in (study.law_of_large_numbers, study.stochastic_approximation, study.momentum_approximation):
        assert estimate(gaps, changed, visit_rate=0.5) == pytest.approx(2.0, rel=0.05)


def test_maximum_likelihood_is_finite_where_every_visit_saw_a_change() -> None:
    assert math.isfinite(study.maximum_likelihood(np.ones(5), np.ones(5, dtype=bool)))


@pytest.mark.parametrize("name", study.ESTIMATORS)
def test_wrong_visits_are_named(name: str) -> None:
    with pytest.raises(ParameterError, match="gaps"):
        study.ESTIMATORS[name](np.array([1.0, -1.0]), np.array([True, False]), 1.0)
    with pytest.raises(ParameterError, match="changed"):
        study.ESTIMATORS[name](np.array([1.0, 2.0]), np.array([True]), 1.0)
