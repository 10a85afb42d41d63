import math

import mpmath
import numpy as np
import pytest

from oracles import signals as oracle
from oracles.signals import Page
from recrawl import continuous_index
from recrawl.errors import ParameterError
from recrawl.kernels.poisson_tail import poisson_tail
from recrawl.kernels.signal_index import MOST_SIGNALS, change_signal_index, fresh_probability, signal_index

PAGES = [Page(1.0, 0.5, 0.5), Page(0.2, 0.9, 0.05), Page(3.0, 0.2, 1.0), Page(0.5, 0.95, 2.0)]


def index(page, age, signals, **more):
    return signal_index(page.change_rate, page.recall, page.false_rate, age, signals, **more)


@pytest.mark.parametrize("n", [0, 1, 3, 20, 140])
@pytest.mark.parametrize("x", [1e-10, 0.5, 5.0, 20.9, 21.1, 139.0, 300.0])
def test_the_tail_is_that_of_poisson(n, x):
    exact = float(mpmath.gammainc(n + 1, 0, x, regularized=True))
    assert poisson_tail(n, x) == pytest.approx(exact, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("ripe", [1e-7, 1e-3, 0.3, 3.0])
@pytest.mark.parametrize("signals", [0, 1, 6])
def test_the_index_is_the_published_sum(page, ripe, signals):
    age = ripe / page.change_rate
    assert index(page, age, signals) == pytest.approx(oracle.published(page, age, signals), rel=1e-12)


@pytest.mark.parametrize("share_missed", [1e-9, 1e-3, 0.5])
@pytest.mark.parametrize("signals", [0, 100, 127, 128, 129, 200])
def test_where_the_sum_is_cut_short_it_is_right_to_1_in_30_000(share_missed, signals):
    page = Page(1.0, 1.0 - share_missed, 40.0)
    assert signals < MOST_SIGNALS or page.step < 0.1
    age = 0.5
    assert index(page, age, signals) == pytest.approx(oracle.published(page, age, signals), rel=3e-5)


@pytest.mark.parametrize("page", PAGES)
def test_simulated_cycles_have_this_index(page):
    """To 1 % over three seeds of 100,000 cycles, which is more than three standard errors."""
    for level, age in ((0.4, 0.4 / page.unseen), (1.5, 1.5 / page.unseen)):
        runs = [oracle.cycles(page, level, 100_000, seed) for seed in range(3)]
        length, fresh = (np.mean([run[k].mean() for run in runs]) for k in range(2))
        assert index(page, age, 0) == pytest.approx(fresh - math.exp(-level) * length, rel=0.01)


def best_prices(page, cells):
    """Indifferent prices, for fresh copies and for changes, where ℓ is 0.8 or so, on a grid of `cells` up to there."""
    per_step, states = round(page.step / 0.04) * cells // 20, 4 * cells
    stay, seconds = oracle.belief_chain(page, states, per_step)
    belief = np.exp(-page.step / per_step * np.arange(states))
    flow = belief * -math.expm1(-page.change_rate * seconds) / page.change_rate
    fresh = oracle.indifference(stay, flow, np.zeros(states), cells, 2.0 / page.change_rate)
    found = oracle.indifference(stay, np.zeros(states), 1.0 - belief, cells, 2.0)
    return np.array([fresh, found]), cells * seconds


@pytest.mark.parametrize("page", [PAGES[0], PAGES[2], Page(0.2, 0.7, 0.05), Page(0.5, 0.6, 1.0)])
def test_the_best_policy_is_indifferent_at_this_price(page):
    """Among all policies on two grids of beliefs; what is linear in their width is taken off. To 0.5 %."""
    coarse, age = best_prices(page, 20)
    fine, same_age = best_prices(page, 40)
    assert same_age == pytest.approx(age)
    changes = change_signal_index(page.change_rate, page.recall, page.false_rate, age, 0)
    assert [index(page, age, 0), changes] == pytest.approx(2.0 * fine - coarse, rel=0.005)


@pytest.mark.parametrize("age", [0.0, 1e-6, 0.7, 30.0, math.inf])
@pytest.mark.parametrize("change_rate", [1e-8, 0.3, 1e5])
def test_without_signals_it_is_the_plain_index(change_rate, age):
    plain = continuous_index(2.0 / change_rate, change_rate, age, cost=3.0)
    for false_rate, signals in ((0.0, 0), (0.0, 5), (0.1, 0), (0.1, 7)):
        with_signals = signal_index(change_rate, 0.0, false_rate, age, signals, weight=2.0, cost=3.0)
        assert with_signals == pytest.approx(plain, rel=1e-9)
        changes = change_signal_index(change_rate, 0.0, false_rate, age, signals, weight=2.0, cost=3.0)
        assert changes == pytest.approx(continuous_index(2.0, change_rate, age, cost=3.0), rel=1e-9)


def test_a_recall_of_next_to_nothing_is_one_of_nothing():
    assert signal_index(0.3, 1e-12, 0.1, 2.0, 0) == pytest.approx(signal_index(0.3, 0.0, 0.1, 2.0, 0), rel=1e-9)
    assert signal_index(0.3, 1e-300, 0.0, 2.0, 0) == pytest.approx(signal_index(0.3, 0.0, 0.0, 2.0, 0), rel=1e-12)


def test_where_every_change_gives_a_signal_only_signals_count():
    change_rate, false_rate, signals = 0.5, 0.25, np.arange(6)
    remaining = (false_rate / (change_rate + false_rate)) ** signals
    expected = (1 - remaining) / change_rate - signals * remaining / (change_rate + false_rate)
    for age in (0.0, 1.0, math.inf):
        assert signal_index(change_rate, 1.0, false_rate, age, signals) == pytest.approx(expected, rel=1e-12)
    nearly = signal_index(change_rate, 1 - 1e-9, false_rate, 1.0, signals)
    assert nearly == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_without_false_signals_one_is_proof():
    assert signal_index(0.5, 0.8, 0.0, 1.0, [1, 2, 10**6], weight=3.0, cost=2.0).tolist() == [3.0] * 3
    assert signal_index(0.5, 0.8, 1e-12, 1.0, 1) == pytest.approx(2.0, rel=1e-9)
    assert signal_index(0.5, 0.8, 0.0, 1.0, 0) == pytest.approx(signal_index(0.5, 0.8, 1e-13, 1.0, 0), rel=1e-9)
    assert fresh_probability(0.5, 0.8, 0.0, 1.0, [0, 1]) == pytest.approx([math.exp(-0.1), 0.0])


def test_the_probability_of_a_fresh_copy():
    assert fresh_probability(0.4, 0.75, 0.1, 3.0, [0, 1, 2]) == pytest.approx(math.exp(-0.3) * 0.25 ** np.arange(3))
    assert fresh_probability(0.0, 0.5, 0.0, math.inf, 3) == 1.0
    assert fresh_probability(1.0, 1.0, 0.5, math.inf, 0) == 1.0
    assert fresh_probability(1.0, 0.5, 0.5, math.inf, 0) == 0.0


@pytest.mark.parametrize("page", [*PAGES, Page(1.0, 0.7, 30.0), Page(1.0, 0.7, 300.0), Page(1.0, 1.0, 0.1)])
def test_it_rises_with_age_and_with_signals(page):
    ages, signals = np.linspace(0.0, 12.0, 60) / page.change_rate, np.arange(0.0, 300.0)
    grid = index(page, ages[:, None], signals)
    assert (np.diff(grid, axis=0) >= -3e-5 * grid[1:]).all()
    assert (np.diff(grid, axis=1) >= -1e-12).all()


EXTREMES = [0.0, 5e-324, 1e-300, 1e-8, 1.0, 1e16, 1e300, np.finfo(np.float64).max]
RECALLS = [0.0, 5e-324, 1e-9, 0.3, 1 - 1e-9, 1 - 2**-53, 1.0]


def test_it_is_finite_for_every_valid_input():
    change_rate, recall, false_rate, age, signals, weight, cost = np.meshgrid(
        EXTREMES,
        RECALLS,
        EXTREMES,
        [*EXTREMES, math.inf],
        [0.0, 1.0, 130.0, 1e6],
        [0.0, 1e-300, 1.0, 1e300],
        [1e-300, 1.0, 1e300],
        indexing="ij",
    )
    for function in (signal_index, change_signal_index):
        values = function(change_rate, recall, false_rate, age, signals, weight, cost)
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    chance = fresh_probability(change_rate, recall, false_rate, age, signals)
    assert ((chance >= 0) & (chance <= 1)).all()


@pytest.mark.parametrize("function", [signal_index, change_signal_index])
@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *((name, bad) for name in ("change_rate", "false_rate", "signals", "weight") for bad in (-1.0, math.inf)),
        *(("recall", bad) for bad in (-0.1, 1.1, math.nan)),
        *(("age", bad) for bad in (-1.0, math.nan)),
        *(("cost", bad) for bad in (0.0, math.nan, math.inf)),
    ],
)
def test_a_wrong_element_is_named(function, name, bad):
    names = ("change_rate", "recall", "false_rate", "age", "signals", "weight", "cost")
    arguments = {each: np.ones(3) for each in names}
    arguments[name][1] = bad
    with pytest.raises(ParameterError, match=rf"{name}\[1\] must be .*got {bad}"):
        function(**arguments)


def test_arguments_are_broadcast_and_left_alone():
    ages = np.array([1.0, 2.0])
    assert signal_index(1.0, 0.5, 0.5, ages, np.zeros((3, 1))).shape == (3, 2)
    assert fresh_probability(1.0, 0.5, 0.5, ages, 1).shape == (2,)
    assert isinstance(signal_index(1, 1, 1, 1, 1), float)
    assert ages.tolist() == [1.0, 2.0]
