"""Crawl rates by LambdaCrawl and by Azar et al. against plain optimisation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from recrawl.errors import ParameterError
from recrawl.kernels.crawl_rates import azar_rates, lambda_crawl_rates

RATES = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=12)


@given(RATES, st.floats(1e-3, 1e4))
def test_both_spend_exactly_the_budget(change_rate: list[float], budget: float) -> None:
    for rates in (lambda_crawl_rates(change_rate, budget), azar_rates(change_rate, budget)):
        assert rates.sum() == pytest.approx(budget, rel=1e-9)
        assert (rates >= 0).all()


def test_lambda_crawl_solves_its_quadratic_at_one_price() -> None:
    change, weight = np.array([0.1, 1.0, 5.0]), np.array([1.0, 2.0, 0.5])
    rates = lambda_crawl_rates(change, 3.0, weight)
    # ρ² + Δρ = wΔ/λ with the same λ for all.
    price = weight * change / (rates**2 + change * rates)
    np.testing.assert_allclose(price, price[0], rtol=1e-9)


def test_azar_s_rates_are_the_best_for_freshness_under_poisson_crawls() -> None:
    change, weight = np.array([0.05, 0.3, 1.0, 4.0, 30.0]), np.array([1.0, 1.0, 2.0, 0.5, 1.0])
    rates = azar_rates(change, 3.0, weight)

    def staleness(rho: np.ndarray) -> float:
        return -float((weight * rho / (rho + change)).sum())

    best = minimize(
        staleness,
        np.full(5, 0.6),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda rho: rho.sum() - 3.0},
    )
    assert staleness(rates) <= best.fun + 1e-9
    assert rates[-1] == 0.0


def test_lambda_crawl_starves_nobody_that_changes() -> None:
    rates = lambda_crawl_rates([0.05, 0.3, 30.0, 0.0], 0.1)
    assert (rates[:3] > 0).all()
    assert rates[3] == 0.0


def test_nothing_to_crawl_spends_nothing() -> None:
    assert lambda_crawl_rates([0.0, 0.0], 1.0).tolist() == [0.0, 0.0]
    assert azar_rates([0.0, 0.0], 1.0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("rule", [lambda_crawl_rates, azar_rates])
def test_bad_arguments_are_named(rule: object) -> None:
    with pytest.raises(ParameterError, match=r"change_rate\[1\]"):
        rule([1.0, -1.0], 1.0)  # type: ignore[operator]
    with pytest.raises(ParameterError, match="budget"):
        rule([1.0], 0.0)  # type: ignore[operator]
