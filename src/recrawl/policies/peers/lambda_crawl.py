"""LambdaCrawl (Kolobov et al., NeurIPS 2019): rates of least cost under a budget, from estimated change rates."""

from __future__ import annotations

from recrawl.kernels.crawl_rates import lambda_crawl_rates
from recrawl.policies.peers.planned import PlannedTimerPolicy
from recrawl.records import FloatArray


class LambdaCrawl(PlannedTimerPolicy):
    """Crawls each page at its LambdaCrawl rate, all pages of equal weight."""

    def plan(self, change_rate: FloatArray, budget: float) -> FloatArray:
        """The rates at the price that spends the budget."""
        return lambda_crawl_rates(change_rate, budget)
