"""A policy put back from a database goes on as if it had never been away."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl import Visits
from recrawl.policies.learned_whittle import LearnedWhittle

NOW, HOUR = 1.75e9, 3600.0


def crawl(policy: LearnedWhittle, ids: np.ndarray, now: float, truth: np.ndarray) -> None:
    """Even ids are feeds, odd ones pages; what they show depends on nothing but id and time."""
    for parity in (0, 1):
        mine = ids[ids % 2 == parity]
        if len(mine) == 0:
            continue
        draw = np.random.default_rng([int(now), parity])
        if parity == 0:
            lists = [now - draw.uniform(0, 20 / truth[i], 20 if draw.random() < 0.7 else 0) for i in mine]
            policy.observe(Visits(mine, now, published=lists, new=draw.integers(0, 2, len(mine))))
        else:
            policy.observe(Visits(mine, now, changed=draw.random(len(mine)) < 0.5, failed=draw.random(len(mine)) < 0.2))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    targets=st.integers(1, 25),
    rounds=st.integers(0, 30),
    step=st.sampled_from([0.25, 60.0, HOUR, 30 * HOUR]),
    budget=st.sampled_from([1.0, 3.0]),
)
def test_rows_and_shared_state_restore_beliefs_and_choices(
    seed: int, targets: int, rounds: int, step: float, budget: float
) -> None:
    random = np.random.default_rng(seed)
    truth = np.exp(random.uniform(np.log(1e-6), np.log(0.1), targets))
    options = {"half_life": float(random.choice([6.0, 6 * HOUR])), "max_age": 30 * 24 * HOUR}
    importance, half_life = random.lognormal(size=targets), random.choice([np.nan, 10.0, HOUR], targets)
    policy = LearnedWhittle(**options)  # type: ignore[arg-type]
    policy.start(targets, NOW)
    policy.configure(np.arange(targets), importance=importance, half_life=half_life)
    now = NOW
    for _ in range(rounds):
        now += step
        crawl(policy, policy.choose(now, budget), now, truth)
    everyone = np.arange(targets)
    twin = LearnedWhittle(**options)  # type: ignore[arg-type]
    twin.start(targets, now)
    assert twin.load_shared(policy.shared())
    twin.configure(everyone, importance=importance, half_life=half_life)
    last = policy.kept.last[:targets]
    visited = np.isfinite(last)
    assert twin.load_rows(everyone, policy.rows(everyone), np.where(visited, last, NOW), visited).all()
    for _ in range(10):
        now += step
        chosen = policy.choose(now, budget)
        np.testing.assert_array_equal(chosen, twin.choose(now, budget))
        visited = everyone[np.isfinite(policy.kept.last[:targets])]
        ours, theirs = policy.beliefs(visited), twin.beliefs(visited)
        np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-12)
        np.testing.assert_allclose(ours.rate, theirs.rate, rtol=1e-12)
        crawl(policy, chosen, now, truth)
        crawl(twin, chosen, now, truth)
