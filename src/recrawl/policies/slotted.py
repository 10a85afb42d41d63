"""Policies of the papers that rank known sources in slotted time by a fixed rule."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from recrawl.policies.base import RankedPolicy
from recrawl.policies.rules import Rule, scores
from recrawl.records import FloatArray


class SlottedPolicy(RankedPolicy):
    """Ranks sources by a :class:`Rule` over their worth or the slots since their crawl.

    Every source counts as crawled one slot before the start, as in [tcns2018]: X(0) = u.
    """

    needs_sources: ClassVar[bool] = True

    def rule(self) -> Rule:
        """The rule for the sources the policy was started with."""
        raise NotImplementedError

    def begin(self, now: float) -> None:
        """Work out the rule."""
        self.last = np.full(len(self.last), now - 1.0)
        self.ranking = self.rule()

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """The rule's score of every source."""
        unseen = np.full(len(self.last), np.nan) if states is None else states
        return scores(self.ranking, now - self.last, unseen)
