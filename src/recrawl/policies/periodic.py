"""Each source at its own fixed period: the static policy the paper argues against [tcns2018, §I, §IX]."""

from __future__ import annotations

from recrawl.kernels.price import periods_at, relaxed_bound
from recrawl.policies.rules import PERIODIC, Rule, rule_for
from recrawl.policies.slotted import SlottedPolicy


class Periodic(SlottedPolicy):
    """Crawls a source when its period has passed, the most overdue first; unspent budget is not used.

    The periods are optimal for the relaxed problem at the price where the budget is spent on average.
    """

    def rule(self, budget: float) -> Rule:
        """Due once the period has passed."""
        assert self.sources is not None
        price = relaxed_bound(self.sources, min(budget, float(self.sources.cost.sum()))).price
        return rule_for(PERIODIC, self.sources, weight=periods_at(self.sources, price))
