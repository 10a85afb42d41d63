"""The joint dynamic programme on Table I, and the price of (22)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import recrawl
from recrawl.errors import ParameterError
from recrawl.papers.tcns2018.optimal import index_cycle, joint_optimum
from recrawl.papers.tcns2018.setting import table_one
from recrawl.papers.tcns2018.walk import minimising_prices, price_path

OPTIMA = {1: 260.38993, 2: 337.77455, 3: 372.41034}


def best_cycle(sources: recrawl.Sources, length: int) -> float:
    """The best reward of any schedule of one crawl per slot that repeats after `length` slots, by trying them all."""
    best = 0.0
    for plan in product(range(len(sources)), repeat=length):
        last, total = np.full(len(sources), -(10**6)), 0.0
        for slot in range(2 * length):
            crawled = plan[slot % length]
            worth = sources.ceiling[crawled] * -np.expm1(-sources.decay_rate[crawled] * (slot - last[crawled]))
            total += worth if slot >= length else 0.0
            last[crawled] = slot
        best = max(best, total / length)
    return best


@pytest.mark.parametrize(("budget", "optimum"), OPTIMA.items())
def test_the_optimum_on_table_one_is_enclosed(budget: int, optimum: float) -> None:
    found = joint_optimum(table_one(), budget, ages=12)
    assert found.low == pytest.approx(optimum, abs=5e-6)
    assert found.low <= found.high + 1e-9
    assert found.high == pytest.approx(found.low, abs=1e-4)


@pytest.mark.parametrize("budget", OPTIMA)
def test_the_index_attains_it_and_at_two_crawls_the_bound_is_loose(budget: int) -> None:
    reward, length = index_cycle(table_one(), budget)
    bound = recrawl.relaxed_bound(table_one(), budget).value
    assert reward == pytest.approx(OPTIMA[budget], abs=5e-6)
    assert (bound - reward > 0.2) == (budget == 2)
    assert length == {1: 2, 2: 7, 3: 4}[budget]


def test_no_cycle_tried_by_hand_does_better() -> None:
    sources = table_one().take([0, 1, 2])
    optimum = joint_optimum(sources, 1, ages=12)
    tried = max(best_cycle(sources, length) for length in range(1, 6))
    assert tried <= optimum.high + 1e-6
    assert tried == pytest.approx(optimum.low, abs=1e-6)


def test_too_many_states_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 31 for 4 sources"):
        joint_optimum(table_one(), 1, ages=100)


def test_the_price_settles_among_the_minimising_ones_only_by_the_index() -> None:
    sources = table_one()
    low, high = minimising_prices(sources, 1.0)
    assert (low, high) == pytest.approx((95.238, 105.060), abs=1e-3)
    scale = float(sources.ceiling.mean())
    reward, spend, price = price_path(sources, 0.1 * scale, 0.75, 3000, by_index=True)
    assert low <= price[-1] <= high
    assert (reward[-1000:].mean(), spend[-1000:].mean()) == pytest.approx((OPTIMA[1], 1.0), abs=1e-4)
    by_threshold = price_path(sources, 0.1 * scale, 0.75, 3000)[2]
    assert by_threshold[-1] < low - 10
    printed = price_path(sources, 0.1 * scale, 0.75, 3000, target=0.25)[1]
    assert printed[-1000:].mean() < 0.5
