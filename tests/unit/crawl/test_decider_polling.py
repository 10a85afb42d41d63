"""When it is worth asking again what is due."""

from __future__ import annotations

import math

from recrawl.clock import ManualClock
from recrawl.crawl.decider_polling import ASK_AGAIN_S, DeciderPolling
from recrawl.crawl.request_budget import Allotment, RequestBudget

NOW = 1_700_000_000.0


def wait_s(again: DeciderPolling, clock: ManualClock, budget: RequestBudget, dearest: float = 1.0) -> float:
    return again.wait_s(clock.now(), 1.0, budget, dearest, idle=False)


def made(*ends: float) -> tuple[DeciderPolling, ManualClock, RequestBudget]:
    clock = ManualClock(NOW)
    budget = RequestBudget(Allotment(1.0, 10.0), clock)
    clock.advance(10.0)
    return DeciderPolling(ends, NOW), clock, budget


def test_at_once_until_it_was_in_vain_and_again_after_a_change() -> None:
    again, clock, budget = made()
    assert wait_s(again, clock, budget) == 0.0
    again.in_vain(10.0, clock.now())
    assert wait_s(again, clock, budget) == math.inf
    again.changed()
    assert wait_s(again, clock, budget) == 0.0


def test_when_the_first_hold_ends() -> None:
    again, clock, budget = made(NOW + 40.0)
    again.in_vain(10.0, clock.now())
    again.hold_ends(math.inf)
    assert wait_s(again, clock, budget) == 30.0
    again.hold_ends(NOW + 15.0)
    assert wait_s(again, clock, budget) == 5.0
    clock.advance(5.0)
    assert wait_s(again, clock, budget) == 0.0


def test_soon_where_something_is_idle_that_nothing_known_holds() -> None:
    again, clock, budget = made()
    again.in_vain(10.0, clock.now())
    assert again.wait_s(clock.now(), 1.0, budget, 1.0, idle=True) == ASK_AGAIN_S


def test_when_there_are_tokens_for_what_was_too_dear() -> None:
    again, clock, budget = made()
    assert budget.available() == 10.0
    budget.spend(8.0)
    again.in_vain(2.0, clock.now())
    assert wait_s(again, clock, budget, dearest=5.0) == 1.0
