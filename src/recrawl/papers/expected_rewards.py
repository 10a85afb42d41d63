"""Rewards without the noise of what a crawl happened to find.

A policy that crawls page i after k slots earns w_i with probability 1 − (1 − Δ_i)^k. Given what the policy chose, that
expectation is known, and averaging it instead of the reward itself removes most of the noise of a run without changing
its mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.policies.contract import Policy
from recrawl.records import FloatArray, IntArray, Sources
from recrawl.sim.grouped_pages import GroupedPages


class Audited:
    """A policy like the one inside it, that notes in `expected` what each of its choices earns in expectation."""

    def __init__(self, policy: Policy) -> None:
        self.inside = policy
        self.soft_budget = policy.soft_budget

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inside, name)

    def start(
        self,
        targets: int,
        now: float,
        sources: Sources | None = None,
        groups: npt.ArrayLike | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Start both; every source counts as crawled one slot before."""
        assert sources is not None, "expected rewards are those of known sources"
        self.inside.start(targets, now, sources, groups, labels)
        self.sources, self.last = sources, np.full(targets, now - 1.0)
        self.expected: list[float] = []

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """What the policy inside chooses."""
        ids = self.inside.choose(now, budget, states)
        worth: FloatArray = self.sources.ceiling[ids] * -np.expm1(
            -self.sources.decay_rate[ids] * (now - self.last[ids])
        )
        self.expected.append(float(worth.sum()))
        self.last[ids] = now
        return ids


class AuditedGroups(Audited):
    """The same for a policy over groups: each choice crawls the next page of its group in turn."""

    def __init__(self, policy: Policy, world: GroupedPages) -> None:
        super().__init__(policy)
        self.world = world

    def start(
        self,
        targets: int,
        now: float,
        sources: Sources | None = None,
        groups: npt.ArrayLike | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Start both; every page counts as crawled one slot before, and every pointer shows the first of its group."""
        super().start(targets, now, sources, groups, labels)
        sizes = self.world.pages_per_group
        self.first, self.pointer = np.cumsum(sizes) - sizes, np.zeros(targets, dtype=np.int64)
        self.crawled = np.full(int(sizes.sum()), now - 1.0)

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """What the policy inside chooses."""
        ids = self.inside.choose(now, budget, states)
        pages = self.first[ids] + self.pointer[ids]
        waited = now - self.crawled[pages]
        found = -np.expm1(-self.sources.decay_rate[ids] * waited)
        self.expected.append(float((self.sources.ceiling[ids] * found).sum()))
        self.crawled[pages] = now
        self.pointer[ids] = (self.pointer[ids] + 1) % self.world.pages_per_group[ids]
        return ids
