"""Requests leave no faster than the budget, however they pile up before the gate."""

from __future__ import annotations

import asyncio

from recrawl.clock import ManualClock
from recrawl.crawl.allowance import Allotment
from recrawl.crawl.gate import GatedTransport
from recrawl.crawl.transport import Request, Response


class Noting:
    def __init__(self, clock):
        self.clock, self.left, self.closed = clock, [], False

    async def fetch(self, request):
        self.left.append(self.clock.now())
        return Response(request.url, 200, {}, b"")

    async def close(self):
        self.closed = True


def leaving(requests, per_second, burst):
    clock = ManualClock(1000.0)
    inside = Noting(clock)

    async def main():
        gate = GatedTransport(inside, Allotment(per_second, burst), clock)
        for _ in range(requests):
            await gate.fetch(Request("http://a.example/"))
        await gate.close()

    asyncio.run(main())
    return inside


def test_a_heap_of_requests_is_spread_over_the_budget():
    inside = leaving(50, per_second=10.0, burst=5.0)
    for first in range(50):
        for last in range(first, 50):
            allowed = 5.0 + 10.0 * (inside.left[last] - inside.left[first]) + 1e-6
            assert last - first + 1 <= allowed + 1.0
    assert inside.left[-1] - 1000.0 <= 50 / 10.0 + 0.2
    assert inside.closed


def test_nothing_leaves_before_there_is_a_token():
    assert leaving(1, per_second=2.0, burst=1.0).left[0] >= 1000.5
