"""Retention in a file that others write to: in short steps, between which they write, and stopped at any of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.store.records import (
    Batch,
    Crawl,
    Hold,
    Item,
    Keep,
    Price,
    Progress,
    Robots,
    Source,
    Vacuumed,
    VisitUpdate,
    packed,
)
from recrawl.store.retention import listed_of
from recrawl.store.sqlite import SqliteStore, retention
from recrawl.store.sqlite.retention import SqliteRetention

KEPT = Keep(items=50.0, crawls=50.0, prices=50.0, versions=1)
NOW, ITEMS = 1000.0, 300


def filled(path: Path) -> SqliteStore:
    store = SqliteStore(path)
    store.add([Source(url="https://a.example/"), Source(url="https://b.example/")])
    items = [Item(source=1, key=k, title=f"t{k}", summary="words " * 20, first_seen=1.0) for k in range(ITEMS)]
    progress = Progress(source=1, listing=packed(range(0, ITEMS, 3)))
    crawl = Crawl(source=1, at=1.0, outcome="new")
    store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, items=items)]))
    return store


def test_others_write_between_any_two_steps(tmp_path: Path) -> None:
    path, written = tmp_path / "recrawl.db", []
    with filled(path) as store, SqliteStore(path, timeout_s=0.0) as other:

        def write() -> bool:
            written.append(Price(at=NOW, price=1.0, budget=1.0, requests=1, captured=0.0))
            other.commit(Batch(price=written[-1]))
            return False

        assert store.vacuum(KEPT, NOW, write).items == ITEMS
        assert len(store.prices(0.0)) == len(written) > 3
        assert store.items() == store.items(text="words") == []
        assert store.check() == []


def test_it_stops_where_it_is_told_to_and_goes_on_another_time(tmp_path: Path) -> None:
    asked: list[int] = []
    with filled(tmp_path / "recrawl.db") as store:
        gone = store.vacuum(KEPT, NOW, lambda: len(asked) == 3 or asked.append(1) is not None)
        assert 0 < gone.items < ITEMS
        assert len(store.items(limit=ITEMS)) == ITEMS - gone.items
        assert gone.after > 0
        assert store.vacuum(KEPT, NOW).items == ITEMS - gone.items


@pytest.mark.parametrize("before", [50.0, math.inf])
def test_a_row_that_got_the_number_of_one_that_is_gone_stays(tmp_path: Path, before: float) -> None:
    path = tmp_path / "recrawl.db"
    later = Batch(updates=[VisitUpdate(crawl=Crawl(source=2, at=49.0, outcome="new"), progress=Progress(source=2))])
    with filled(path) as store, SqliteStore(path) as other:

        def another_program_is_quicker() -> bool:
            if len(other.crawls()) == 1 and other.crawls()[0].at == 1.0:
                with other._database.writing() as connection:
                    connection.execute("DELETE FROM crawls")
                other.commit(later)
            return False

        SqliteRetention(store._database, another_program_is_quicker)._drop_aged(Vacuumed(), "crawls", before, most=1)
        assert [crawl.at for crawl in store.crawls()] == [49.0]


@pytest.mark.parametrize("table", ["versions", "events", "items"])
def test_numbers_of_these_are_never_given_to_another_row(tmp_path: Path, table: str) -> None:
    with SqliteStore(tmp_path / "recrawl.db") as store, store._database.alone() as connection:
        (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        assert "PRIMARY KEY AUTOINCREMENT" in sql


def test_keys_that_are_still_listed_stay_known_over_any_number_of_steps(tmp_path: Path) -> None:
    with filled(tmp_path / "recrawl.db") as store:
        store.vacuum(KEPT, NOW)
        (unseen,) = store.unseen([(1, range(ITEMS))])
        assert unseen == set(range(ITEMS)) - set(range(0, ITEMS, 3))
        store.commit(Batch(progress=[Progress(source=1, listing=packed([0, 3]))]))
        store.vacuum(KEPT, NOW)
        assert store.unseen([(1, range(ITEMS))]) == [set(range(ITEMS)) - {0, 3}]


@pytest.mark.parametrize("second_per_row", [1e-6, 1e-3, 1.0])
def test_a_step_holds_as_much_as_its_time_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second_per_row: float
) -> None:
    clock, slept = [0.0], []
    monkeypatch.setattr(retention.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(retention.time, "sleep", slept.append)
    with filled(tmp_path / "recrawl.db") as store:
        steps = SqliteRetention(store._database, lambda: False)
        for _ in range(20):
            size = steps._at_once("items")
            with steps._step("items", size):
                clock[0] += size * second_per_row
    expected = min(max(retention.STEP_S / second_per_row, 1), retention._MOST)
    assert steps._at_once("items") == pytest.approx(expected, rel=0.1)
    assert max(slept) <= retention.STEP_S


def test_what_is_stale_goes_and_the_rest_stays(tmp_path: Path) -> None:
    with filled(tmp_path / "recrawl.db") as store:
        robots = [Robots(origin=f"https://{k}.example", fetched=float(k), status=200) for k in range(200)]
        holds = [Hold(host=f"{k}.example", until=float(k)) for k in range(200)]
        store.commit(Batch(robots=robots, holds=holds))
        store.vacuum(Keep(items=math.inf, crawls=math.inf, prices=math.inf, versions=9), 30 * 86400.0 + 150.0)
        assert [int(hold.until) for hold in store.holds(-1.0)] == list(range(150, 200))
        assert [store.robots(f"https://{k}.example") is None for k in (0, 149, 150, 199)] == [True, True, False, False]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.integers(-(2**63), 2**63 - 1)), st.integers(0, 60))
def test_keys_looked_for_as_bytes_are_those_in_the_listing(listed: list[int], others: list[int], some: int) -> None:
    keys = listed[:some] + others
    assert listed_of(keys, packed(listed)) == set(keys) & set(listed)
    crooked: Callable[[bytes], set[int]] = lambda text: listed_of(keys, text)  # noqa: E731
    assert crooked(packed(listed) + b"\0\0\0") == set(keys) & set(listed)
