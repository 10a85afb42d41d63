"""What must hold of the index and the price for any sources at all."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recrawl import (
    Sources,
    continuous_index,
    crossing_age,
    relaxed_bound,
    stochastic_index,
    whittle_index,
    whittle_index_after,
)
from recrawl.kernels.price import periods_at

some = settings(max_examples=60)

positive = st.floats(1e-6, 1e6)
rates = st.floats(1e-9, 50.0)
decay_factors = st.floats(1e-6, 1 - 1e-6)
shares = st.floats(0.0, 2.0)


@st.composite
def catalogues(draw, most=6):
    count = draw(st.integers(1, most))

    def column(low, high):
        return draw(st.lists(st.floats(low, high), min_size=count, max_size=count))

    return Sources.ephemeral(
        arrival_rate=column(0.01, 100.0),
        interest=column(0.01, 10.0),
        decay=column(0.01, 5.0),
        cost=column(0.2, 5.0),
        lifetime=draw(st.sampled_from([np.inf, 1.0, 3.0, 20.0])),
    )


def plain(sources):
    """The same catalogue without lifetimes."""
    return Sources.ephemeral(sources.arrivals_per_slot, sources.interest, sources.decay_rate, sources.cost)


@some
@given(catalogues(), st.lists(shares, min_size=2, max_size=20))
def test_the_index_rises_with_the_state(sources, points):
    sources = plain(sources)
    states = np.sort(points)[:, None] * sources.ceiling
    index = whittle_index(sources, states)
    assert (np.diff(index, axis=0) >= -1e-12 * sources.ceiling / sources.cost).all()


@some
@given(catalogues(), st.lists(st.integers(0, 10**9), min_size=2, max_size=20))
def test_the_index_rises_with_slots_with_and_without_lifetimes(sources, slots):
    index = whittle_index_after(sources, np.sort(slots)[:, None])
    assert (np.diff(index, axis=0) >= -1e-12 * sources.unbounded_ceiling / sources.cost).all()
    assert (index <= sources.ceiling / sources.cost * (1 + 1e-12)).all()


@some
@given(positive, rates, st.lists(st.floats(0.0, 1e3), min_size=2, max_size=20), positive)
def test_the_index_rises_with_age(value, rate, ages, cost):
    index = continuous_index(value, rate, np.sort(ages), cost)
    assert (np.diff(index) >= -1e-14 * value / cost).all()
    assert (index <= value / cost * (1 + 1e-14)).all()


@some
@given(catalogues(), st.integers(1, 400))
def test_theorem_1_meets_the_orbit_form_on_the_orbit(sources, slots):
    sources = plain(sources)
    state = sources.ceiling * -np.expm1(-sources.decay_rate * slots)
    on_state, on_orbit = whittle_index(sources, state), whittle_index_after(sources, np.full(len(sources), slots))
    # 1 − x/u* is known to a rounding, and η to that over e^{−rη}; Theorem 1 is continuous, so little of it shows.
    assert on_state == pytest.approx(on_orbit, rel=1e-9, abs=1e-11 * float((sources.ceiling / sources.cost).max()))


@some
@given(catalogues(), shares, st.floats(1e-3, 1e3))
def test_worth_and_cost_only_scale_the_index(sources, share, factor):
    sources = plain(sources)
    richer = Sources.ephemeral(
        factor * sources.arrivals_per_slot, sources.interest, sources.decay_rate, sources.cost * 2.0
    )
    expected = whittle_index(sources, share * sources.ceiling) * factor / 2.0
    tolerance = 1e-9 * float((richer.ceiling / richer.cost).max())
    assert whittle_index(richer, share * richer.ceiling) == pytest.approx(expected, rel=1e-9, abs=tolerance)


@some
@given(positive, rates, st.floats(1e-4, 20.0), positive, st.floats(1e-3, 1e3))
def test_the_unit_of_time_does_not_matter(value, rate, ripe, cost, unit):
    age = ripe / rate
    assert continuous_index(value, rate * unit, age / unit, cost) == pytest.approx(
        continuous_index(value, rate, age, cost), rel=1e-11
    )


@some
@given(positive, rates, st.floats(1e-6, 30.0), positive)
def test_there_and_back(value, rate, ripe, cost):
    age = ripe / rate
    price = continuous_index(value, rate, age, cost)
    condition = (price * cost / value) / (ripe**2 * np.exp(-ripe))
    rounding = max(1.0, 1.0 / (ripe * ripe)) if ripe >= 0.05 else 1.0
    assert crossing_age(value, rate, price, cost) == pytest.approx(age, rel=4e-15 * (1 + condition) * rounding)


@some
@given(positive, st.floats(0.0, 1e6), positive)
def test_there_and_back_without_ripening(value, age, cost):
    price = continuous_index(value, 0.0, age, cost)
    assert crossing_age(value, 0.0, price, cost) == pytest.approx(age, rel=1e-14, abs=1e-150)


@some
@given(positive, rates, st.lists(st.floats(0.0, 1.2), min_size=2, max_size=20), positive)
def test_a_higher_price_is_reached_later(value, rate, points, cost):
    ages = crossing_age(value, rate, np.sort(points) * value / cost, cost)
    later = ages[1:] >= ages[:-1] * (1 - 1e-12)
    assert later.all()


@some
@given(rates, positive, st.integers(1, 50))
def test_slots_shrunk_to_nothing_give_continuous_time(rate, value, count):
    # At a fixed age τ = kT the slotted index falls towards the continuous one as T → 0.
    assume(rate * count < 30)
    rough, fine = (
        whittle_index_after(Sources.ephemeral(value * rate, 1.0, rate, period=1 / n), [n * count])[0] for n in (1, 1000)
    )
    limit = continuous_index(value, rate, float(count))
    assert limit * (1 - 1e-9) <= fine <= rough * (1 + 1e-9)
    assert fine == pytest.approx(limit, rel=0.02 * max(1.0, rate))


@settings(max_examples=40)
@given(catalogues(), st.floats(0.01, 1.0), st.floats(0.0, 3.0))
def test_the_bound_is_below_the_dual_at_every_price(sources, share, elsewhere):
    budget = share * float(sources.cost.sum())
    bound = relaxed_bound(sources, budget)
    price = bound.price * elsewhere
    periods = periods_at(sources, price)
    slots = np.minimum(periods, sources.lifetime)
    worth = sources.unbounded_ceiling * -np.expm1(-sources.decay_rate * slots)
    earned = np.where(np.isfinite(periods), (worth - price * sources.cost) / periods, 0.0)
    assert bound.value <= price * budget + np.maximum(earned, 0.0).sum() + 1e-9 * bound.value


@settings(max_examples=40)
@given(catalogues(), st.floats(0.01, 1.0), st.lists(st.integers(1, 60), min_size=6, max_size=6))
def test_no_periodic_policy_within_the_budget_earns_more_than_the_bound(sources, share, periods):
    budget = share * float(sources.cost.sum())
    chosen = np.array(periods[: len(sources)], dtype=float)
    spend = (sources.cost / chosen).sum()
    chosen *= np.ceil(max(1.0, spend / budget))
    worth = sources.unbounded_ceiling * -np.expm1(-sources.decay_rate * np.minimum(chosen, sources.lifetime))
    assert (worth / chosen).sum() <= relaxed_bound(sources, budget).value * (1 + 1e-9)


@settings(max_examples=25)
@given(
    st.lists(st.floats(0.0, 10.0), min_size=1, max_size=30),
    decay_factors.filter(lambda a: a < 0.95),
    st.floats(0.1, 10.0),
    st.lists(st.floats(0.0, 50.0), min_size=2, max_size=20),
)
def test_the_stochastic_index_is_finite_rises_and_is_worth_per_cost_far_up(sample, alpha, cost, states):
    index = stochastic_index(sample, alpha, cost)
    values = index(np.sort(states))
    assert np.isfinite(values).all()
    assert (np.diff(values) >= 0).all()
    highest = max(sample) / (1 - alpha)
    assert index(1000 + highest) == pytest.approx((1000 + highest) / cost, rel=0.05)


@settings(max_examples=25)
@given(st.floats(0.01, 100.0), decay_factors, st.floats(0.1, 10.0), st.floats(0.0, 1.5), st.integers(1, 5))
def test_the_stochastic_index_of_a_constant_is_theorem_1(inflow, alpha, cost, share, copies):
    sources = Sources.changing(1 - alpha, inflow / (1 - alpha), cost)
    state = share * sources.ceiling
    index = stochastic_index([inflow] * copies, alpha, cost)
    assert index(state) == pytest.approx(whittle_index(sources, state), abs=3e-6 * sources.ceiling[0] / cost)
