"""The request budget: tokens by the clock, in order of asking, and none once an allotment has run out.

Requests leave no faster than it, however they pile up before they do.
"""

from __future__ import annotations

import asyncio
import math

import pytest

from recrawl.clock import ManualClock
from recrawl.crawl.fetching.budgeted_transport import BudgetedTransport
from recrawl.crawl.fetching.transport import Request, Response
from recrawl.crawl.request_budget import Allotment, RequestBudget

NOW = 1000.0


class StillClock(ManualClock):
    """Moves only when told to; whoever sleeps by it counts as having looked."""

    def __init__(self) -> None:
        super().__init__(NOW)
        self.slept = 0

    async def sleep(self, seconds: float) -> None:
        self.slept += 1
        await asyncio.get_running_loop().create_future()


async def settled() -> None:
    """Let everybody run who can."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_without_an_allotment_nothing_is_there_and_nobody_looks_again():
    async def main():
        clock = StillClock()
        budget = RequestBudget(None, clock)
        assert (budget.available(), budget.wait_s(), budget.allotment) == (0.0, math.inf, Allotment())
        waiting = asyncio.create_task(budget.pay())
        clock.advance(1e6)
        await settled()
        assert clock.slept == 0
        assert not waiting.done()
        waiting.cancel()

    asyncio.run(main())


def test_whoever_waits_goes_on_as_soon_as_there_is_an_allotment():
    async def main():
        clock = StillClock()
        budget = RequestBudget(None, clock)
        waiting = asyncio.create_task(budget.pay())
        await settled()
        budget.allot(Allotment(1.0, 5.0, NOW + 10.0))
        await settled()
        assert (waiting.done(), clock.slept) == (False, 1), "there is no token yet: it sleeps until there is one"
        clock.advance(3.0)
        budget.allot(Allotment(1.0, 5.0, NOW + 13.0))
        await settled()
        assert waiting.done(), "the three seconds before the second allotment brought tokens"
        assert budget.available() == 2.0

    asyncio.run(main())


def test_what_has_run_out_is_not_there_and_is_not_brought_back():
    clock = ManualClock(NOW)
    request_budget = RequestBudget(None, clock)
    request_budget.allot(Allotment(2.0, 4.0, NOW + 10.0))
    clock.advance(9.0)
    assert request_budget.available() == 4.0
    assert request_budget.available() >= request_budget.burst
    request_budget.spend(3.0)
    assert request_budget.available() < request_budget.burst
    assert request_budget.allotment == Allotment(2.0, 4.0, NOW + 10.0)
    clock.advance(1.0)
    request_budget.give_back(3.0)
    assert request_budget.available() == 0.0
    assert request_budget.spent == 0.0
    assert request_budget.allotment == Allotment(0.0, 0.0, NOW + 10.0)
    assert request_budget.wait_s() == math.inf


def test_a_burst_that_was_allotted_is_never_widened_and_one_that_stands_is():
    clock = ManualClock(NOW)
    standing, allotted = RequestBudget(Allotment(1.0, 2.0), clock), RequestBudget(None, clock)
    allotted.make_room(7.0)
    allotted.allot(Allotment(1.0, 2.0, NOW + 1e6))
    for request_budget in (standing, allotted):
        request_budget.make_room(7.0)
    clock.advance(100.0)
    assert (standing.available(), standing.burst) == (7.0, 7.0)
    assert (allotted.available(), allotted.burst, allotted.wait_s(7.0)) == (2.0, 2.0, math.inf)


def test_a_twin_follows_every_allotment_and_is_spent_apart():
    clock = ManualClock(NOW)
    budget = RequestBudget(Allotment(1.0, 2.0), clock)
    twin = budget.twin()
    clock.advance(10.0)
    assert budget.available() == 2.0
    budget.spend(2.0)
    assert (budget.available(), twin.available(), budget.spent, twin.spent) == (0.0, 2.0, 2.0, 0.0)
    budget.allot(Allotment(3.0, 6.0, NOW + 20.0))
    clock.advance(5.0)
    assert twin.allotment == budget.allotment == Allotment(3.0, 6.0, NOW + 20.0)
    assert (budget.available(), twin.available()) == (6.0, 6.0)
    clock.advance(5.0)
    assert (budget.available(), twin.available()) == (0.0, 0.0)


def test_those_who_wait_are_served_in_order_of_asking():
    async def main():
        clock, served = ManualClock(NOW), []
        budget = RequestBudget(Allotment(1.0, 10.0), clock)

        async def pay(amount):
            await budget.pay(amount)
            served.append(amount)

        await asyncio.gather(*(pay(amount) for amount in (5.0, 1.0, 3.0)))
        assert served == [5.0, 1.0, 3.0]

    asyncio.run(main())


def test_whoever_gives_up_waiting_is_in_nobodys_way():
    async def main():
        budget = RequestBudget(None, StillClock())
        first, second = (asyncio.create_task(budget.pay()) for _ in range(2))
        await settled()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        budget.allot(Allotment(1.0, 1.0, NOW + 10.0))
        await settled()
        budget._clock.advance(2.0)
        budget.allot(Allotment(1.0, 1.0, NOW + 10.0))
        await settled()
        assert second.done()

    asyncio.run(main())


def test_requests_that_are_to_leave_wait_for_the_next_allotment():
    class Inside:
        sent = 0

        async def fetch(self, request):
            self.sent += 1
            return Response(request.url, 200, {}, b"")

        async def close(self):
            pass

    async def main():
        clock, inside = StillClock(), Inside()
        budget = RequestBudget(None, clock)
        transport = BudgetedTransport(inside, budget)
        budget.allot(Allotment(1.0, 5.0, NOW + 10.0))
        clock.advance(11.0)
        requests = [asyncio.create_task(transport.fetch(Request("http://a.example/"))) for _ in range(3)]
        await settled()
        assert (inside.sent, clock.slept) == (0, 0)
        budget.allot(Allotment(1.0, 5.0, NOW + 20.0))
        clock.advance(2.0)
        budget.allot(Allotment(1.0, 5.0, NOW + 22.0))
        await settled()
        assert inside.sent == 2
        for each in requests:
            each.cancel()

    asyncio.run(main())


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
        transport = BudgetedTransport(inside, RequestBudget(Allotment(per_second, burst), clock))
        for _ in range(requests):
            await transport.fetch(Request("http://a.example/"))
        await transport.close()

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
