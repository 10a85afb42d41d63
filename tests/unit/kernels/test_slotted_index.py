import math

import mpmath
import numpy as np
import pytest

from recrawl import Sources, whittle_index, whittle_index_after
from recrawl.errors import ParameterError
from recrawl.kernels.slotted_index import ceiled_index_of_state, index_after, index_of_state, worth_after

TABLE_I = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])


def changing(alpha, ceiling=1.0, cost=1.0):
    return Sources.changing(change_probability=1.0 - alpha, importance=ceiling, cost=cost)


def theorem_1(x, rate, ceiling, cost):
    """The theorem as printed, in 60 digits, for 0 < x < u*."""
    with mpmath.workdps(60):
        alpha, top = mpmath.exp(-mpmath.mpf(rate)), mpmath.mpf(ceiling)
        inflow = top * (1 - alpha)
        eta = mpmath.ceil(mpmath.log(1 - mpmath.mpf(x) / top) / mpmath.log(alpha))
        return float((eta * ((1 - alpha) * mpmath.mpf(x) - inflow) + top * (1 - alpha**eta)) / mpmath.mpf(cost))


def gamma(slots, rate, ceiling, cost):
    """γ_k in 60 digits."""
    with mpmath.workdps(60):
        alpha, top = mpmath.exp(-mpmath.mpf(rate)), mpmath.mpf(ceiling)
        k = mpmath.mpf(slots)
        return float((top * (1 - alpha**k) - k * top * (1 - alpha) * alpha**k) / mpmath.mpf(cost))


RATES = [1e-12, 1e-9, 1e-6, 1e-3, 0.01, 0.1, 0.24, 0.26, 1.0, 5.0, 40.0]


@pytest.mark.parametrize("rate", RATES)
def test_the_index_on_the_orbit_is_exact_to_rounding(rate):
    sources = Sources.ephemeral(arrival_rate=2.0, interest=rate, decay=rate, cost=0.5)
    ceiling, cost = float(sources.ceiling[0]), float(sources.cost[0])
    for slots in (1, 2, 3, 10, 100, 1000, 10**6):
        exact = gamma(slots, rate, ceiling, cost)
        computed = whittle_index_after(sources, [slots])[0]
        # Arrays take the plain formula once r·k is not small; a rounding there is one of the full price.
        plain = rate * slots >= 0.05
        assert computed == pytest.approx(exact, rel=1e-13, abs=1e-15 * ceiling / cost if plain else 0.0)
        assert index_after(slots, rate, float(sources.inflow[0]), ceiling, cost) == pytest.approx(exact, rel=2e-14)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("share", [1e-9, 1e-3, 0.1, 0.24, 0.26, 0.5, 0.9, 0.999, 1 - 1e-9])
def test_theorem_1_on_any_state_is_exact_to_rounding(rate, share):
    sources = Sources.ephemeral(arrival_rate=3.0, interest=rate, decay=rate, cost=2.0)
    ceiling, inflow = float(sources.ceiling[0]), float(sources.inflow[0])
    state = share * ceiling
    exact = theorem_1(state, rate, ceiling, 2.0)
    # Near the ceiling the theorem depends on the rounding of 1 − x/u*.
    tolerance = {"rel": 1e-11, "abs": 1e-14 * ceiling}
    assert whittle_index(sources, [state])[0] == pytest.approx(exact, **tolerance)
    assert index_of_state(state, rate, inflow, ceiling, 2.0) == pytest.approx(exact, **tolerance)


@pytest.mark.parametrize("alpha", [1e-6, 0.3, 0.5, 0.9, 0.999])
def test_a_saturated_source_is_worth_its_worth(alpha):
    sources = changing(alpha, ceiling=3.0, cost=2.0)
    states = np.array([3.0, np.nextafter(3.0, 4.0), 3.5, 1e6])[:, None]
    assert whittle_index(sources, states)[:, 0].tolist() == (states[:, 0] / 2.0).tolist()
    just_below = whittle_index(sources, [np.nextafter(3.0, 0.0)])[0]
    assert just_below == pytest.approx(1.5, rel=1e-9)


def test_states_that_rounding_puts_at_the_ceiling_are_not_lost():
    rng = np.random.default_rng(0)
    alpha, inflow = rng.uniform(0.01, 0.99, 5000), rng.uniform(0.1, 10, 5000)
    sources = changing(alpha, inflow / (1 - alpha))
    state = np.zeros(5000)
    for _ in range(3000):
        state = sources.decay_factor * state + sources.inflow
    index = whittle_index(sources, state)
    assert np.isfinite(index).all()
    assert index == pytest.approx(sources.ceiling, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.8, 0.97])
def test_a_ceiling_off_by_one_through_rounding_does_not_matter(alpha):
    sources = changing(alpha, ceiling=7.0)
    state, slots = 0.0, np.arange(1, 200)
    orbit = []
    for _ in slots:
        state = alpha * state + float(sources.inflow[0])
        orbit.append(state)
    for nudged in (orbit, np.nextafter(orbit, 0.0), np.nextafter(orbit, 100.0)):
        on_state = whittle_index(sources, np.asarray(nudged)[:, None])[:, 0]
        assert on_state == pytest.approx(whittle_index_after(sources, slots[:, None])[:, 0], rel=1e-9)


def test_the_simplified_formula_with_its_ceiling_is_wrong_off_the_orbit():
    rate, inflow, ceiling = (float(x[0]) for x in (TABLE_I.decay_rate, TABLE_I.inflow, TABLE_I.ceiling))
    orbit = worth_after(2.0, rate, ceiling) * (1 - 1e-12)
    assert ceiled_index_of_state(orbit, rate, inflow, ceiling, 1.0) == pytest.approx(
        index_of_state(orbit, rate, inflow, ceiling, 1.0), rel=1e-9
    )
    between = 0.5 * (worth_after(1.0, rate, ceiling) + worth_after(2.0, rate, ceiling))
    assert ceiled_index_of_state(between, rate, inflow, ceiling, 1.0) < 0.9 * index_of_state(
        between, rate, inflow, ceiling, 1.0
    )
    assert ceiled_index_of_state(2 * ceiling, rate, inflow, ceiling, 1.0) == 2 * ceiling


def test_below_the_inflow_the_index_is_a_straight_line_from_nothing():
    sources = changing(0.6, ceiling=5.0, cost=2.0)
    states = np.linspace(0.0, 2.0, 9)[:, None]  # u = 2
    assert whittle_index(sources, states)[:, 0] == pytest.approx(0.4 * states[:, 0] / 2.0, rel=1e-12)


def test_a_dearer_source_has_a_lower_index():
    cheap, dear = changing(0.7, 2.0, 1.0), changing(0.7, 2.0, 5.0)
    assert whittle_index(dear, [1.3]) == pytest.approx(whittle_index(cheap, [1.3]) / 5)
    assert whittle_index_after(dear, [3]) == pytest.approx(whittle_index_after(cheap, [3]) / 5)


def lifetime_sources(form):
    # α = 0.8, u = 1, items dropped after 5 slots
    rate = -math.log(0.8)
    return Sources.ephemeral(arrival_rate=5 * rate, interest=1.0, decay=rate, lifetime=5, lifetime_form=form)


def test_an_exact_lifetime_lets_the_index_jump_to_the_full_worth():
    exact = lifetime_sources("exact")
    assert exact.inflow[0] == pytest.approx(1.0)
    slots = np.arange(0, 9)[:, None]
    worth = 5 * (1 - 0.8 ** np.minimum(slots, 5))
    grown = 5 * (1 - 0.8 ** np.minimum(slots + 1, 5))
    expected = worth - slots * (grown - worth)
    index = whittle_index_after(exact, slots)
    assert index == pytest.approx(expected, abs=1e-12)
    assert round(index[5, 0], 2) == 3.36


def test_the_papers_lifetime_only_shrinks_the_inflow():
    paper = lifetime_sources("paper")
    plain = changing(0.8, 5.0)
    kept = 1 - 0.8**5
    assert paper.inflow[0] == pytest.approx(kept)
    assert round(whittle_index_after(paper, [5])[0], 2) == 1.16
    assert whittle_index_after(paper, [5])[0] == pytest.approx(kept * whittle_index_after(plain, [5])[0])
    assert whittle_index(paper, [1.1])[0] == pytest.approx(kept * whittle_index(plain, [1.1 / kept])[0])


def test_an_exact_lifetime_refuses_a_state():
    with pytest.raises(ParameterError, match="whittle_index_after"):
        whittle_index(lifetime_sources("exact"), [1.0])


def test_lifetimes_and_none_may_be_mixed():
    rate = -math.log(0.8)
    mixed = Sources.ephemeral(arrival_rate=5 * rate, interest=1.0, decay=rate, lifetime=[5, np.inf, 1])
    index = whittle_index_after(mixed, np.full((1, 3), 5))[0]
    assert index.round(2).tolist() == [3.36, 1.72, 1.0]


EDGES = {
    "alpha near 0": changing(1e-300, 2.0),
    "alpha 0": changing(0.0, 2.0),
    "alpha near 1": Sources.ephemeral(arrival_rate=1.0, interest=1.0, decay=1e-300),
    "nothing arrives": Sources.ephemeral(arrival_rate=0.0, interest=1.0, decay=0.5),
    "nothing changes": Sources.changing(change_probability=0.0, importance=5.0),
    "worthless": changing(0.5, 0.0),
    "huge": changing(0.5, 1e300),
    "tiny": changing(0.5, 1e-300),
    "subnormal": changing(0.5, 5e-324),
}


@pytest.mark.parametrize("name", EDGES)
def test_every_edge_is_finite_and_ordered(name):
    sources = EDGES[name]
    ceiling = float(sources.ceiling[0])
    slots = np.array([0.0, 1.0, 2.0, 1e3, 1e16, 1e300, np.inf])[:, None]
    after = whittle_index_after(sources, slots)
    states = np.array([0.0, 5e-324, 1e-10 * ceiling, 0.5 * ceiling, np.nextafter(ceiling, 0), ceiling, 1.5 * ceiling])
    on_state = whittle_index(sources, np.sort(states)[:, None])
    for index in (after, on_state):
        assert np.isfinite(index).all()
        assert (index >= 0).all()
        assert (np.diff(index[:, 0]) >= -1e-12 * ceiling).all()
    assert after[-1, 0] == ceiling


def test_a_worth_beyond_any_ceiling_has_a_finite_index():
    assert whittle_index(changing(0.5, 1.0, cost=1e-6), [1e307])[0] == np.finfo(np.float64).max


def test_single_precision_and_integers_are_welcome():
    single = Sources.ephemeral(
        arrival_rate=np.float32(250), interest=np.float32([1, 0.5]), decay=np.float32([0.5, 0.25])
    )
    double = Sources.ephemeral(arrival_rate=250, interest=[1, 0.5], decay=[0.5, 0.25])
    assert whittle_index(single, np.float32([100, 200])).tolist() == whittle_index(double, [100, 200]).tolist()
    assert whittle_index_after(single, np.int32([3, 4])).tolist() == whittle_index_after(double, [3, 4]).tolist()


def test_the_last_axis_runs_over_the_sources():
    states = np.linspace(1, 300, 24).reshape(2, 3, 4)
    index = whittle_index(TABLE_I, states)
    assert index.shape == (2, 3, 4)
    assert index[1, 2, 3] == whittle_index(TABLE_I.take([3]), [states[1, 2, 3]])[0]
    assert whittle_index(TABLE_I, 10.0).shape == (4,)
    assert whittle_index_after(TABLE_I, 3).shape == (4,)


@pytest.mark.parametrize(
    ("function", "argument", "bad"),
    [(whittle_index, "state", x) for x in (-1.0, math.nan, math.inf)]
    + [(whittle_index_after, "slots", x) for x in (-1.0, math.nan)],
)
def test_a_wrong_element_is_named(function, argument, bad):
    given = np.ones((2, 4))
    given[1, 2] = bad
    with pytest.raises(ParameterError, match=rf"{argument}\[1, 2\] must be .*, got {bad}") as error:
        function(TABLE_I, given)
    assert error.value.element == (1, 2)


@pytest.mark.parametrize(("function", "argument"), [(whittle_index, "state"), (whittle_index_after, "slots")])
def test_shapes_and_types_that_do_not_fit_are_named(function, argument):
    for given in (np.ones(3), np.ones((4, 1, 2)), "words"):
        with pytest.raises(ParameterError, match=argument):
            function(TABLE_I, given)
    with pytest.raises(ParameterError, match=argument):
        function(TABLE_I.take([0]), np.ones(4))


def test_inputs_are_left_alone():
    states = np.array([100.0, 200.0, 30.0, 1e9])
    kept = states.copy()
    whittle_index(TABLE_I, states)
    whittle_index_after(TABLE_I, states)
    assert states.tolist() == kept.tolist()
