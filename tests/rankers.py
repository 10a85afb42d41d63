"""Policies of one form of the index each, made up: their due times are found by plain search on their own index."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from recrawl.crawl.explaining.ranking import Rank, Ranking
from recrawl.policies.contract import Beliefs, Reason
from recrawl.records import FloatArray
from recrawl.store.records import Progress, Source

HOUR_S, DAY_S = 3600.0, 86400.0


class FakeRanker:
    """One source, number 0, last crawled at `last`, whose index at an age and a time is any function."""

    def __init__(
        self,
        index: Callable[[float, float], float],
        last: float,
        *,
        reason: Reason,
        max_age: float = 30 * DAY_S,
        believed: tuple[float, float, float, float] = (math.nan,) * 4,
    ) -> None:
        self.step_s = 60.0
        self.at, self.last, self.reason, self.max_age, self.believed = index, last, reason, max_age, believed

    def beliefs(self, ids: npt.ArrayLike) -> Beliefs:
        return Beliefs(*(np.full(np.size(ids), each) for each in self.believed))

    def index(self, ids: npt.ArrayLike, now: float) -> FloatArray:
        return np.full(np.size(ids), self.at(now - self.last, now))

    def due(self, ids: npt.ArrayLike, price: float | None = None) -> FloatArray:
        """The first step at which the index has met the price, then by halves within it; or the maximum age."""
        age, met = 0.0, False
        while age < self.max_age and not met:
            age += self.step_s
            met = self.at(age, self.last + age) >= (price or 0.0)
        low, high = age - self.step_s, age
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.at(middle, self.last + middle) >= (price or 0.0) else (middle, high)
        return np.full(np.size(ids), self.last + (min(high, self.max_age) if met else self.max_age))

    def reasons(self, ids: npt.ArrayLike, now: float) -> list[Reason]:
        return [self.reason] * np.size(ids)


def closed_index(value: float, rate: float, age: float, cost: float) -> float:
    """By hand."""
    s = rate * age
    return value / cost * (1 - (1 + s) * math.exp(-s)) if rate else value * age**2 / (2 * cost)


def closed(source: Source, progress: Progress, max_age: float = 30 * DAY_S) -> FakeRanker:
    """What is believed in `progress`, ranked in closed form."""
    worth, rate = source.importance * progress.value, progress.rate
    believed = (progress.value, progress.value_sd, rate, progress.rate_sd)
    return FakeRanker(
        lambda age, _: closed_index(worth, rate, age, source.cost), progress.last or 0.0, believed=believed,
        max_age=source.max_age or max_age, reason=Reason("closed", {"value": progress.value, "rate_per_s": rate}),
    )  # fmt: skip


def planned(last: float, changes_a_day: float, fetches_a_day: float, importance: float = 1.0) -> FakeRanker:
    """Age times a planned rate."""
    change, plan = changes_a_day / DAY_S, fetches_a_day / DAY_S
    numbers = {"change_rate_per_s": change, "change_rate_sd": change / 3, "planned_rate_per_s": plan}
    return FakeRanker(
        lambda age, _: importance * plan * age, last, believed=(1 / change, 0.3 / change, change, change / 3),
        reason=Reason("planned", numbers | {"importance": importance}),
    )  # fmt: skip


def rhythmic(last: float, items_a_day: float = 24.0, busy: tuple[int, int] = (8, 18)) -> FakeRanker:
    """What waits fades, and is five times as much worth looking at in the busy hours (UTC)."""

    def index(age: float, time: float) -> float:
        hour = time % DAY_S / HOUR_S
        return items_a_day / 2 * (1 - math.exp(-age / (12 * HOUR_S))) * (1.0 if busy[0] <= hour < busy[1] else 0.2)

    numbers = {"items_per_day": items_a_day, "items_per_day_sd": items_a_day / 8}
    numbers |= {"profile_now": 1.0, "items_waiting": 2.0, "half_life_s": 12 * HOUR_S}
    believed = (items_a_day / 2, items_a_day / 8, math.log(2) / (12 * HOUR_S), 0.0)
    return FakeRanker(index, last, believed=believed, reason=Reason("rhythm", numbers))


def standing(ranker: FakeRanker, progress: Progress, now: float, price: float) -> Rank:
    """Of the one source there is."""
    return Ranking(ranker, {progress.source: 0}).standing(progress, now, price)
