"""What a scheduler collects before it writes."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from recrawl.crawl.maintenance import FIRST_S
from recrawl.crawl.pending_writes import PendingWrites
from recrawl.store.records import Crawl, Hold, Outcome, Progress, VisitUpdate

NOW = 1_700_000_000.0


class Deciding:
    """A decider that remembers whose schedules it was asked to add."""

    def __init__(self) -> None:
        self.policy = SimpleNamespace(price=0.25)
        self.memory = SimpleNamespace(shared=lambda: b"learned")
        self.added: list[tuple[list[int], list[int]]] = []
        self.named: list[int] = []

    def add_schedules(self, numbers: list[int], updates: list[VisitUpdate]) -> None:
        self.added.append((list(numbers), [update.crawl.source for update in updates]))

    def named_anew(self, visited: list[int]) -> list[int]:
        return [number for number in self.named if number not in visited]

    def scheduled(self, numbers: list[int]) -> list[Progress]:
        return [Progress(source=number) for number in numbers]


@pytest.fixture
def deciding() -> Deciding:
    return Deciding()


@pytest.fixture
def pending(deciding: Any) -> PendingWrites:
    return PendingWrites(deciding, NOW)


def update(source: int, outcome: Outcome = "unchanged") -> VisitUpdate:
    crawl = Crawl(source=source, at=NOW, outcome=outcome, requests=2, captured=0.5)
    return VisitUpdate(crawl=crawl, progress=Progress(source=source))


def test_schedules_are_added_once_when_it_is_taken(pending: PendingWrites, deciding: Deciding) -> None:
    pending.report(7, update(1), NOW, 1.0)
    pending.report(8, update(2), NOW, 1.0)
    assert (len(pending), deciding.added) == (2, [])
    batch = pending.take(NOW + 1.0)
    pending.put_back(batch)
    pending.report(9, update(3), NOW, 1.0)
    assert [each.crawl.source for each in pending.take(NOW + 2.0).updates] == [1, 2, 3]
    assert deciding.added == [([7, 8], [1, 2]), ([9], [3])]
    assert (len(pending), pending.since) == (0, NOW + 2.0)


def test_sources_that_a_list_named_are_written_with_it(pending: PendingWrites, deciding: Deciding) -> None:
    deciding.named = [7, 8]
    pending.report(7, update(1), NOW, 1.0)
    assert [each.source for each in pending.take(NOW + 1.0).progress] == [8], "the other has an update of its own"


def test_a_hold_that_is_lifted_replaces_what_was_reported_before(pending: PendingWrites) -> None:
    pending.report(7, update(1), NOW, 1.0)
    lifted = Progress(source=1, visits=5)
    pending.hold([Hold(host="a.example", until=0.0)], [lifted])
    batch = pending.take(NOW)
    assert batch.updates[0].progress is lifted
    assert (batch.progress, [each.host for each in batch.holds]) == ([lifted], ["a.example"])


def test_the_price_history_counts_what_was_reported_since_its_last_line(pending: PendingWrites) -> None:
    pending.report(7, update(1), NOW + FIRST_S - 0.1, 1.0)
    assert pending.take(NOW).price is None
    pending.report(7, update(1, "failed"), NOW + FIRST_S, 1.0)
    batch = pending.take(NOW)
    assert batch.price is not None
    assert (batch.price.requests, batch.price.captured, batch.price.errors) == (4, 1.0, 1)
    assert (batch.price.price, batch.shared) == (0.25, b"learned")
    pending.account(math.inf, 1.0)
    again = pending.take(NOW).price
    assert again is not None
    assert (again.requests, again.errors) == (0, 0)


def test_of_what_is_put_back_the_later_line_of_the_price_stands(pending: PendingWrites) -> None:
    pending.account(NOW, 1.0)
    first = pending.take(NOW)
    pending.put_back(first)
    assert pending.take(NOW).price is first.price
    pending.account(NOW + 1.0, 2.0)
    pending.put_back(first)
    written = pending.take(NOW).price
    assert written is not None
    assert written.budget == 2.0
