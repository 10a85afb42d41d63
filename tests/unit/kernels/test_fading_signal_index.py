import math

import numpy as np
import pytest

from oracles import signals as oracle
from oracles.signals import Page
from recrawl import continuous_index
from recrawl.errors import ParameterError
from recrawl.kernels.fading_signal_index import fading_signal_index, fading_worth
from recrawl.kernels.signal_index import change_signal_index, fresh_probability

CASES = [
    (Page(1.0, 0.5, 0.5), 0.5, 0.45),  # one signal is enough, and worth rises
    (Page(1.0, 0.9, 0.5), 1.0, 0.5),  # one signal is enough, and only a signal ends the cycle
    (Page(1.0, 0.5, 3.0), 0.3, 0.56),  # several signals, and worth rises
    (Page(1.0, 0.5, 3.0), 0.3, 0.75),  # several signals, and worth falls back between them
    (Page(1.0, 0.8, 2.0), 0.5, 0.37),
]


def index(page, decay, worth, **more):
    return fading_signal_index(page.change_rate, page.recall, page.false_rate, decay, worth, **more)


@pytest.mark.parametrize(("page", "decay", "worth"), CASES)
def test_simulated_cycles_have_this_index(page, decay, worth):
    """To 1.5 % over two seeds of 100,000 cycles: the index is a small difference of what is averaged."""
    top = page.unseen / (page.unseen + decay)
    length, found = np.mean([oracle.fading_cycles(page, decay, 0.0, worth, 100_000, seed) for seed in (1, 2)], axis=0)
    gain = page.change_rate - (page.change_rate + decay) * worth
    if worth > top:
        again, more = oracle.fading_cycles(page, decay, worth - 1e-12, worth, 200_000, 3)
        gain = (more - worth) / again
    assert index(page, decay, worth) == pytest.approx(found - gain * length, rel=0.015)


@pytest.mark.parametrize(("page", "decay", "worth"), CASES)
def test_the_best_policy_is_indifferent_at_this_price(page, decay, worth):
    """Among all policies that know the expected worth, on a grid of it and of time: to 4 %."""
    points = np.unique(np.append(np.linspace(0.0, 1.0, 160), worth))
    stay = oracle.worth_chain(page, decay, points, 0.04)
    state = int(np.searchsorted(points, worth))
    price = oracle.indifference(stay, np.zeros(len(points)), points, state, 1.0)
    assert index(page, decay, worth) == pytest.approx(price, rel=0.04)


@pytest.mark.parametrize("decay", [0.01, 0.5, 20.0])
def test_without_signals_it_is_the_plain_index(decay):
    ages = np.array([0.01, 0.3, 2.0])
    worth = fading_worth(0.7, 0.0, 0.3, decay, ages, 3)
    plain = continuous_index(2.0 * 0.7 / (0.7 + decay), 0.7 + decay, ages, 3.0)
    assert fading_signal_index(0.7, 0.0, 0.3, decay, worth, 2.0, 3.0) == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("recall", [0.2, 0.9])
def test_without_fading_it_is_that_of_changes(recall):
    signals = np.array([0, 1, 4])
    worth = fading_worth(0.7, recall, 0.3, 0.0, 1.3, signals)
    assert worth == pytest.approx(1.0 - fresh_probability(0.7, recall, 0.3, 1.3, signals))
    exact = change_signal_index(0.7, recall, 0.3, 1.3, signals)
    assert fading_signal_index(0.7, recall, 0.3, 0.0, worth) == pytest.approx(exact, rel=1e-9)
    assert fading_signal_index(0.7, recall, 0.3, 1e-6, worth) == pytest.approx(exact, rel=0.01)


def test_it_lies_between_the_plain_index_of_the_same_worth_and_that_of_a_seer():
    change_rate, decay = 1.0, 0.4
    for recall in (0.1, 0.5, 0.9):
        for false_rate in (0.0, 0.3, 5.0):
            top = (1 - recall) * change_rate / ((1 - recall) * change_rate + decay)
            worth = np.linspace(0.02, 1.0, 20) * top
            ceiling, rate = change_rate / (change_rate + decay), change_rate + decay
            plain = continuous_index(ceiling, rate, -np.log1p(-worth / ceiling) / rate)
            value = fading_signal_index(change_rate, recall, false_rate, decay, worth)
            assert (value >= plain * (1 - 0.005)).all()
            assert (value <= worth / ceiling * (1 + 0.005)).all()


def test_the_order_of_signals_matters():
    early = fading_worth(0.5, 0.8, 0.2, 1.0, 3.0, 0, fading_worth(0.5, 0.8, 0.2, 1.0, 0.1, 1))
    late = fading_worth(0.5, 0.8, 0.2, 1.0, 0.1, 0, fading_worth(0.5, 0.8, 0.2, 1.0, 3.0, 1))
    assert late > 2 * early


EXTREMES = [0.0, 5e-324, 1e-8, 1.0, 1e16, 1e300, np.finfo(np.float64).max]


def test_it_is_finite_for_every_valid_input():
    grid = np.meshgrid(
        EXTREMES,
        [0.0, 5e-324, 0.3, 1 - 2**-53, 1.0],
        EXTREMES,
        EXTREMES,
        [0.0, 1e-300, 1e-3, 0.4, 1 - 2**-53, 1.0],
        indexing="ij",
    )
    values = fading_signal_index(*grid)
    assert np.isfinite(values).all()
    assert ((values >= 0) & (values <= 1 + 1e-9)).all()
    for elapsed in (0.0, 1.0, math.inf):
        worths = fading_worth(*grid[:4], elapsed, 2, grid[4])
        assert ((worths >= 0) & (worths <= 1)).all()


@pytest.mark.parametrize(("name", "bad"), [("decay", -1.0), ("decay", math.inf), ("worth", 1.5), ("worth", math.nan)])
def test_a_wrong_element_is_named(name, bad):
    arguments = {"change_rate": 1.0, "recall": 0.5, "false_rate": 1.0, "decay": 1.0, "worth": 0.5, name: bad}
    with pytest.raises(ParameterError, match=name):
        fading_signal_index(**arguments)
