import math

import numpy as np
import pytest

from recrawl.errors import ParameterError
from recrawl.kernels.cadence import cadence, captured_per_time, median_delay
from recrawl.kernels.credible_interval import lognormal_interval


def plain_interval(value, rate, price, cost, shortest, longest):
    """The age at which the index, written as in the theory, reaches the price: by bisection."""

    def index(age):
        s = rate * age
        return value / cost * (1 - (1 + s) * math.exp(-s)) if rate > 0 else value * age**2 / (2 * cost)

    low, high = shortest, longest
    if value == 0 or index(high) < price:
        return longest
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if index(middle) >= price else (middle, high)
    return high


def catalogue(seed, count=60):
    random = np.random.default_rng(seed)
    value = random.lognormal(0, 2, count)
    rate = random.lognormal(-9, 1, count)
    rate[:5], value[5:8] = 0.0, 0.0
    value[:5] *= 1e-8
    return value, rate, random.uniform(0.5, 4, count), random.uniform(1, 100, count), random.uniform(1e5, 1e6, count)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("budget", [0.002, 0.02, 0.3])
def test_the_budget_is_spent_and_every_source_is_fetched_where_its_index_meets_the_price(seed, budget):
    value, rate, cost, shortest, longest = catalogue(seed)
    price, interval = cadence(value, rate, budget, cost, shortest, longest)
    assert (cost / interval).sum() == pytest.approx(budget, rel=1e-9)
    columns = zip(value, rate, cost, shortest, longest, strict=True)
    slow = [plain_interval(v, r, price, c, least, most) for v, r, c, least, most in columns]
    assert interval == pytest.approx(slow, rel=1e-5)


def test_without_bounds_a_small_budget_leaves_sources_out():
    value, rate, cost, _, _ = catalogue(0)
    price, interval = cadence(value, rate, 1e-5, cost)
    assert (cost / interval).sum() == pytest.approx(1e-5, rel=1e-9)
    assert np.array_equal(np.isinf(interval), (value == 0) | ((rate > 0) & (value <= price * cost)))


def test_more_than_can_be_spent_is_price_zero():
    price, interval = cadence([1.0, 2.0], [0.1, 0.1], 100.0, min_interval=10.0)
    assert (price, interval.tolist()) == (0.0, [10.0, 10.0])


def test_too_little_for_the_oldest_ages_stretches_all_of_them_alike():
    price, interval = cadence([1.0, 2.0], [0.1, 0.1], 0.01, max_age=[100.0, 50.0])
    assert math.isinf(price)
    assert interval.tolist() == pytest.approx([300.0, 150.0])
    assert (1 / interval).sum() == pytest.approx(0.01)


def test_nothing_of_value_is_only_kept_within_its_age():
    price, interval = cadence([0.0, 0.0], [0.1, 0.0], 1.0, max_age=[50.0, np.inf])
    assert (price, interval.tolist()) == (0.0, [50.0, np.inf])


def test_an_empty_catalogue_costs_nothing():
    price, interval = cadence([], [], 1.0)
    assert (price, len(interval)) == (0.0, 0)


def test_wrong_arguments_are_named():
    with pytest.raises(ParameterError, match=r"value\[1\] must be finite"):
        cadence([1.0, -1.0], 0.1, 1.0)
    with pytest.raises(ParameterError, match="budget must be finite and > 0"):
        cadence([1.0], 0.1, 0.0)


def test_what_is_captured_is_that_of_the_theory_and_tends_to_the_inflow():
    value, rate, interval = np.array([3.0, 3.0, 3.0, 0.0]), 0.2, np.array([5.0, 1e-9, 0.0, 5.0])
    expected = [3 * (1 - math.exp(-1)) / 5, 0.6, 0.6, 0.0]
    assert captured_per_time(value, rate, interval) == pytest.approx(expected, rel=1e-8)
    assert captured_per_time(1.0, 0.0, np.inf) == 0.0


def test_half_of_what_comes_is_seen_within_the_median_delay():
    random = np.random.default_rng(1)
    inflow, interval = random.lognormal(0, 1, 40), random.lognormal(3, 1, 40)
    delay = median_delay(inflow, interval)
    assert (inflow * np.minimum(delay / interval, 1)).sum() == pytest.approx(0.5 * inflow.sum())
    interval[inflow > np.quantile(inflow, 0.6)] = np.inf
    assert median_delay(inflow, interval) == math.inf
    assert median_delay([5.0, 1.0], [0.0, 3.0]) == 0.0
    assert median_delay([3.0, 1.0], [3.0, 0.0]) == pytest.approx(1.0)
    assert median_delay([], []) == 0.0


def test_nine_tenths_of_a_lognormal_law_lie_in_its_interval():
    mean, sd = 3.0, 2.0
    sigma = math.sqrt(math.log(1 + sd**2 / mean**2))
    sample = np.random.default_rng(0).lognormal(math.log(mean) - sigma**2 / 2, sigma, 400_000)
    assert lognormal_interval(mean, sd) == pytest.approx(np.quantile(sample, [0.05, 0.95]), rel=0.01)
    assert lognormal_interval(mean, 0.0) == (mean, mean)
    assert all(map(math.isnan, lognormal_interval(math.nan, 1.0)))
