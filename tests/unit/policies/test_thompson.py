"""Thompson sampling counts what it finds."""

from __future__ import annotations

import numpy as np
import pytest

import recrawl
from recrawl import Sources, Visits, policies
from recrawl.errors import ParameterError
from recrawl.policies.thompson import Thompson, found_change


def started(**options: object) -> Thompson:
    policy = Thompson(**options)  # type: ignore[arg-type]
    policy.start(3, 0.0, sources=Sources.changing([0.5, 0.5, 0.5], [1.0, 1.0, 100.0]))
    return policy


def test_successes_and_failures_are_counted_and_failed_crawls_are_not() -> None:
    policy = started()
    policy.observe(Visits([0, 1, 2], 0.0, changed=[True, False, True], failed=[False, False, True]))
    assert policy.successes.tolist() == [1, 0, 0]
    assert policy.failures.tolist() == [0, 1, 0]


def test_it_prefers_what_changed_more_often() -> None:
    policy = started()
    policy.successes[:], policy.failures[:] = [90, 10, 10], [10, 90, 90]
    firsts = [int(np.argmax(policy.rank(0.0, None))) for _ in range(100)]
    assert firsts.count(0) == 100


def test_importance_outweighs_change_when_it_is_used() -> None:
    policy = started(importance=True)
    policy.successes[:], policy.failures[:] = [90, 10, 10], [10, 90, 90]
    assert int(np.argmax(policy.rank(0.0, None))) == 2


def test_importance_must_be_known() -> None:
    with pytest.raises(ParameterError, match="sources"):
        Thompson(importance=True).start(3, 0.0)


def test_importance_in_the_choice_finds_the_best_page_of_the_paper() -> None:
    world = recrawl.GroupedPages([1] * 4, [0.6, 0.08, 0.01, 0.3], [5, 0.2, 1, 0.5])
    with_importance = recrawl.simulate(world, policies.make("thompson", importance=True), steps=1500, noise="change")
    without = recrawl.simulate(world, policies.make("thompson"), steps=1500, noise="change")
    assert with_importance.crawl_share[0] > 0.98
    assert 0.6 < without.crawl_share[0] < 0.85


@pytest.mark.parametrize(
    ("visits", "expected"),
    [
        (Visits([0, 1], 0.0, changed=[True, False], worth=[0.0, 1.0]), [True, False]),
        (Visits([0, 1], 0.0, worth=[0.0, 1.0]), [False, True]),
        (Visits([0, 1], 0.0, new=[2, 0], published=[[], [0.5]]), [True, True]),
        (Visits([0, 1], 0.0), [False, False]),
    ],
)
def test_a_change_is_read_from_whatever_the_crawl_shows(visits: Visits, expected: list[bool]) -> None:
    assert found_change(visits).tolist() == expected
