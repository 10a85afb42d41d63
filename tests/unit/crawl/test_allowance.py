"""Waiting for what may be spent: by the clock, in order, and for the next allotment when one has run out."""

from __future__ import annotations

import asyncio
import math

import pytest

from recrawl.clock import ManualClock
from recrawl.crawl.allowance import Allotment, Allowance
from recrawl.crawl.gate import GatedTransport
from recrawl.crawl.purse import Purse
from recrawl.crawl.transport import Request, Response

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
        allowance = Allowance(None, clock)
        assert (allowance.balance(), allowance.wait_s(), allowance.allotment) == (0.0, math.inf, Allotment())
        waiting = asyncio.create_task(allowance.draw())
        clock.advance(1e6)
        await settled()
        assert clock.slept == 0
        assert not waiting.done()
        waiting.cancel()

    asyncio.run(main())


def test_whoever_waits_goes_on_as_soon_as_there_is_an_allotment():
    async def main():
        clock = StillClock()
        allowance = Allowance(None, clock)
        waiting = asyncio.create_task(allowance.draw())
        await settled()
        allowance.allot(Allotment(1.0, 5.0, NOW + 10.0))
        await settled()
        assert (waiting.done(), clock.slept) == (False, 1), "there is no token yet: it sleeps until there is one"
        clock.advance(3.0)
        allowance.allot(Allotment(1.0, 5.0, NOW + 13.0))
        await settled()
        assert waiting.done(), "the three seconds before the second allotment brought tokens"
        assert allowance.balance() == 2.0

    asyncio.run(main())


def test_what_has_run_out_is_not_there_and_is_not_brought_back():
    clock = ManualClock(NOW)
    purse = Purse(None, clock)
    purse.allot(Allotment(2.0, 4.0, NOW + 10.0))
    clock.advance(9.0)
    assert purse.available() == 4.0
    assert purse.full
    purse.spend(3.0)
    assert not purse.full
    assert purse.allotment == Allotment(2.0, 4.0, NOW + 10.0)
    clock.advance(1.0)
    purse.give_back(3.0)
    assert purse.available() == 0.0
    assert purse.spent == 0.0
    assert purse.allotment == Allotment(0.0, 0.0, NOW + 10.0)
    assert purse.wait_s() == math.inf


def test_a_burst_that_was_allotted_is_never_widened_and_one_that_stands_is():
    clock = ManualClock(NOW)
    standing, allotted = Purse(Allotment(1.0, 2.0), clock), Purse(None, clock)
    allotted.make_room(7.0)
    allotted.allot(Allotment(1.0, 2.0, NOW + 1e6))
    for purse in (standing, allotted):
        purse.make_room(7.0)
    clock.advance(100.0)
    assert (standing.available(), standing.burst) == (7.0, 7.0)
    assert (allotted.available(), allotted.burst, allotted.wait_s(7.0)) == (2.0, 2.0, math.inf)


def test_those_who_wait_are_served_in_order_of_asking():
    async def main():
        clock, served = ManualClock(NOW), []
        allowance = Allowance(Allotment(1.0, 10.0), clock)

        async def draw(amount):
            await allowance.draw(amount)
            served.append(amount)

        await asyncio.gather(*(draw(amount) for amount in (5.0, 1.0, 3.0)))
        assert served == [5.0, 1.0, 3.0]

    asyncio.run(main())


def test_whoever_gives_up_waiting_is_in_nobodys_way():
    async def main():
        allowance = Allowance(None, StillClock())
        first, second = (asyncio.create_task(allowance.draw()) for _ in range(2))
        await settled()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        allowance.allot(Allotment(1.0, 1.0, NOW + 10.0))
        await settled()
        allowance._clock.advance(2.0)
        allowance.allot(Allotment(1.0, 1.0, NOW + 10.0))
        await settled()
        assert second.done()

    asyncio.run(main())


def test_requests_at_the_gate_wait_for_the_next_allotment():
    class Inside:
        sent = 0

        async def fetch(self, request):
            self.sent += 1
            return Response(request.url, 200, {}, b"")

        async def close(self):
            pass

    async def main():
        clock, inside = StillClock(), Inside()
        gate = GatedTransport(inside, None, clock)
        gate.allot(Allotment(1.0, 5.0, NOW + 10.0))
        clock.advance(11.0)
        requests = [asyncio.create_task(gate.fetch(Request("http://a.example/"))) for _ in range(3)]
        await settled()
        assert (inside.sent, clock.slept) == (0, 0)
        gate.allot(Allotment(1.0, 5.0, NOW + 20.0))
        clock.advance(2.0)
        gate.allot(Allotment(1.0, 5.0, NOW + 22.0))
        await settled()
        assert inside.sent == 2
        for each in requests:
            each.cancel()

    asyncio.run(main())
