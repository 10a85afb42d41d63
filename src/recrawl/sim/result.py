"""What a simulation found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from recrawl.records import BoolArray, FloatArray, IntArray
from recrawl.sim.metrics import interval95

Trajectory = tuple[FloatArray, BoolArray]


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """Rewards and spending of some runs.

    Parameters
        rewards: worth collected, one row per run, one column per slot
        spend: cost per slot, averaged over slots and runs; what a soft budget must be judged by
        crawl_share: share of the slots in which each source was crawled, averaged over runs
        crawls: how often each source was crawled, one row per run
    """

    rewards: FloatArray
    spend: float
    crawl_share: FloatArray
    _record: Callable[[], Trajectory] = field(repr=False)
    crawls: IntArray = field(repr=False)

    @property
    def mean_reward(self) -> float:
        """Worth collected per slot."""
        return float(self.rewards.mean())

    @property
    def ci95(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean reward over runs; None for a single run."""
        return interval95(self.rewards.mean(axis=1))

    @property
    def never_crawled(self) -> float:
        """The share of the sources that no run ever crawled."""
        return float((self.crawl_share == 0).mean())

    @cached_property
    def _trajectory(self) -> Trajectory:
        return self._record()

    @property
    def states(self) -> FloatArray:
        """The worth of every source in every slot of the first run, before crawling (replayed on first use)."""
        return self._trajectory[0]

    @property
    def actions(self) -> BoolArray:
        """Which sources the first run crawled in which slot (replayed on first use)."""
        return self._trajectory[1]

    def mean_between(self, first: int, last: int) -> float:
        """Worth collected per slot over the slots from `first` up to but not including `last`."""
        return float(self.rewards[:, first:last].mean())
