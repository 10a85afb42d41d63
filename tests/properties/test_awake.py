"""Looking at those who are awake is as good as looking at everybody: the same ids in the same order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl import Visits
from recrawl.policies import index_ranking
from recrawl.policies.index_ranking import OVERDUE
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.scheduling.awake import Awake

NOW = 1.75e9
FORMS = ["rhythm", "quadratic rhythm", "averaged", "averaged changes", "planned", "all kinds", "all kinds, late"]


def dense(policy: LearnedWhittle, now: float, budget: float) -> list[int]:
    """The obvious choice: every source by its index, from the top, one per host."""
    kept, end = policy.kept, len(policy.kept)
    ids = np.flatnonzero(kept.visited[:end] & ~kept.away[:end] & ~kept.removed[:end] & (kept.held_until[:end] <= now))
    index, age = policy.index(ids, now), now - kept.since[ids]
    index = np.where(age >= policy.ages.floor, OVERDUE * (age / policy.ages.floor), index)
    chosen: list[int] = []
    used: set[int] = set()
    for place in np.lexsort((ids, -index)).tolist():
        number, host = int(ids[place]), int(kept.group[ids[place]])
        if not index[place] > 0.0 or (
            policy.kept.grouped and (host in used or policy.kept.group_held_until[host] > now)
        ):
            continue
        if kept.cost[[*chosen, number]].sum() > budget + 1e-9:
            break
        chosen.append(number)
        used.add(host)
    return chosen


def made(form: str, targets: int, hosts: int, random: np.random.Generator) -> LearnedWhittle:
    objective = {"quadratic rhythm": "discovery", "planned": "freshness", "averaged changes": "changes"}
    policy = LearnedWhittle(
        objective=objective.get(form, "ephemeral"),  # type: ignore[arg-type]
        half_life=float(random.choice([3600.0, 86400.0])),
        max_age=None if random.random() < 0.5 else 20 * 86400.0,
        rounds=float(random.choice([0.0, 3.0])),
    )
    policy.start(targets, NOW, groups=random.integers(0, hosts, targets) if hosts else None)
    policy.configure(
        np.arange(targets),
        importance=random.lognormal(0.0, 1.0, targets),
        cost=random.choice([1.0, 1.0, 3.0], targets),
    )
    if form.endswith("late"):
        delay, batch = random.choice([0.0, 1800.0], targets), random.choice([0.0, 3600.0, 86400.0], targets)
        policy.configure(np.arange(targets), index_delay=delay, index_batch=batch)
    return policy


def crawl(policy: LearnedWhittle, form: str, ids: np.ndarray, now: float, random: np.random.Generator) -> None:
    """Even ids show items, odd ones whether they changed, where all kinds are there."""
    lists = form.endswith("rhythm") | form.startswith("all kinds") & (ids % 2 == 0)
    for items in (False, True):
        mine = ids[lists == items]
        if len(mine):
            rate, gap = (1 + mine % 7) / 86400.0, now - policy.kept.since[mine]
            if items:
                shown = [now - random.random(random.poisson(r * g)) * g for r, g in zip(rate, gap, strict=True)]
                policy.observe(Visits(mine, now, published=shown))
            else:
                policy.observe(Visits(mine, now, changed=random.random(len(mine)) < -np.expm1(-rate * gap)))


@settings(max_examples=40, deadline=None)
@given(
    form=st.sampled_from(FORMS),
    seed=st.integers(0, 2**32 - 1),
    targets=st.integers(20, 150),
    hosts=st.sampled_from([0, 3, 1000]),
    step=st.sampled_from([7.0, 600.0, 40_000.0]),
)
def test_the_same_ids_in_the_same_order_as_the_dense_scan(
    form: str, seed: int, targets: int, hosts: int, step: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_ranking, "LEAST_AWAKE", 2)
        patch.setattr(index_ranking, "RESTLESS", 2)
        random = np.random.default_rng(seed)
        policy, now = made(form, targets, hosts, random), NOW
        for _ in range(targets * 3):
            now += step * float(random.choice([0.0, 1.0, 1.0, 30.0], p=[0.05, 0.9, 0.03, 0.02]))
            if random.random() < 0.05:
                policy.hold(random.integers(0, targets, 2), now + step * random.integers(0, 20))
            if hosts and random.random() < 0.2:
                policy.hold_groups(random.integers(0, hosts, 2), now + step * random.integers(0, 5))
            budget = float(random.choice([1.0, 2.0, 5.0]))
            waiting = not policy.kept.visited[:targets].all()
            expected = dense(policy, now, budget)
            chosen = policy.choose(now, budget)
            if not waiting:
                assert chosen.tolist() == expected
            crawl(policy, form, chosen, now, random)


def test_sleepers_wake_in_their_time_and_only_once() -> None:
    random, awake = np.random.default_rng(0), Awake()
    awake.grow(5000)
    awake.rouse_all(np.arange(5000))
    awake.mark = 1.0
    until = random.uniform(0.0, 100.0, 5000)
    awake.sleep(np.arange(5000), until)
    for now in np.linspace(0.0, 120.0, 700):
        if now < 90.0:
            again = random.integers(0, 5000, 3)
            awake.rouse(again)
            until[again] = now + random.uniform(1.0, 50.0, 3)
            awake.sleep(np.unique(again), until[np.unique(again)])
        found = awake.at(now)
        assert len(np.unique(found)) == len(found)
        np.testing.assert_array_equal(np.sort(found), np.flatnonzero(until <= now))


def test_where_those_awake_may_not_be_chosen_sleepers_are_looked_at() -> None:
    random, targets = np.random.default_rng(3), 2000
    policy, now = LearnedWhittle(half_life=86400.0), NOW
    policy.start(targets, NOW)
    for _ in range(2 * targets):
        now += 60.0
        crawl(policy, "averaged", policy.choose(now, 1.0), now, random)
    now += 60.0
    for free in (0, 3):
        policy.release(policy.choose(now, 1.0))
        awake = policy.ranking.awake.at(now)
        assert 10 < len(awake) < targets // 2
        policy.hold(np.arange(targets), -np.inf)
        policy.hold(awake[free:], now + 1e6)
        expected = dense(policy, now, 8.0)
        assert len(expected) == 8
        assert policy.choose(now, 8.0).tolist() == expected
        policy.release(np.array(expected))
        policy.hold(np.arange(targets), -np.inf)
