"""What sources would spend at a price, its slope, and what is due."""

import math

import numpy as np
import pytest

from recrawl.errors import ParameterError
from recrawl.kernels.cadence import cadence
from recrawl.kernels.demand import demand


def plain_demand(value, rate, price, cost, shortest, longest):
    """Cost per interval, the interval found by bisection on the index as the theory writes it."""

    def index(age):
        s = rate * age
        return value / cost * (1 - (1 + s) * math.exp(-s)) if rate > 0 else value * age**2 / (2 * cost)

    low, high = shortest, longest
    if value > 0 and index(high) >= price:
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if index(middle) >= price else (middle, high)
    return cost / high


def catalogue(seed, count=60):
    random = np.random.default_rng(seed)
    value = random.lognormal(0, 2, count)
    rate = random.lognormal(-9, 1, count)
    rate[:5], value[5:8] = 0.0, 0.0
    value[:5] *= 1e-8
    return value, rate, random.uniform(0.5, 4, count), random.uniform(1, 2000, count), random.uniform(1e5, 1e6, count)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("price", [1e-4, 0.03, 1.0, 30.0])
def test_each_source_spends_its_cost_once_per_interval(seed, price):
    value, rate, cost, shortest, longest = catalogue(seed)
    spent, _, _ = demand(value, rate, price, cost, shortest, longest)
    slow = [plain_demand(v, r, price, *rest) for v, r, *rest in zip(value, rate, cost, shortest, longest, strict=True)]
    assert spent == pytest.approx(slow, rel=1e-5)


@pytest.mark.parametrize("price", [1e-6, 1e-3, 0.1, 3.0])
def test_the_slope_is_what_differences_say(price):
    value, rate, cost, _, _ = catalogue(7)
    _, slope, _ = demand(value, rate, price, cost)
    step = 1e-3
    up, down = (demand(value, rate, price * math.exp(x), cost)[0] for x in (step, -step))
    smooth = price * cost < 0.99 * np.where(rate > 0, value, np.inf)  # the elasticity has a pole at the ceiling
    assert slope[smooth] == pytest.approx(((up - down) / (2 * step))[smooth], rel=1e-3, abs=1e-15)


def test_nothing_changes_with_the_price_at_a_bound_or_beyond_the_ceiling():
    spent, slope, _ = demand(
        [1.0, 1.0, 1.0], 0.1, [0.5][0], min_interval=[100.0, 0.0, 0.0], max_age=[math.inf, 2.0, 1e9]
    )
    assert spent[:2].tolist() == [0.01, 0.5]
    assert slope[:2].tolist() == [0.0, 0.0]
    assert slope[2] < 0.0
    assert [x.tolist() for x in demand(1.0, 0.1, 2.0)[:2]] == [[0.0], [0.0]]


def test_half_as_elastic_where_the_index_is_quadratic():
    spent, slope, _ = demand([3.0, 3.0], [0.0, 1e-12], 1e-30)
    assert slope == pytest.approx(-0.5 * spent, rel=1e-6)


def test_the_price_of_a_budget_makes_that_demand():
    value, rate, cost, shortest, longest = catalogue(1)
    price, _ = cadence(value, rate, 0.02, cost, shortest, longest)
    assert demand(value, rate, price, cost, shortest, longest)[0].sum() == pytest.approx(0.02, rel=1e-6)


def test_due_is_what_is_as_old_as_its_interval():
    spent, _, backlog = demand(1.0, 0.1, 0.5, cost=[1.0, 1.0, 4.0, 1.0], age=[100.0, 1.0, 1e6, math.inf])
    assert backlog == 2.0
    assert spent[2] == 0.0


def test_a_nonsense_price_is_named():
    with pytest.raises(ParameterError, match="price"):
        demand(1.0, 1.0, math.nan)
