from __future__ import annotations

from recrawl.clock import ManualClock
from recrawl.crawl.push.budget_share import BudgetShare
from recrawl.crawl.request_budget import Allotment, RequestBudget


def test_it_earns_a_part_of_the_budget_and_saves_up_no_more_than_it_may() -> None:
    clock = ManualClock(0.0)
    share = BudgetShare(RequestBudget(Allotment(2.0, 2.0), clock), clock, share=0.1, most=3.0)
    assert share.available() == 1
    share.spend(1)
    assert share.available() == 0
    begun = 0
    for _ in range(1000):
        clock.advance(1.0)
        begun += (now := share.available())
        share.spend(now)
    assert begun == 200
    clock.advance(1e6)
    assert share.available() == 3


def test_without_an_allotment_nothing_is_begun() -> None:
    clock = ManualClock(0.0)
    share = BudgetShare(RequestBudget(None, clock), clock, share=0.1, most=3.0)
    share.spend(1)
    clock.advance(1e6)
    assert share.available() == 0
