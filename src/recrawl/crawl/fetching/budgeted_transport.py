"""No request leaves faster than the budget, whoever sends it and however long it waited."""

from __future__ import annotations

from recrawl.crawl.fetching.transport import Request, Response, Transport
from recrawl.crawl.request_budget import RequestBudget


class BudgetedTransport:
    """A transport that lets requests out no faster than the budget: at most burst + rate · time between two moments."""

    def __init__(self, inside: Transport, budget: RequestBudget) -> None:
        self._inside, self._budget = inside, budget.twin()

    async def fetch(self, request: Request) -> Response:
        """Wait for a token, then send it."""
        await self._budget.pay()
        return await self._inside.fetch(request)

    async def close(self) -> None:
        """Close what is inside."""
        await self._inside.close()
