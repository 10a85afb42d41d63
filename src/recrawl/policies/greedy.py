"""Policies that take what is worth most now and do not think of later."""

from __future__ import annotations

from recrawl.policies.rules import GREEDY, MYOPIC, Rule, rule_for
from recrawl.policies.slotted import SlottedPolicy


class Greedy(SlottedPolicy):
    """Highest expected worth by time since the crawl, observed or not [tcns2018, §IX]."""

    def rule(self, budget: float) -> Rule:
        """Expected worth per cost after the elapsed slots."""
        assert self.sources is not None
        return rule_for(GREEDY, self.sources)


class Myopic(SlottedPolicy):
    """Highest observed worth; expected worth where it is not observed."""

    def rule(self, budget: float) -> Rule:
        """Worth per cost."""
        assert self.sources is not None
        return rule_for(MYOPIC, self.sources)
