"""Groups of pages as arms, formed from what crawls have shown."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl import Visits
from recrawl.errors import ParameterError
from recrawl.policies.grouped_arms import GroupedArms
from recrawl.policies.thompson import Thompson

HOUR, DAY = 3600.0, 86400.0
PAGES = 12


def crawled(policy: GroupedArms, days: int, budget: float = 2.0) -> list[np.ndarray]:
    """Crawl hourly; pages from number 6 on change all the time, the others never."""
    policy.start(PAGES, 0.0)
    choices = []
    for hour in range(1, 24 * days + 1):
        ids = policy.choose(hour * HOUR, budget)
        policy.observe(Visits(ids, hour * HOUR, changed=(ids >= 6) & ~np.isneginf(policy.last[ids])))
        choices.append(ids)
    return choices


@pytest.mark.parametrize("name", ["uniform", "thompson", "static", "round_robin"])
def test_a_call_crawls_distinct_pages_of_one_group_within_the_budget(name: str) -> None:
    policy = GroupedArms(name)
    policy.start(PAGES, 0.0)
    for hour in range(1, 20):
        ids = policy.choose(hour * HOUR, 2.0)
        assert 1 <= len(ids) <= 2
        assert len(np.unique(policy.group_of[ids])) == 1
        policy.observe(Visits(ids, hour * HOUR, changed=np.zeros(len(ids), dtype=bool)))


def test_pages_that_behave_alike_come_to_share_a_group() -> None:
    policy = GroupedArms("uniform", groups=2)
    crawled(policy, days=4)
    assert policy.group_of.tolist() == [0] * 6 + [1] * 6


def test_pages_of_a_group_take_turns() -> None:
    policy = GroupedArms("uniform", groups=1)
    choices = crawled(policy, days=1, budget=1.0)
    assert [int(ids[0]) for ids in choices[:PAGES]] == list(range(PAGES))


def test_thompson_sampling_settles_on_the_group_that_changes() -> None:
    choices = crawled(GroupedArms("thompson", groups=2), days=20)
    late = np.concatenate(choices[-100:])
    assert (late >= 6).mean() > 0.9


@pytest.mark.parametrize(("first_copies", "failures"), [(True, PAGES), (False, 0)])
def test_first_copies_speak_against_a_group_unless_left_aside(first_copies: bool, failures: int) -> None:
    policy = GroupedArms("thompson", first_copies=first_copies)
    policy.start(PAGES, 0.0)
    for hour in range(1, 20):
        ids = policy.choose(hour * HOUR, 3.0)
        changed = ~np.isneginf(policy.last[ids])
        policy.observe(Visits(ids, hour * HOUR, changed=changed))
    assert isinstance(policy.arms, Thompson)
    assert np.isfinite(policy.last).all()
    assert policy.arms.failures.sum() == failures


def test_no_groups_are_refused() -> None:
    with pytest.raises(ParameterError, match="groups"):
        GroupedArms("uniform", groups=0)


def test_an_unknown_policy_is_refused_at_once() -> None:
    with pytest.raises(ParameterError, match="nobody"):
        GroupedArms("nobody")
