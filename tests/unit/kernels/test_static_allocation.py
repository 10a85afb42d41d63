"""The static lottery of [icc2021, (8)] against a slow search and against its optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.errors import ParameterError
from recrawl.kernels.static_allocation import freshness, static_allocation

PUBLISHED_CHANGE = [0.6, 0.08, 0.01, 0.3]
PUBLISHED_IMPORTANCE = [5, 0.2, 1, 0.5]
PUBLISHED = [0.942, 0.055, 0.003, 0.0]


def spent_at_price(price: float, change: np.ndarray, weight: np.ndarray, cost: np.ndarray, pages: np.ndarray):
    """Oracle: the maximiser at a price by a fine grid over p, page by page."""
    grid = np.linspace(0.0, 1.0, 20001)
    best = []
    for d, w, c in zip(change, weight, cost, strict=True):
        gain = w * grid / (grid + d - d * grid + 1e-300) - price * c * grid
        best.append(grid[np.argmax(gain)])
    p = np.array(best)
    return p, float((p * cost * pages).sum())


def by_search(change, weight, budget, cost, pages):
    low, high = 1e-12, 1e6
    for _ in range(120):
        price = np.sqrt(low * high)
        p, spent = spent_at_price(price, change, weight, cost, pages)
        low, high = (price, high) if spent > budget else (low, price)
    return p


def test_published_distribution_is_not_optimal() -> None:
    best = static_allocation(PUBLISHED_CHANGE, PUBLISHED_IMPORTANCE)
    np.testing.assert_allclose(best, [0.9529, 0.0, 0.0471, 0.0], atol=5e-5)
    assert freshness(best, PUBLISHED_CHANGE, PUBLISHED_IMPORTANCE) == pytest.approx(5.688, abs=5e-4)
    assert freshness(PUBLISHED, PUBLISHED_CHANGE, PUBLISHED_IMPORTANCE) == pytest.approx(5.137, abs=5e-4)


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_a_slow_search(seed: int) -> None:
    random = np.random.default_rng(seed)
    change, weight = random.uniform(0.01, 0.9, 7), random.exponential(1.0, 7)
    cost, pages = random.uniform(0.5, 2.0, 7), random.integers(1, 5, 7).astype(float)
    budget = random.uniform(0.2, 0.6) * float((cost * pages).sum())
    ours = static_allocation(change, weight, budget, cost, pages)
    np.testing.assert_allclose(ours, by_search(change, weight, budget, cost, pages), atol=2e-3)
    assert (ours * cost * pages).sum() == pytest.approx(budget)


@pytest.mark.parametrize("count", [1, 3, 1000, 100_000])
def test_meets_the_optimality_conditions_for_any_number_of_pages(count: int) -> None:
    random = np.random.default_rng(count)
    change, weight = random.uniform(1e-4, 1.0, count), random.exponential(1.0, count)
    budget = 0.3 * count if count > 1 else 0.5
    p = static_allocation(change, weight, budget)
    assert p.sum() == pytest.approx(budget)
    slope = weight * change / (p + change - change * p) ** 2
    inside = (p > 0) & (p < 1)
    price = slope[inside].mean()
    np.testing.assert_allclose(slope[inside], price, rtol=1e-6)
    assert (slope[p == 0] <= price * (1 + 1e-9)).all()
    assert (slope[p == 1] >= price * (1 - 1e-9)).all()


def test_pages_that_always_change_share_what_is_left_at_their_price() -> None:
    np.testing.assert_allclose(static_allocation([1.0, 1.0], [2.0, 2.0], budget=0.5), [0.25, 0.25])
    np.testing.assert_allclose(static_allocation([1.0, 1.0], [3.0, 2.0], budget=1.5), [1.0, 0.5])


def test_a_page_that_never_changes_or_does_not_matter_gets_nothing() -> None:
    np.testing.assert_allclose(static_allocation([0.0, 0.5, 0.5], [9.0, 1.0, 0.0], budget=0.7), [0.0, 0.7, 0.0])


def test_a_budget_for_everything_crawls_everything() -> None:
    np.testing.assert_array_equal(static_allocation([0.2, 0.9], [1.0, 2.0], budget=5.0), [1.0, 1.0])


def test_groups_of_alike_pages_equal_the_pages_one_by_one() -> None:
    grouped = static_allocation([0.1, 0.05], [5.0, 0.5], budget=1.0, pages=[5, 10])
    single = static_allocation(np.repeat([0.1, 0.05], [5, 10]), np.repeat([5.0, 0.5], [5, 10]), budget=1.0)
    np.testing.assert_allclose(np.repeat(grouped, [5, 10]), single)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"change_probability": [0.5, 1.5], "weight": 1.0}, r"change_probability\[1\]"),
        ({"change_probability": [0.5], "weight": [-1.0]}, r"weight\[0\]"),
        ({"change_probability": [0.5], "weight": 1.0, "budget": 0.0}, "budget"),
        ({"change_probability": [[0.5]], "weight": 1.0}, "change_probability"),
        ({"change_probability": [0.5, 0.5], "weight": [1.0, 2.0, 3.0]}, "shapes"),
    ],
)
def test_wrong_input_is_named(options: dict, argument: str) -> None:
    with pytest.raises(ParameterError, match=argument):
        static_allocation(**options)
