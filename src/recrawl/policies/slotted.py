"""Policies of the papers that rank known sources in slotted time by a fixed rule."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.policies.base import RankedPolicy
from recrawl.policies.rules import Rule, scores
from recrawl.records import FloatArray, IntArray


class SlottedPolicy(RankedPolicy):
    """Ranks sources by a :class:`Rule` over their worth or the slots since their crawl.

    Every source counts as crawled one slot before the start, as in [tcns2018]: X(0) = u.
    """

    needs_sources: ClassVar[bool] = True

    def rule(self, budget: float) -> Rule:
        """The rule for the sources the policy was started with, at this budget per slot."""
        raise NotImplementedError

    def begin(self, now: float) -> None:
        """Every source was crawled one slot ago; the rule is worked out when the budget is known."""
        self.last = np.full(len(self.last), now - 1.0)
        self.ranking: Rule | None = None

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """The top of the ranking; the first call's budget is that of every slot."""
        now, budget, states = self.question(now, budget, states)
        if self.ranking is None:
            self.ranking = self.rule(budget)
        return super().choose(now, budget, states)

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """The rule's score of every source."""
        assert self.ranking is not None
        unseen = np.full(len(self.last), np.nan) if states is None else states
        return scores(self.ranking, now - self.last, unseen)
