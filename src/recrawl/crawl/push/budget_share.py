"""A share of the budget for requests that are no visits, so that visits go on however many of these there are."""

from __future__ import annotations

from recrawl.clock import Clock
from recrawl.crawl.request_budget import RequestBudget


class BudgetShare:
    """So many requests may be begun; each is paid for apart, when it is sent.

    Parameters
        share: of the budget
        most: requests that may be saved up
    """

    def __init__(self, request_budget: RequestBudget, clock: Clock, share: float, most: float) -> None:
        self._request_budget, self._clock, self._share, self._most = request_budget, clock, share, most
        self._earned, self._since = 1.0, clock.now()

    def available(self) -> int:
        """How many there are now."""
        now = self._clock.now()
        earned = self._earned + self._share * self._request_budget.per_second * max(now - self._since, 0.0)
        self._earned, self._since = min(earned, self._most), now
        return int(self._earned + 1e-9)

    def spend(self, requests: int) -> None:
        """Take so many of them."""
        self._earned -= requests
