"""What the learned policy does with lists and signals in a small world: whom it visits, when, and what it says."""

from __future__ import annotations

import numpy as np
import pytest

from listed import DAY, HOUR, World, weekly
from oracles.lists import Law
from recrawl import Visits
from recrawl.policies.learned_whittle import LearnedWhittle

OBJECTIVES = ["freshness", "changes", "ephemeral", "discovery"]
PAGES = 32
EVERYONE = np.arange(PAGES)
HONEST, NOISE, REBUILT = Law(0.95), Law(0.0, per_time=0.5 / DAY), Law(1.0, per_time=1.0 / DAY)


def lived(objective: str, law: Law, days: float = 60, budget: float = 2, seed: int = 1) -> tuple[World, LearnedWhittle]:
    """A world of one list of all pages after some months, six rounds of visits a day."""
    world = World(weekly(PAGES), [(EVERYONE, law)], seed=seed)
    policy = world.begun(objective)
    world.run(policy, days, budget, 4 * HOUR)
    return world, policy


def waiting(policy: LearnedWhittle) -> np.ndarray:
    """Pages signalled since their last visit."""
    return np.array([i for i, said in enumerate(policy.heard(EVERYONE)) if said and said.signals], np.int64)


def named(world: World, policy: LearnedWhittle, pages: np.ndarray, ago: float = HOUR, apart: float = 300.0) -> None:
    """The list is read now, and names some pages one by one."""
    stated = world.stated[0].copy()
    stated[pages] = world.now - ago - apart * np.arange(len(pages))
    policy.observe(Visits([PAGES], world.now, sitemap=[(EVERYONE, stated)]))  # type: ignore[arg-type]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("law", [HONEST, NOISE], ids=["honest", "noise"])
def test_the_index_meets_the_price_when_a_signalled_page_is_due_and_not_before(objective: str, law: Law) -> None:
    world, policy = lived(objective, law)
    world.now += 30 * HOUR
    named(world, policy, EVERYONE[::3], ago=20 * HOUR)
    mine = waiting(policy)
    assert len(mine) > 5
    came = np.array([said.signalled for said in policy.heard(mine) if said])
    for level in policy.price * np.array([0.1, 0.5, 1.0, 1.5]):
        due = policy.due(mine, level)
        some = np.isfinite(due)
        index = policy.index(mine[some], due[some])
        assert (index >= level * 0.98).all()
        since = policy.kept.since[mine[some]]
        before = since + 0.98 * (due[some] - since)
        early = (before > np.maximum(came[some], since)) & (due[some] > came[some] + HOUR)
        assert (policy.index(mine[some][early], before[early]) <= level * 1.02).all()
        never = mine[~some]
        assert (policy.index(never, world.now + 100 * DAY) < level).all()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_page_due_by_its_signal_is_due_since_that_came(objective: str) -> None:
    world, policy = lived(objective, HONEST)
    world.now += 6 * HOUR
    fresh = np.array([i for i in EVERYONE if i not in set(waiting(policy).tolist())])
    quiet = fresh[policy.due(fresh) > world.now]
    named(world, policy, quiet[:3], ago=HOUR)
    due = policy.due(quiet[:3])
    prompt = due <= world.now
    assert prompt.any()
    came = np.array([said.signalled for said in policy.heard(quiet[:3]) if said])
    np.testing.assert_allclose(due[prompt], came[prompt], atol=1.0)
