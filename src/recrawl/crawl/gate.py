"""The budget kept at the very moment requests leave.

Requests are paid for when they are chosen, and leave when the program gets around to it. After a stall (a long
collection, a busy machine) those paid for one after the other would leave together, and the web would see more than the
budget in a short time. Here they are spread out again: between any two moments at most burst + rate · time leave. Where
the budget is allotted and has run out, they wait for the next allotment.
"""

from __future__ import annotations

from recrawl.clock import Clock
from recrawl.crawl.allowance import Allotment, Allowance
from recrawl.crawl.transport import Request, Response, Transport


class GatedTransport:
    """A transport that lets requests out no faster than the budget; none before an allotment if that is `None`."""

    def __init__(self, inside: Transport, budget: Allotment | None, clock: Clock) -> None:
        self._inside = inside
        self._allowance = Allowance(budget, clock)

    def allot(self, allotment: Allotment, *, standing: bool = False) -> None:
        """From now on so many may leave, and no more."""
        self._allowance.allot(allotment, standing=standing)

    async def fetch(self, request: Request) -> Response:
        """Wait for the turn, then send it."""
        await self._allowance.draw()
        return await self._inside.fetch(request)

    async def close(self) -> None:
        """Close what is inside."""
        await self._inside.close()
