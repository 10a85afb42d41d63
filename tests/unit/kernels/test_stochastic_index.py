import math

import numpy as np
import pytest

from recrawl import Sources, stochastic_index, whittle_index
from recrawl.errors import ParameterError
from recrawl.kernels.inflow_chain import GROUPS, grid, highest_worth, inflow_law, step_from, transitions
from recrawl.kernels.stochastic_approximation import approximated_index, two_time_scale_index
from recrawl.kernels.stochastic_index import METHODS, interpolated_index, renewal_index
from recrawl.papers.stochastic_report import exponential_quantiles


def renewal_oracle(inflow, alpha, threshold, count=300):
    """C·γ by the formula as it is written, with one dense solve for H and one for R."""
    nodes = np.linspace(0.0, threshold, count + 1)[:-1]
    grid_with_end = np.append(nodes, threshold)

    def row(kept):
        """Weights over the nodes below the threshold, and the expected worth of what lands at or above it."""
        weights, above = np.zeros(count), 0.0
        for u in inflow:
            y = kept + u
            if y >= threshold:
                above += y / len(inflow)
                continue
            k = np.searchsorted(grid_with_end, y, side="right") - 1
            share = (y - grid_with_end[k]) / (grid_with_end[k + 1] - grid_with_end[k])
            weights[k] += (1 - share) / len(inflow)
            if k + 1 < count:
                weights[k + 1] += share / len(inflow)
            else:
                above += share * threshold / len(inflow)
        return weights, above

    rows = [row(alpha * y) for y in nodes]
    system = np.eye(count) - np.array([r[0] for r in rows])
    wait = np.linalg.solve(system, np.ones(count))
    worth = np.linalg.solve(system, np.array([r[1] for r in rows]))
    (start, start_above), (again, again_above) = row(0.0), row(alpha * threshold)
    h0, r0 = start @ wait, start @ worth + start_above
    h1, r1 = again @ wait, again @ worth + again_above
    return r0 + (1 + h0) * (threshold - r1) / (1 + h1)


LAWS = {
    "two points": [0.5, 1.5],
    "mostly nothing": [0.0] * 9 + [4.0],
    "exponential": exponential_quantiles(200),
    "nearly constant": [0.99, 1.0, 1.01],
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_agrees_with_the_renewal_formula_solved_directly(name, alpha, share):
    inflow = np.asarray(LAWS[name])
    threshold = share * inflow.mean() / (1 - alpha)
    nodes = np.linspace(0.0, threshold, 301)
    fast = renewal_index(inflow_law(inflow, alpha), nodes)[-1]
    assert fast == pytest.approx(renewal_oracle(inflow, alpha, threshold), rel=1e-9)
    # The table is computed on another, finer grid.
    assert stochastic_index(inflow, alpha)(threshold) == pytest.approx(fast, abs=1e-3 * threshold)


def test_an_exponential_inflow_has_the_index_found_by_quadrature():
    # α = 0.5, E U = 1, C = 1, a = 0.6u* = 1.2. Overshoots are exponential, so R = a + 1 and γ = a + 1 − H(0)/H(a),
    # where H(y) = 1 + ∫ e^{−(t − αy)} H(t) dt over (αy, a), here by collocation at Chebyshev points.
    alpha, a, order = 0.5, 1.2, 30
    points = a * (1 + np.cos(np.pi * (np.arange(order) + 0.5) / order)) / 2
    basis = np.linalg.inv(np.polynomial.chebyshev.chebvander(2 * points / a - 1, order - 1))
    abscissae, weights = np.polynomial.legendre.leggauss(40)

    def integral(y):
        t = alpha * y + (abscissae + 1) / 2 * (a - alpha * y)
        at = np.polynomial.chebyshev.chebvander(2 * t / a - 1, order - 1) @ basis
        return (weights * (a - alpha * y) / 2 * np.exp(alpha * y - t)) @ at

    wait = np.linalg.solve(np.eye(order) - np.array([integral(y) for y in points]), np.ones(order))
    exact = a + 1 - (1 + integral(0.0) @ wait) / (1 + integral(a) @ wait)
    assert exact == pytest.approx(0.847027, abs=1e-6)
    index = stochastic_index(exponential_quantiles(4000), alpha)
    assert index(a) == pytest.approx(exact, abs=5e-5)


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 0.3, 0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("cost", [1.0, 0.25])
def test_a_constant_inflow_gives_theorem_1(alpha, cost):
    sources = Sources.changing(change_probability=1 - alpha, importance=2.0 / (1 - alpha), cost=cost)
    states = np.linspace(0.0, 1.3, 200)[:, None] * sources.ceiling
    index = stochastic_index([2.0, 2.0], alpha, cost)
    tolerance = 1e-12 if alpha <= 0.9 else 2e-6
    assert index(states) == pytest.approx(whittle_index(sources, states), abs=tolerance * sources.ceiling[0] / cost)


def test_an_almost_constant_inflow_is_close_to_theorem_1():
    sources = Sources.changing(change_probability=0.3, importance=1 / 0.3)
    states = np.linspace(0.0, 0.97, 100)[:, None] * sources.ceiling
    index = stochastic_index([0.999999, 1.0, 1.000001], 0.7)
    assert index(states) == pytest.approx(whittle_index(sources, states), abs=1e-4)


def test_without_memory_every_worth_is_its_own_index():
    index = stochastic_index([0.0, 1.0, 5.0], 0.0, cost=2.0)
    assert index([0.5, 1.0, 4.0, 50.0]) == pytest.approx([0.25, 0.5, 2.0, 25.0])


def test_nothing_arriving_leaves_only_what_is_there():
    assert stochastic_index([0.0, 0.0], 0.5, cost=2.0)([0.0, 3.0]).tolist() == [0.0, 1.5]


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("name", LAWS)
def test_the_table_rises_from_nothing_and_ends_near_worth_per_cost(name, alpha):
    index = stochastic_index(LAWS[name], alpha, cost=2.0)
    assert index.thresholds.dtype == index.values.dtype == np.float64
    assert len(index.thresholds) == len(index.values) <= 2200
    assert (np.diff(index.thresholds) > 0).all()
    assert (np.diff(index.values) >= 0).all()
    assert index.thresholds[0] == index.values[0] == 0.0
    top = index.thresholds[-1]
    assert index.values[-1] == pytest.approx(top / 2.0, rel=0.1)
    assert index(top + 10.0) == pytest.approx(index(top) + 5.0)


def test_the_continuation_is_continuous():
    index = stochastic_index([0.5, 1.5], 0.5)
    top = index.thresholds[-1]
    assert index(np.nextafter(top, 0.0)) == pytest.approx(index(np.nextafter(top, 10.0)), rel=1e-12)


def test_the_compiled_lookup_is_what_the_call_uses():
    index = stochastic_index([0.5, 1.5], 0.5, cost=3.0)
    states = np.array([0.0, 0.1, 1.0, 2.9, 100.0])
    one_by_one = [interpolated_index(x, index.thresholds, index.values, index.cost) for x in states]
    assert index(states).tolist() == one_by_one
    assert isinstance(index(1.0), float)
    assert index(states.reshape(5, 1)).shape == (5, 1)


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1e200])
def test_the_index_scales_with_the_worth(scale):
    plain, scaled = stochastic_index([0.5, 1.5], 0.6), stochastic_index([0.5 * scale, 1.5 * scale], 0.6)
    assert scaled(scale * 1.7) / scale == pytest.approx(plain(1.7), rel=1e-9)


def test_a_dearer_crawl_has_a_lower_index():
    assert stochastic_index([0.5, 1.5], 0.6, cost=4.0)(1.7) == pytest.approx(stochastic_index([0.5, 1.5], 0.6)(1.7) / 4)


def test_a_long_sample_is_grouped_without_losing_its_mean():
    sample = np.random.default_rng(0).exponential(size=30_000)
    law = inflow_law(sample, 0.5)
    assert len(law.points) == GROUPS
    assert law.mean == pytest.approx(sample.mean(), rel=1e-12)
    assert stochastic_index(sample, 0.5)(1.2) == pytest.approx(0.847, abs=0.02)


def test_a_step_onto_a_node_touches_no_other():
    nodes = np.array([0.0, 1.0, 2.0])
    row, beyond = np.zeros(2), np.full(1, 7.0)
    both = np.concatenate([row, beyond])
    assert step_from(0.0, nodes, np.array([1.0]), np.array([1.0]), 0, both[:2]) == 0.0
    assert both.tolist() == [0.0, 1.0, 7.0]


def test_a_step_keeps_the_expected_worth():
    law = inflow_law([0.2, 1.1, 1.9], 0.7)
    nodes = grid(law, highest_worth(law), 50)
    matrix = transitions(law, nodes)
    stays = matrix.sum(axis=1) > 1 - 1e-12
    assert stays.any()
    assert (matrix @ nodes)[stays] == pytest.approx((0.7 * nodes + law.mean)[stays])


@pytest.mark.parametrize("learn", [approximated_index, two_time_scale_index])
@pytest.mark.parametrize(("alpha", "share"), [(0.5, 0.6), (0.9, 0.9)])
def test_the_learning_schemes_reach_theorem_1_though_the_chain_is_periodic(learn, alpha, share):
    law = inflow_law(1.0, alpha)
    threshold = share * law.ceiling
    exact = renewal_index(law, grid(law, threshold, 100))[-1]
    assert learn(law, threshold) == pytest.approx(exact, rel=1e-6)
    assert learn(law, threshold, 4.0) == pytest.approx(exact / 4, rel=1e-6)


@pytest.mark.parametrize("method", METHODS[1:])
def test_the_learning_methods_give_an_index_too(method):
    index = stochastic_index([0.9, 1.1], 0.5, method=method, thresholds=[0.5, 1.0, 1.5])
    exact = stochastic_index([0.9, 1.1], 0.5)
    assert index.thresholds.tolist() == [0.0, 0.5, 1.0, 1.5]
    assert index(index.thresholds) == pytest.approx(exact(index.thresholds), abs=0.02)
    again = stochastic_index([0.9, 1.1], 0.5, method=method, thresholds=[0.5, 1.0, 1.5])
    assert again.values.tolist() == index.values.tolist()


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize(("sample", "alpha"), [([0.0], 0.5), ([2.0], 0.5), ([1.0, 3.0], 0.0)])
def test_the_learning_methods_are_finite_at_the_edges(method, sample, alpha):
    index = stochastic_index(sample, alpha, method=method, thresholds=[0.0, 1.0, 2.0, 5.0, 50.0])
    assert np.isfinite(index.values).all()
    assert index.values[-1] == 50.0


@pytest.mark.parametrize(
    ("arguments", "argument", "element"),
    [
        ({"sample": []}, "sample", None),
        ({"sample": [1.0, -1.0]}, "sample", (1,)),
        ({"sample": [1.0, math.nan]}, "sample", (1,)),
        ({"sample": [math.inf]}, "sample", (0,)),
        ({"sample": "words"}, "sample", None),
        ({"sample": [1e308], "decay_factor": 0.999}, "sample", None),
        ({"decay_factor": 1.0}, "decay_factor", None),
        ({"decay_factor": -0.1}, "decay_factor", None),
        ({"decay_factor": math.nan}, "decay_factor", None),
        ({"decay_factor": [0.5, 0.6]}, "decay_factor", None),
        ({"cost": 0.0}, "cost", None),
        ({"cost": -1.0}, "cost", None),
        ({"cost": math.inf}, "cost", None),
        ({"cost": [1.0, 2.0]}, "cost", None),
        ({"sample": [1e300], "cost": 1e-300}, "cost", None),
        ({"method": "guess"}, "method", None),
        ({"thresholds": [1.0]}, "thresholds", None),
        ({"method": "approximation", "thresholds": [1.0, -1.0]}, "thresholds", (1,)),
    ],
)
def test_a_wrong_argument_is_named(arguments, argument, element):
    with pytest.raises(ParameterError) as error:
        stochastic_index(**{"sample": [1.0, 2.0], "decay_factor": 0.5} | arguments)
    assert (error.value.argument, error.value.element) == (argument, element)


@pytest.mark.parametrize(("state", "element"), [(-1.0, None), ([1.0, math.nan], (1,)), ([[1.0, math.inf]], (0, 1))])
def test_a_wrong_state_is_named(state, element):
    with pytest.raises(ParameterError) as error:
        stochastic_index([1.0, 2.0], 0.5)(state)
    assert (error.value.argument, error.value.element) == ("state", element)
