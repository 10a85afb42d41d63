"""Policies side by side on what was really published."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.config import Config
from recrawl.policies import make
from recrawl.records import Visits
from recrawl.sim.contest import Publications, compete
from recrawl.wiring import make_policy

START, DAY = 1_700_000_000.0, 86400.0


def published(interest: list[float], **more: object) -> Publications:
    """As many feeds as there are interests, twelve items a day each, over six days with a day of history."""
    draw = np.random.default_rng(0)
    times = [np.sort(draw.uniform(START - DAY, START + 6 * DAY, 84)) for _ in interest]
    count = len(interest)
    return Publications(
        times, np.array(interest), np.full(count, 6 * 3600.0), np.full(count, 20.0), START, START + 6 * DAY, **more
    )  # fmt: skip


def test_the_live_policy_knows_what_owners_said_as_it_does_live() -> None:
    told = published([10.0] * 3 + [0.1] * 27)
    mine = compete(make_policy(Config(half_life="6h")), told, 24 / DAY)
    blind = compete(make("round_robin"), told, 24 / DAY)
    assert mine.fetches == blind.fetches
    assert mine.captured > 2.0 * blind.captured


def test_a_maximum_age_is_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, seen = make_policy(Config(half_life="6h")), list[int]()
    learn = policy.observe

    def observe(visits: Visits) -> None:
        seen.extend(visits.ids.tolist())
        learn(visits)

    monkeypatch.setattr(policy, "observe", observe)
    compete(policy, published([10.0] * 3 + [1e-6] * 3, max_age_s=np.full(6, DAY)), 48 / DAY)
    assert min(seen.count(number) for number in (3, 4, 5)) >= 5


@pytest.mark.parametrize("policy", ["miniflux", "round_robin"])
def test_rules_that_know_no_worth_are_told_too(policy: str) -> None:
    assert compete(make(policy), published([1.0, 2.0]), 24 / DAY).captured > 0.0
