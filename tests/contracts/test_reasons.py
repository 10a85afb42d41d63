"""The numbers a policy gives for its index make up that index, whatever its form, and looking ahead moves nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recrawl import Visits, policies
from recrawl.policies import LivePolicy

NOW, HOUR, DAY = 1.8e9, 3600.0, 86400.0
SOURCES = 40
IDS = np.arange(SOURCES)
OBJECTIVES = ("ephemeral", "freshness", "changes", "discovery")


def by_hand(form: str, said: dict[str, float]) -> float:
    """The index; NaN where it takes more than these numbers."""
    if form == "rhythm":
        fades = math.isfinite(said["half_life_s"])
        waiting = said["worth_waiting"] if fades else said["items_waiting"] * said["age_s"] / DAY / 2
        return said["weight"] * waiting * said["wait_factor"] * said["doubt_factor"]
    if form == "planned":
        return said["plan_price"] * said["planned_rate_per_s"] * said["age_s"]
    return math.nan


def lived(objective: str, seed: int = 0) -> LivePolicy:
    """Feeds and pages in folders, some with a half-life, importance or cost of their own, after ten days."""
    policy, draw = (
        policies.live("learned_whittle", objective=objective, half_life=8 * HOUR),
        np.random.default_rng(seed),
    )
    policy.start(SOURCES, NOW, labels=[f"https://h.example/{i % 5}/{i}" for i in IDS.tolist()])
    policy.configure(
        IDS,
        importance=np.linspace(0.5, 2.0, SOURCES),
        half_life=np.where(IDS % 3, np.nan, 3 * HOUR),
        max_age=np.full(SOURCES, 30 * DAY),
        cost=np.where(IDS % 7, 1.0, 2.0),
    )
    feeds = (IDS % 2 == 0) & (objective in ("ephemeral", "discovery"))
    for hour in range(1, 241):
        now = NOW + hour * HOUR
        for i in policy.choose(now, 3.0).tolist():
            if feeds[i]:
                listed = [np.sort(now - draw.uniform(0.0, 6 * HOUR, 1 + i % 4))]
                policy.observe(Visits(np.array([i]), now, published=listed, new=np.array([0])))
            else:
                policy.observe(Visits(np.array([i]), now, changed=np.array([draw.random() < 0.1 + 0.02 * i])))
    return policy


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_reasons_make_up_the_index(objective: str) -> None:
    policy, now = lived(objective), NOW + 240.6 * HOUR
    for number, (index, reason) in enumerate(zip(policy.index(IDS, now), policy.reasons(IDS, now), strict=True)):
        found = by_hand(reason.form, reason.numbers)
        if not math.isnan(found):
            assert found == pytest.approx(index, rel=1e-4), (number, reason)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_looking_ahead_leaves_the_present_as_it_was(objective: str) -> None:
    policy, now = lived(objective), NOW + 240.6 * HOUR
    before = policy.index(IDS, now)
    policy.index(IDS, now + 3 * DAY)
    policy.due(IDS, 0.5)
    policy.reasons(IDS, now)
    np.testing.assert_allclose(policy.index(IDS, now), before, rtol=1e-6)
