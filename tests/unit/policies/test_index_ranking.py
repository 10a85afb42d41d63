"""The highest indices found among the few that are awake are those of all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from recrawl.policies.age_floor import AgeFloor
from recrawl.policies.index_ranking import LEAST_AWAKE, IndexRanking
from recrawl.policies.source_columns import SourceColumns
from recrawl.records import FloatArray, IntArray

NOW = 1_700_000_000.0
MANY = 40 * LEAST_AWAKE


class Growing:
    """Beliefs by which an index grows with age, at a pace of each source's own."""

    def __init__(self, pace: FloatArray) -> None:
        self.pace = pace
        self.looked_at = 0

    def index(self, ids: IntArray, since: FloatArray, now: float, tick: float) -> FloatArray:
        self.looked_at = len(ids)
        return self.pace[ids] * (now - since)

    def asleep_until(self, ids: IntArray, since: FloatArray, now: float, mark: float) -> FloatArray:
        return since + mark / self.pace[ids]


class Scene:
    """So many sources, crawled at NOW."""

    def __init__(self, size: int = MANY, max_age: float | None = None) -> None:
        self.beliefs = Growing(np.random.default_rng(0).uniform(0.1, 1.0, size))
        self.kept = SourceColumns(grouped=False)
        self.ids = self.kept.enter(size, NOW, None, None)
        self.kept.visited[self.ids] = True
        learned: Any = self.beliefs
        self.ranking = IndexRanking(self.kept, learned, AgeFloor(self.kept, max_age, 0.0, NOW))
        self.ranking.awake.grow(size)
        self.ranking.rouse_all()

    def choose(self, now: float, budget: float = 3.0) -> IntArray:
        self.ranking.follow_clock(now)
        chosen = self.ranking.choose(now, budget, np.empty(0, np.int64))
        self.kept.since[chosen] = now
        self.ranking.rouse(chosen)
        return chosen


def test_most_sleep_and_the_choice_is_that_of_a_look_at_all() -> None:
    scene, few = Scene(), 0
    for step in range(1, 200):
        now = NOW + 10.0 * step
        exact = scene.beliefs.pace * (now - scene.kept.since)
        assert set(scene.choose(now).tolist()) == set(np.argsort(-exact)[:3].tolist())
        few += scene.beliefs.looked_at < MANY // 4
    assert few > 100


def test_the_price_is_that_of_the_last_one_chosen() -> None:
    scene = Scene(size=2)
    scene.beliefs.pace[:] = 1.0, 0.5
    assert math.isnan(scene.ranking.price)
    assert scene.choose(NOW + 10.0, budget=1.0).tolist() == [0]
    assert scene.ranking.price == pytest.approx(10.0)


def test_those_past_their_maximum_age_go_first_the_oldest_before_all() -> None:
    scene = Scene(size=3, max_age=100.0)
    scene.beliefs.pace[:] = 1.0, 1e-9, 1e-9
    scene.kept.since[[1, 2]] = NOW - 200.0, NOW - 300.0
    assert scene.choose(NOW + 1.0).tolist() == [2, 1, 0]


def test_whoever_is_too_dear_for_the_budget_is_not_looked_at() -> None:
    scene = Scene(size=2)
    assert scene.choose(NOW + 10.0, budget=0.5).tolist() == []
    assert scene.beliefs.looked_at == 0
