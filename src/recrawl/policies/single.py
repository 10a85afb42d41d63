"""Always the same sources: the paper's "always source 1" [tcns2018, §IX]."""

from __future__ import annotations

import numpy as np

from recrawl.errors import ParameterError
from recrawl.policies.rules import FIXED, Rule, rule_for
from recrawl.policies.slotted import SlottedPolicy


class Single(SlottedPolicy):
    """Crawls `source` in every slot, then as many of the next best by inflow per cost as the budget pays for.

    Parameters
        source: its number; None for the one with the largest inflow per cost
    """

    def __init__(self, source: int | None = None, seed: int = 0) -> None:
        super().__init__(seed)
        self.source = source

    def rule(self, budget: float) -> Rule:
        """A fixed order."""
        assert self.sources is not None
        order = self.sources.inflow / self.sources.cost
        if self.source is not None:
            if not 0 <= self.source < len(self.sources):
                raise ParameterError("source", f"a source number (0 to {len(self.sources) - 1})", self.source)
            order = order.copy()
            order[self.source] = np.inf
        return rule_for(FIXED, self.sources, weight=order)
