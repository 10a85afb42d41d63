"""The lemmas of [tcns2018] hold for the dynamic programmes, and the index lies where they are indifferent.

Interpolating on a grid keeps monotone functions monotone and convex ones convex, so every lemma is exact on the grid up
to rounding and to where value iteration stops.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.value_iteration import (
    Source,
    advantage_of_waiting,
    average_value,
    deterministic,
    discounted_value,
    indifference,
    on_orbits,
)
from recrawl import Sources, stochastic_index, whittle_index, whittle_index_after

SMALL = 1e-8
few = settings(max_examples=15)
fewer = settings(max_examples=6)

decay_factors = st.floats(0.05, 0.85)
costs = st.floats(0.3, 3.0)
price_shares = st.floats(0.02, 0.98)  # of u*/C, above which nothing is ever crawled


@st.composite
def constant_sources(draw):
    alpha, inflow = draw(decay_factors), draw(st.floats(0.2, 5.0))
    return deterministic(alpha, inflow, draw(costs), np.linspace(0.0, inflow / (1 - alpha), 41))


@st.composite
def random_sources(draw):
    points = draw(st.lists(st.floats(0.0, 4.0), min_size=2, max_size=4, unique=True))
    weights = np.array(draw(st.lists(st.floats(0.1, 1.0), min_size=len(points), max_size=len(points))))
    inflow, alpha = np.sort(points), draw(decay_factors)
    highest = max(inflow[-1], 0.1) / (1 - alpha)
    return Source(alpha, inflow, weights / weights.sum(), draw(costs), np.linspace(0.0, highest, 41))


any_source = st.one_of(constant_sources(), random_sources())


def mean_ceiling(source):
    return float(source.inflow @ source.probability) / (1 - source.decay_factor)


def slopes(source, value):
    return np.diff(value) / np.diff(source.grid)


def increasing(values, scale=1.0):
    return bool((np.diff(values) >= -SMALL * scale).all())


def subsidy_of(source, share):
    return share * source.grid[-1] / source.cost


@few
@given(any_source, price_shares, st.floats(0.3, 0.97))
def test_lemmas_1_and_6_the_discounted_value_is_increasing_convex_and_lipschitz(source, share, discount):
    value = discounted_value(source, subsidy_of(source, share), discount)
    scale = 1 + np.abs(value).max()
    assert increasing(value, scale)
    gap = np.diff(source.grid).min()
    assert increasing(slopes(source, value), scale / gap)
    # The printed constant is (1 − (αδ)^τ)/(1 − α); a unit of worth is never worth more than one unit.
    assert slopes(source, value).max() <= 1 + SMALL * scale / gap


@few
@given(constant_sources(), price_shares, st.floats(0.3, 0.9))
def test_lemma_1_the_discounted_value_is_the_one_solution(source, share, discount):
    subsidy = subsidy_of(source, share)
    value = discounted_value(source, subsidy, discount)
    wait = source.cost * subsidy + discount * source.expected(value, source.decay_factor * source.grid)
    crawl = source.grid + discount * source.expected(value, np.zeros(1))
    assert np.maximum(wait, crawl) == pytest.approx(value, abs=1e-9 * (1 + value.max()))


@few
@given(any_source, price_shares)
def test_lemma_2_the_average_value_is_increasing_and_convex_and_zero_after_a_crawl(source, share):
    value, _ = average_value(source, subsidy_of(source, share))
    scale = 1 + np.abs(value).max()
    assert increasing(value, scale)
    assert increasing(slopes(source, value), scale / np.diff(source.grid).min())
    assert source.expected(value, np.zeros(1))[0] == pytest.approx(0.0, abs=SMALL * scale)


@few
@given(constant_sources(), price_shares)
def test_lemma_2_beta_is_what_the_best_period_earns(source, share):
    subsidy = subsidy_of(source, share)
    orbit = on_orbits(source.decay_factor, float(source.inflow[0]), source.cost, 0.0, 150)
    _, beta = average_value(orbit, subsidy)
    slots = np.arange(1, 151)
    worth = mean_ceiling(source) * (1 - source.decay_factor**slots)
    periodic = (source.cost * subsidy * (slots - 1) + worth) / slots
    assert beta == pytest.approx(max(periodic.max(), source.cost * subsidy), rel=1e-8)


@few
@given(any_source, price_shares)
def test_lemma_3_value_iteration_finds_one_solution_of_the_average_programme(source, share):
    subsidy = subsidy_of(source, share)
    value, beta = average_value(source, subsidy)
    wait = source.cost * subsidy + source.expected(value, source.decay_factor * source.grid)
    scale = 1 + source.grid[-1]
    assert value + beta == pytest.approx(np.maximum(wait, source.grid), abs=SMALL * scale)


@few
@given(any_source, price_shares)
def test_lemma_4_the_optimal_policy_waits_below_a_threshold_and_crawls_above(source, share):
    subsidy = subsidy_of(source, share)
    value, _ = average_value(source, subsidy)
    waiting = advantage_of_waiting(source, subsidy, value)
    # Corollary 1: x − E V(αx + U) never decreases, so the passive set is an interval from the left.
    assert increasing(-waiting, 1 + source.grid[-1])


@few
@given(any_source, st.lists(price_shares, min_size=2, max_size=5, unique=True))
def test_lemmas_5_and_7_the_passive_set_grows_with_the_subsidy(source, shares):
    passive = np.zeros(len(source.grid), dtype=bool)
    for share in sorted(shares):
        subsidy = subsidy_of(source, share)
        value, _ = average_value(source, subsidy)
        waiting = advantage_of_waiting(source, subsidy, value)
        tolerance = SMALL * (1 + source.grid[-1])
        assert (waiting[passive] > -tolerance).all()
        passive |= waiting > tolerance


@few
@given(any_source)
def test_the_passive_set_is_empty_without_a_subsidy_and_everything_under_a_large_one(source):
    for subsidy, sign in ((0.0, -1.0), (2.0 * source.grid[-1] / source.cost, 1.0)):
        value, _ = average_value(source, subsidy)
        assert (sign * advantage_of_waiting(source, subsidy, value)[1:] > 0).all()


@fewer
@given(any_source, price_shares)
def test_average_is_the_limit_of_discounted(source, share):
    subsidy = subsidy_of(source, share)
    value, beta = average_value(source, subsidy)
    discount = 0.995
    faded = discounted_value(source, subsidy, discount, tolerance=1e-6)
    reset = source.expected(faded, np.zeros(1))[0]
    scale = 1 + source.grid[-1]
    assert (1 - discount) * reset == pytest.approx(beta, abs=0.03 * scale)
    assert faded - reset == pytest.approx(value, abs=0.1 * scale)


@few
@given(decay_factors, st.floats(0.2, 5.0), costs, st.floats(0.02, 0.97))
def test_the_index_lies_where_the_oracle_is_indifferent(alpha, inflow, cost, share):
    ceiling = inflow / (1 - alpha)
    state = share * ceiling
    oracle = indifference(on_orbits(alpha, inflow, cost, state, 80), state)
    sources = Sources.changing(change_probability=1 - alpha, importance=ceiling, cost=cost)
    assert whittle_index(sources, [state])[0] == pytest.approx(oracle, rel=1e-6, abs=1e-8 * ceiling / cost)


@few
@given(decay_factors, st.floats(0.2, 5.0), costs, st.integers(1, 12))
def test_the_index_on_the_orbit_lies_where_the_oracle_is_indifferent(alpha, inflow, cost, slots):
    ceiling = inflow / (1 - alpha)
    state = 0.0
    for _ in range(slots):
        state = alpha * state + inflow
    oracle = indifference(on_orbits(alpha, inflow, cost, 0.0, 80), state)
    sources = Sources.changing(change_probability=1 - alpha, importance=ceiling, cost=cost)
    assert whittle_index_after(sources, [slots])[0] == pytest.approx(oracle, rel=1e-6)


@fewer
@given(
    st.lists(st.integers(0, 8), min_size=2, max_size=4, unique=True), st.floats(0.1, 0.8), costs, st.floats(0.1, 1.2)
)
def test_the_stochastic_index_lies_where_the_oracle_is_indifferent(points, alpha, cost, share):
    inflow = np.sort(points) / 4.0
    even = np.full(len(points), 1 / len(points))
    highest = inflow[-1] / (1 - alpha)
    state = min(share * inflow.mean() / (1 - alpha), 0.95 * highest)
    grid = np.unique(np.append(np.linspace(0.0, highest, 250), state))
    oracle = indifference(Source(alpha, inflow, even, cost, grid), state, tolerance=1e-5)
    # Both interpolate: the oracle on 250 points with kinks at every preimage of the threshold.
    assert stochastic_index(inflow, alpha, cost)(state) == pytest.approx(oracle, abs=2e-3 * highest / cost)
