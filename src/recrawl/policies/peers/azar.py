"""Azar et al. (PNAS 2018): rates of greatest freshness under a budget, from estimated change rates, with a floor.

The optimal rates starve fast pages altogether. In practice part of the budget, here 0.4 of it, is shared evenly.
"""

from __future__ import annotations

from recrawl.kernels.crawl_rates import azar_rates
from recrawl.policies.peers.planned import PlannedTimerPolicy
from recrawl.records import FloatArray, checked


class Azar(PlannedTimerPolicy):
    """Crawls each page at its rate of Azar et al., all pages of equal weight.

    Parameters
        floor: the share of the budget given evenly to all pages; 0 for the optimal rates as published
    """

    def __init__(
        self, floor: float = 0.4, filled: bool = False, scale: float = 1.0, seed: int | tuple[int, ...] = 0
    ) -> None:
        super().__init__(filled, scale, seed)
        self.floor = float(checked("floor", floor, "a share in [0, 1)", high=1.0))

    def plan(self, change_rate: FloatArray, budget: float) -> FloatArray:
        """An even share of the floor, the rest by the optimal rates."""
        even = self.floor * budget
        return even / len(change_rate) + azar_rates(change_rate, budget - even)
