"""Pages and lists that are removed: what they said is forgotten, and nobody is believed to speak for the others."""

from __future__ import annotations

import numpy as np
import pytest

from listed import DAY, HOUR, World, weekly
from oracles.lists import Law
from recrawl import Visits
from recrawl.policies.learned_whittle import LearnedWhittle

PAGES = 24
EVERYONE = np.arange(PAGES)


def trusting(objective: str = "freshness", lists: int = 1) -> tuple[World, LearnedWhittle]:
    """A policy that trusts a list of all pages; further lists name them too, and say nothing."""
    world = World(weekly(PAGES), [(EVERYONE, Law(0.95)), *[(EVERYONE, Law(0.0))] * (lists - 1)], seed=3)
    policy = world.begun(objective)
    world.run(policy, 60, 2, 4 * HOUR)
    assert next(each for each in policy.lists(world.now) if each.id == PAGES).trust > 0.9
    return world, policy


@pytest.mark.parametrize("objective", ["freshness", "changes", "ephemeral", "discovery"])
def test_pages_of_a_list_that_is_removed_are_looked_at_as_if_nobody_spoke_for_them(objective: str) -> None:
    """The share of its changes that nobody will name is all of them again, and the index is no lower than before."""
    world, policy = trusting(objective)
    quiet = np.array([i for i in EVERYONE if policy.heard([i])[0].signals == 0])  # type: ignore[union-attr]
    later = world.now + 5 * DAY
    before = policy.index(quiet, later)
    hidden = policy.learned.signals.hidden(EVERYONE)  # type: ignore[union-attr]
    assert hidden.max() < 0.5
    policy.drain_told()
    policy.remove([PAGES])
    assert (policy.learned.signals.hidden(EVERYONE) == 1.0).all()  # type: ignore[union-attr]
    assert policy.lists(world.now) == []
    assert policy.heard(EVERYONE) == [None] * PAGES
    assert set(policy.drain_told().tolist()) == set(EVERYONE.tolist())
    assert np.isfinite(policy.index(EVERYONE, later)).all()
    assert (policy.index(quiet, later) >= before * 0.99).mean() > 0.9
    world.lists = []
    world.stated = []
    world.run(policy, 10, 2, 4 * HOUR)
    model = next(iter(policy.learned.models.values()))
    assert (model.heard.hidden[: len(model)] == 1.0).all()  # type: ignore[attr-defined]


def test_a_list_beside_it_is_listened_to_when_the_best_one_is_removed() -> None:
    world, policy = trusting(lists=2)
    assert {each.list for each in policy.heard(EVERYONE) if each} == {PAGES}
    policy.remove([PAGES])
    assert {each.list for each in policy.heard(EVERYONE) if each} == {PAGES + 1}
    assert [each.id for each in policy.lists(world.now)] == [PAGES + 1]
    assert policy.lists(world.now)[0].pages == PAGES


def test_a_list_removed_while_it_is_fetched_stays_removed() -> None:
    world, policy = trusting()
    policy.remove([PAGES])
    policy.observe(Visits([PAGES], world.now, sitemap=[(EVERYONE, np.full(PAGES, world.now))]))  # type: ignore[arg-type]
    assert policy.lists(world.now) == []
    assert policy.heard(EVERYONE) == [None] * PAGES


def test_a_page_that_is_removed_is_in_no_list_and_its_place_is_used_again() -> None:
    world, policy = trusting()
    lists = policy.learned.signals.lists  # type: ignore[union-attr]
    taken = len(lists.sources)
    policy.remove([0, 5])
    assert policy.lists(world.now)[0].pages == PAGES - 2
    world.visit(policy, np.array([PAGES]))
    assert policy.heard([0, 5]) == [None, None]
    more = policy.add(2)
    policy.observe(Visits([PAGES], world.now, sitemap=[(more, np.full(2, world.now))]))  # type: ignore[arg-type]
    assert len(lists.sources) == taken
    assert [each.list for each in policy.heard(more) if each] == [PAGES, PAGES]
    policy.signal([0, 5, *more.tolist()], world.now)
    assert policy.heard([0, 5]) == [None, None]


def test_a_batch_of_which_all_pages_are_removed_is_over() -> None:
    world, policy = trusting()
    world.now += DAY
    policy.observe(Visits([PAGES], world.now, sitemap=[(EVERYONE, np.full(PAGES, world.now - 60.0))]))  # type: ignore[arg-type]
    batches = policy.learned.signals.lists.batches  # type: ignore[union-attr]
    assert batches.waiting[: len(batches)].sum() == PAGES
    policy.remove(EVERYONE[:10])
    assert batches.waiting[: len(batches)].sum() == PAGES - 10
    policy.remove([PAGES])
    assert batches.waiting[: len(batches)].sum() == 0
    assert sorted(batches._free) == list(range(len(batches)))
