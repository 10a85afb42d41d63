"""Groups of pages as arms: pointers, pages never visited, and the same changes as page by page."""

from __future__ import annotations

import numpy as np
import pytest

import recrawl
from recrawl.errors import ParameterError
from recrawl.sim.grouped_pages import GroupedPages, GroupedWorld
from recrawl.sim.worlds import SlottedWorld

WORLD = GroupedPages([2, 3], [0.5, 0.1], [1.0, 4.0])


def test_a_group_is_crawled_page_by_page_in_turn() -> None:
    place = GroupedWorld(WORLD, None, seed=0, run=0)
    crawled = []
    for slot in range(5):
        place.crawl(np.array([1]), float(slot))
        crawled.append(int(np.argmax(place.inside.crawled)))
        place.advance()
    assert crawled == [2, 3, 4, 2, 3]


def test_a_page_is_worth_what_it_gained_since_its_own_crawl() -> None:
    place = GroupedWorld(WORLD, None, seed=0, run=0)
    collected = []
    for slot in range(4):
        collected.append(place.crawl(np.array([0]), float(slot)).worth[0])
        place.advance()
    # each of the two pages is crawled after 1, 2, 2, 2 slots
    np.testing.assert_allclose(collected, [0.5, 0.75, 0.75, 0.75])


def test_several_groups_can_be_crawled_in_a_slot() -> None:
    visits = GroupedWorld(WORLD, None, seed=0, run=0).crawl(np.array([1, 0]), 0.0)
    np.testing.assert_allclose(visits.worth, [0.4, 0.5])
    assert recrawl.simulate(WORLD, "uniform", budget=2, steps=10, noise="change").spend == 2


def test_changes_are_those_of_the_pages_one_by_one() -> None:
    grouped, single = GroupedWorld(WORLD, "change", 3, 1), SlottedWorld(WORLD.pages(), "change", 3, 1)
    for slot in range(50):
        page = slot % 3
        a, b = grouped.crawl(np.array([1]), float(slot)), single.crawl(np.array([2 + page]), float(slot))
        np.testing.assert_array_equal(a.worth, b.worth)
        np.testing.assert_array_equal(a.changed, b.changed)
        grouped.advance()
        single.advance()


def test_one_page_per_group_is_the_same_as_its_pages() -> None:
    world = GroupedPages([1, 1, 1], [0.4, 0.1, 0.02], [1.0, 2.0, 3.0])
    by_group = recrawl.simulate(world, "whittle", steps=200, noise="change", seed=4)
    by_page = recrawl.simulate(world.pages(), "whittle", steps=200, noise="change", seed=4)
    np.testing.assert_array_equal(by_group.rewards, by_page.rewards)


def test_pages_never_visited_are_counted_from_the_visits_of_their_group() -> None:
    assert WORLD.never_visited([1, 5]) == pytest.approx(1 / 5)
    assert WORLD.never_visited([[0, 0], [2, 3]]) == pytest.approx(1 / 2)


def test_observed_worth_is_that_of_the_page_next_in_turn() -> None:
    place = GroupedWorld(WORLD, None, seed=0, run=0)
    np.testing.assert_allclose(place.states(np.array([True, False])), [0.5, np.nan])


def test_the_state_recorded_is_per_group() -> None:
    found = recrawl.simulate(WORLD, "uniform", steps=7, noise="change")
    assert found.states.shape == found.actions.shape == (7, 2)
    assert found.crawls.sum() == 7


def test_published_reward_of_a_uniform_choice_among_groups() -> None:
    world = GroupedPages([1] * 4, [0.6, 0.08, 0.01, 0.3], [5, 0.2, 1, 0.5])
    found = recrawl.simulate(world, "uniform", steps=4000, runs=4)
    assert found.mean_between(500, 4000) == pytest.approx(1.173, rel=0.02)


@pytest.mark.parametrize(
    ("pages", "change", "argument"),
    [
        ([0, 2], [0.5, 0.5], r"pages_per_group\[0\]"),
        ([1.5, 2], [0.5, 0.5], r"pages_per_group\[0\]"),
        ([1, 2, 3], [0.5, 0.5], "pages_per_group"),
        ([1, 2], [0.5, 1.5], r"change_probability\[1\]"),
    ],
)
def test_wrong_input_is_named(pages: list[float], change: list[float], argument: str) -> None:
    with pytest.raises(ParameterError, match=argument):
        GroupedPages(pages, change, 1.0)


def test_scalars_are_shared_by_all_groups() -> None:
    assert GroupedPages([3, 4], 0.1, 1.0).arms.inflow.tolist() == pytest.approx([0.1, 0.1])
    assert GroupedPages(2, [0.1, 0.2], 1.0).pages_per_group.tolist() == [2, 2]
