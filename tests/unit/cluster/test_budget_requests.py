"""Another budget is asked of whoever crawls: a crawler, a fleet, or nobody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recrawl.cluster import budget_requests
from recrawl.cluster.status import FleetStatus, Wish, read_wish, write_status, write_wish
from recrawl.crawl import live_budget
from recrawl.errors import ContractError
from recrawl.store.sqlite import SqliteStore

NOW = 1_700_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        yield opened


def test_nobody_can_be_asked_where_nobody_crawls(store: SqliteStore) -> None:
    live_budget.begin(store, "process 1 here", 1.0)
    assert not budget_requests.takes_another(store, NOW)
    with pytest.raises(ContractError, match=r"no crawler runs: start one with `recrawl run --budget 120/min`"):
        budget_requests.ask(store, 2.0, NOW)


def test_the_note_of_an_earlier_run_is_not_that_of_who_crawls_now(store: SqliteStore) -> None:
    live_budget.begin(store, "process 1 here", 1.0)
    store.claim("process 2 here", NOW)
    with pytest.raises(ContractError, match="takes no other budget while it runs"):
        budget_requests.ask(store, 2.0, NOW)


def test_a_crawler_is_asked_by_its_note(store: SqliteStore) -> None:
    store.claim("process 1 here", NOW)
    live_budget.begin(store, "process 1 here", 1.0)
    assert budget_requests.takes_another(store, NOW)
    assert budget_requests.ask(store, 2.0, NOW) == 1.0
    assert budget_requests.ask(store, 3.0, NOW) == 2.0
    note = budget_requests.of_crawler(store)
    assert note is not None
    assert (note.begun, note.per_second, note.at) == (1.0, 3.0, NOW)


@pytest.mark.parametrize(("burst", "low", "back"), [(60.0, 1.0, 60.0), (20.0, 20.0, 20.0)])
def test_a_fleet_is_asked_by_its_wish_and_its_burst_is_a_second_s_worth_unless_it_was_given(
    store: SqliteStore, burst: float, low: float, back: float
) -> None:
    write_wish(store, Wish(shards=3, budget=60.0, burst=burst))
    write_status(store, FleetStatus(at=NOW, since=NOW, leader="one", leader_epoch=1, budget=60.0, burst=burst))
    for budget, before, expected in ((0.1, 60.0, low), (60.0, 0.1, back)):
        assert budget_requests.ask(store, budget, NOW) == before
        wish = read_wish(store)
        assert wish is not None
        assert (wish.shards, wish.budget, wish.burst) == (3, budget, expected)
