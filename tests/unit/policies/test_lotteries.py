"""Uniform and static choice."""

from __future__ import annotations

import numpy as np
import pytest

import recrawl
from recrawl import Sources, policies
from recrawl.errors import ParameterError
from recrawl.kernels.static_allocation import lottery_reward, static_allocation

PAGES = Sources.changing([0.6, 0.08, 0.01, 0.3, 0.2, 0.4], [5, 0.2, 1, 0.5, 2, 1])


def shares(policy: policies.Policy, budget: float, slots: int = 4000) -> np.ndarray:
    return recrawl.simulate(PAGES, policy, budget=budget, steps=slots).crawl_share


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_uniform_crawls_all_alike(budget: int) -> None:
    np.testing.assert_allclose(shares(policies.make("uniform"), budget), budget / 6, atol=0.04)


@pytest.mark.parametrize("budget", [1, 2, 3, 1.5])
@pytest.mark.parametrize("objective", ["freshness", "collected"])
def test_static_crawls_each_page_with_its_probability_and_spends_the_budget(budget: float, objective: str) -> None:
    found = recrawl.simulate(PAGES, policies.make("static", objective=objective), budget=budget, steps=4000)
    weight = PAGES.interest if objective == "freshness" else PAGES.inflow
    if budget == int(budget):
        expected = static_allocation(PAGES.arrivals_per_slot, weight, budget)
        np.testing.assert_allclose(found.crawl_share, expected, atol=0.04)
    assert found.spend == pytest.approx(budget, rel=0.02)


def test_static_earns_what_the_formula_says() -> None:
    change, worth = PAGES.arrivals_per_slot, PAGES.interest
    chance = static_allocation(change, worth * change, 2.0)
    found = recrawl.simulate(PAGES, policies.make("static", objective="collected"), budget=2, steps=8000)
    assert found.mean_between(500, 8000) == pytest.approx(lottery_reward(chance, change, worth), rel=0.02)


def test_a_lottery_over_groups_earns_what_the_formula_says() -> None:
    world = recrawl.GroupedPages([5, 80, 10, 5], [0.1, 0.002, 0.005, 0.05], [5, 0.2, 1, 0.5])
    share = [0.4, 0.3, 0.2, 0.1]
    found = recrawl.simulate(world, policies.make("static", distribution=share), steps=8000)
    expected = lottery_reward(share, world.arms.arrivals_per_slot, world.arms.interest, world.pages_per_group)
    assert found.mean_between(2000, 8000) == pytest.approx(expected, rel=0.02)


def test_a_given_distribution_is_kept() -> None:
    published = [0.942, 0.055, 0.003, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(shares(policies.make("static", distribution=published), 1), published, atol=0.02)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"objective": "joy"}, "objective"),
        ({"distribution": [0.9, 0.9]}, "distribution"),
        ({"distribution": [0.5, -0.1]}, "distribution"),
        ({"pages": 0}, "pages"),
    ],
)
def test_wrong_options_are_named(options: dict, argument: str) -> None:
    with pytest.raises(ParameterError, match=argument):
        policies.make("static", **options)


def test_a_distribution_for_other_targets_is_named() -> None:
    with pytest.raises(ParameterError, match="distribution"):
        recrawl.simulate(PAGES, policies.make("static", distribution=[0.5, 0.5]), steps=3)
