"""The budget kept at the very moment requests leave.

Requests are paid for when they are chosen, and leave when the program gets around to it. After a stall (a long
collection, a busy machine) those paid for one after the other would leave together, and the web would see more than the
budget in a short time. Here they are spread out again: between any two moments at most burst + rate · time leave.
"""

from __future__ import annotations

from recrawl.clock import Clock
from recrawl.crawl.transport import Request, Response, Transport
from recrawl.scheduling.budget import TimedBucket


class GatedTransport:
    """A transport that lets requests out no faster than the budget."""

    def __init__(self, inside: Transport, per_second: float, burst: float, clock: Clock) -> None:
        self._inside, self._clock = inside, clock
        self._bucket = TimedBucket(per_second, burst, now=clock.now())

    async def fetch(self, request: Request) -> Response:
        """Wait for the turn, then send it."""
        self._bucket.fill(self._clock.now())
        while not self._bucket.spend():
            await self._clock.sleep(max(self._bucket.ready_at() - self._clock.now(), 1e-3))
            self._bucket.fill(self._clock.now())
        return await self._inside.fetch(request)

    async def close(self) -> None:
        """Close what is inside."""
        await self._inside.close()
