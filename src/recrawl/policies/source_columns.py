"""What the learned policy itself keeps of every source and host: times, holds, what owners said, what is in flight.

What it believes of them is kept elsewhere (:mod:`recrawl.learning.beliefs`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from recrawl.learning.columns import Column, Columns
from recrawl.records import BoolArray, FloatArray, IntArray

ALONE = -1
"""The family of a source that has none."""


class SourceColumns(Columns):
    """One row per source, and until when each group is held."""

    columns: ClassVar[Mapping[str, Column]] = {
        "since": Column(np.float64, 0.0),
        "held_until": Column(np.float64, -np.inf),
        "importance": Column(np.float64, 1.0, alike=True),
        "cost": Column(np.float64, 1.0, alike=True),
        "max_age": Column(np.float64, np.nan, alike=True),
        "visited": Column(np.bool_, False),
        "away": Column(np.bool_, False),
        "removed": Column(np.bool_, False),
        "group": Column(np.int64, 0),
        "kin": Column(np.int64, ALONE, alike=True),
        "turn": Column(np.float64, 0.0, alike=True),
    }
    since: FloatArray
    """The last visit, or since when a source is known."""
    held_until: FloatArray
    importance: FloatArray
    cost: FloatArray
    max_age: FloatArray
    visited: BoolArray
    away: BoolArray
    removed: BoolArray
    group: IntArray
    kin: IntArray
    turn: FloatArray

    def __init__(self, grouped: bool) -> None:
        super().__init__(0)
        self.grouped = grouped
        self.group_held_until: FloatArray = np.empty(0)
        self.gone = 0
        self.cheapest = math.inf
        """No source costs less."""
        self.total_cost = 0.0
        """Of all that are there."""

    def enter(self, count: int, now: float, groups: IntArray | None, cost: FloatArray | None) -> IntArray:
        """New sources, known since `now`; their ids."""
        ids = np.arange(len(self), len(self) + count)
        self.grow(count)
        self.since[ids] = now
        if groups is not None:
            self.group[ids] = groups
            self._room_for_groups(groups)
        if cost is not None:
            self.put("cost", ids, cost)
        self.cheapest = min(self.cheapest, float(self.cost[ids].min(initial=math.inf)))
        self.total_cost += float(self.cost[ids].sum())
        return ids

    @property
    def last(self) -> FloatArray:
        """When each was last visited; −inf for never."""
        return np.where(self.visited, self.since, -np.inf)

    def set_cost(self, ids: IntArray, cost: FloatArray) -> None:
        """What crawls of some sources cost."""
        here = np.unique(ids[~self.removed[ids]])
        self.total_cost -= float(self.cost[here].sum())
        self.put("cost", ids, cost)
        self.total_cost += float(self.cost[here].sum())
        self.cheapest = min(self.cheapest, float(self.cost[ids].min(initial=math.inf)))

    def remove(self, ids: IntArray) -> IntArray:
        """Some sources are gone; those of them that were still there."""
        gone = np.unique(ids[~self.removed[ids]])
        self.removed[gone] = True
        self.gone += len(gone)
        self.total_cost -= float(self.cost[gone].sum())
        return gone

    def hold_groups(self, groups: IntArray, until: FloatArray) -> None:
        """Until when some groups are held; nothing where sources have none."""
        if self.grouped or len(self) == 0:
            self._room_for_groups(groups)
            self.group_held_until[groups] = until

    def _room_for_groups(self, groups: IntArray) -> None:
        count, before = int(groups.max(initial=-1)) + 1, len(self.group_held_until)
        if count > before:
            longer = np.full(max(count, 2 * before, 64), -math.inf)
            longer[:before] = self.group_held_until
            self.group_held_until = longer

    def groups_of(self, ids: IntArray) -> IntArray | None:
        """The groups of some sources; None where there are none."""
        return self.group[ids] if self.grouped else None

    def free(self, ids: IntArray, now: float, taken: IntArray) -> BoolArray:
        """Which of some sources may be chosen by index, beside those taken."""
        free: BoolArray = self.visited[ids] & ~self.away[ids] & ~self.removed[ids] & (self.held_until[ids] <= now)
        if self.grouped:
            free &= self.group_held_until[self.group[ids]] <= now
            if len(taken):
                free &= ~np.isin(self.group[ids], self.group[taken])
        return free

    def ready_since(self, ids: IntArray) -> FloatArray:
        """Until when some sources were held, by themselves or with their group."""
        held = self.held_until[ids]
        return np.maximum(held, self.group_held_until[self.group[ids]]) if self.grouped else held

    def crawled(self) -> IntArray:
        """The sources that are there and were crawled."""
        return np.flatnonzero(self.visited[: len(self)] & ~self.removed[: len(self)])
