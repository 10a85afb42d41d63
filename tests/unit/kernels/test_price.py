import itertools
import math

import numpy as np
import pytest

from recrawl import Sources, relaxed_bound, whittle_index_after
from recrawl.errors import ParameterError
from recrawl.kernels.price import periods_at

TABLE_I = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])


def worth(sources, slots):
    """x_k of every source at every k, a row per k."""
    k = np.asarray(slots, dtype=float)[:, None]
    if sources.lifetime_form == "exact":
        k = np.minimum(k, sources.lifetime)
    return sources.unbounded_ceiling * -np.expm1(-sources.decay_rate * k)


def dual(sources, budget, price, horizon=4000):
    """D(λ) by trying every period up to a horizon."""
    slots = np.arange(1, horizon + 1)
    profit = (worth(sources, slots) - price * sources.cost) / slots[:, None]
    return price * budget + np.maximum(profit.max(axis=0), 0.0).sum()


def random_sources(rng, count, lifetime=math.inf):
    return Sources.ephemeral(
        arrival_rate=rng.uniform(0.1, 10, count),
        interest=rng.uniform(0.1, 3, count),
        decay=rng.uniform(0.02, 2, count),
        cost=rng.uniform(0.5, 3, count),
        lifetime=lifetime,
    )


@pytest.mark.parametrize(("budget", "value"), [(1, 260.38993), (2, 338.05394), (3, 372.41034)])
def test_the_bounds_of_table_i(budget, value):
    assert relaxed_bound(TABLE_I, budget).value == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lifetime", [math.inf, 7.0])
def test_the_bound_is_the_minimum_of_the_dual_function(seed, lifetime):
    rng = np.random.default_rng(seed)
    sources = random_sources(rng, 12, lifetime)
    budget = rng.uniform(0.1, 1.0) * sources.cost.sum()
    bound = relaxed_bound(sources, budget)
    assert dual(sources, budget, bound.price) == pytest.approx(bound.value, rel=1e-10)
    prices = np.linspace(0.0, (sources.ceiling / sources.cost).max(), 400)
    values = np.array([dual(sources, budget, p) for p in prices])
    assert values.min() >= bound.value * (1 - 1e-10)
    assert values.min() == pytest.approx(bound.value, rel=1e-2)
    # Convex: slopes never decrease.
    assert (np.diff(values, 2) >= -1e-9 * values.max()).all()


def test_of_an_interval_of_prices_the_upper_end_is_returned():
    # At M = 1 sources 1 and 2 alternate over a whole interval of prices.
    bound = relaxed_bound(TABLE_I, 1)
    below, above = bound.price * (1 - 1e-9), bound.price * (1 + 1e-9)
    assert dual(TABLE_I, 1, bound.price - 1.0) == pytest.approx(bound.value, rel=1e-12)
    assert (TABLE_I.cost / periods_at(TABLE_I, below)).sum() >= 1.0
    assert (TABLE_I.cost / periods_at(TABLE_I, bound.price)).sum() >= 1.0
    assert (TABLE_I.cost / periods_at(TABLE_I, above)).sum() < 1.0
    assert dual(TABLE_I, 1, bound.price + 1.0) > bound.value + 0.1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lifetime", [math.inf, 6.0])
def test_the_period_at_a_price_is_the_first_slot_whose_index_reaches_it(seed, lifetime):
    rng = np.random.default_rng(seed)
    sources = random_sources(rng, 30, lifetime)
    index = whittle_index_after(sources, np.arange(1, 3000)[:, None])
    for price in rng.uniform(0, 3, 20):
        reached = index >= price
        expected = np.where(reached.any(axis=0), reached.argmax(axis=0) + 1.0, np.inf)
        assert periods_at(sources, price).tolist() == expected.tolist()


def test_no_policy_of_a_small_instance_earns_more():
    # Every periodic schedule of two sources, one crawl per slot, of length up to 8: the bound is above them all and the
    # best comes close.
    sources = Sources.changing(change_probability=[0.4, 0.25], importance=[1.0, 1.4])
    bound = relaxed_bound(sources, 1).value
    best = 0.0
    for length in range(1, 9):
        for schedule in itertools.product((0, 1), repeat=length):
            state, earned = np.zeros(2), 0.0
            for lap in range(6):
                for chosen in schedule:
                    state = sources.decay_factor * state + sources.inflow
                    earned += state[chosen] * (lap == 5)
                    state[chosen] = 0.0
            best = max(best, earned / length)
    assert 0.97 * bound <= best <= bound * (1 + 1e-9)


def test_a_budget_for_everything_makes_crawls_free_of_choice():
    bound = relaxed_bound(TABLE_I, 4)
    assert bound.value == pytest.approx(TABLE_I.inflow.sum())
    assert periods_at(TABLE_I, bound.price).tolist() == [1.0] * 4


def test_a_larger_budget_earns_more_and_costs_less_per_crawl():
    bounds = [relaxed_bound(TABLE_I, m) for m in np.linspace(0.05, 4, 40)]
    assert (np.diff([b.value for b in bounds]) > 0).all()
    assert (np.diff([b.price for b in bounds]) <= 0).all()


def test_a_tiny_budget_sells_to_the_best_worth_per_cost():
    bound = relaxed_bound(TABLE_I, 1e-9)
    best = (TABLE_I.ceiling / TABLE_I.cost).max()
    assert bound.price == pytest.approx(best, rel=1e-6)
    assert bound.value == pytest.approx(best * 1e-9, rel=1e-6)


def test_scaling_worth_scales_value_and_price():
    plain = relaxed_bound(TABLE_I, 2)
    scaled = relaxed_bound(Sources.ephemeral(2500, TABLE_I.interest, [0.7, 0.35, 0.7, 0.21]), 2)
    assert scaled.value == pytest.approx(10 * plain.value, rel=1e-12)
    assert scaled.price == pytest.approx(10 * plain.price, rel=1e-9)


def test_scaling_costs_and_budget_scales_only_the_price():
    dear = Sources.ephemeral(250, TABLE_I.interest, [0.7, 0.35, 0.7, 0.21], cost=5.0)
    assert relaxed_bound(dear, 10).value == pytest.approx(relaxed_bound(TABLE_I, 2).value, rel=1e-12)
    assert relaxed_bound(dear, 10).price == pytest.approx(relaxed_bound(TABLE_I, 2).price / 5, rel=1e-9)


EDGES = {
    "worthless": Sources.changing(change_probability=[0.5, 0.5], importance=[0.0, 0.0]),
    "one of them worthless": Sources.changing(change_probability=[0.0, 0.5], importance=[1.0, 1.0]),
    "always changed": Sources.changing(change_probability=[1.0, 1.0], importance=[1.0, 2.0]),
    "very slow": Sources.ephemeral(arrival_rate=1.0, interest=1.0, decay=[1e-12, 1e-9]),
    "slower than any number of slots": Sources.ephemeral(arrival_rate=1.0, interest=1.0, decay=[1e-300, 1.0]),
    "very fast": Sources.ephemeral(arrival_rate=1.0, interest=1.0, decay=[1e3, 1e6]),
    "far apart": Sources.ephemeral(arrival_rate=[1e-200, 1e200], interest=1.0, decay=0.5),
    "all alike": Sources.changing(change_probability=[0.3] * 2, importance=[1.0] * 2),
    "one slot to live": Sources.ephemeral(arrival_rate=1.0, interest=1.0, decay=[0.5, 1.0], lifetime=1),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("budget", [1e-6, 0.3, 1.0, 2.0])
def test_every_edge_is_finite_and_spends_the_budget(name, budget):
    sources = EDGES[name]
    bound = relaxed_bound(sources, budget)
    assert math.isfinite(bound.value)
    assert math.isfinite(bound.price)
    assert bound.value >= 0
    assert bound.price >= 0
    assert bound.value <= sources.inflow.sum() * (1 + 1e-9)
    assert (sources.cost / periods_at(sources, bound.price)).sum() >= budget * (1 - 1e-9)


@pytest.mark.parametrize("budget", [0, -1, 4.1, math.nan, math.inf, "much", None])
def test_a_budget_that_cannot_be_is_named(budget):
    with pytest.raises(ParameterError, match="budget must be"):
        relaxed_bound(TABLE_I, budget)


def test_a_million_sources_take_seconds():
    rng = np.random.default_rng(0)
    sources = random_sources(rng, 1_000_000)
    budget = 0.05 * sources.cost.sum()
    bound = relaxed_bound(sources, budget)
    spend = (sources.cost / periods_at(sources, bound.price)).sum()
    assert spend == pytest.approx(budget, rel=1e-5)
    assert 0 < bound.value < sources.inflow.sum()
