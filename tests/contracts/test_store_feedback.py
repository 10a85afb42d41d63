"""What every store does with clicks, tags, wishes and beliefs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres
from recrawl.store.opening import open_store
from recrawl.store.records import (
    CLICKS_PER_CLIENT,
    Batch,
    Click,
    ClickTotals,
    Crawl,
    Item,
    Progress,
    Source,
    VisitUpdate,
)
from recrawl.store.roles import Store


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = postgres.server().url() if request.param == "postgres" else str(tmp_path / "recrawl.db")
    with open_store(place) as opened:
        yield opened


def with_items(store: Store, count: int = 3) -> None:
    store.add([Source(url="https://a.example/", tags=("x", "y")), Source(url="https://b.example/", tags=("x",))])
    for source in (1, 2):
        items = [Item(source=source, key=k, first_seen=1.0) for k in range(count)]
        crawl = Crawl(source=source, at=1.0, outcome="new", value=2.0, rate=0.5)
        progress = Progress(source=source, last=1.0, value=2.0 * source, rate=0.5)
        store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, items=items)]))


def test_one_client_counts_once_per_item(store: Store) -> None:
    with_items(store)
    clicks = [Click(item=1, at=5.0, client="me") for _ in range(4)]
    assert store.record_clicks(clicks) == CLICKS_PER_CLIENT
    assert store.record_clicks([Click(item=1, at=6.0, client="me", count=100)]) == 0
    assert (
        store.record_clicks([Click(item=1, at=6.0, client="you", count=100), Click(item=2, at=7.0, client="me")]) == 2
    )
    assert store.click_totals(1) == ClickTotals(clicks=3, items=2, last=7.0)


def test_what_searches_showed_is_told_apart_from_clicks(store: Store) -> None:
    with_items(store)
    searched = [Click(item=item, at=9.0, client="search:me") for item in (1, 2, 2)]
    assert store.record_clicks([*searched, Click(item=1, at=5.0, client="me")]) == 3
    assert store.click_totals(1) == ClickTotals(clicks=1, items=1, last=5.0, searches=2)


def test_counts_somebody_vouches_for_have_no_cap(store: Store) -> None:
    with_items(store)
    assert store.record_clicks([Click(item=4, at=5.0, count=50), Click(item=4, at=6.0, count=1)]) == 2
    assert store.click_totals(2) == ClickTotals(clicks=51, items=1, last=6.0)


def test_clicks_on_what_is_gone_do_not_count(store: Store) -> None:
    with_items(store)
    assert store.record_clicks([Click(item=99, at=5.0, client="me")]) == 0
    store.record_clicks([Click(item=1, at=5.0, client="me")])
    store.remove([1])
    assert store.clicks() == []
    assert store.click_totals(1) == ClickTotals()


def test_clicks_are_read_on_from_where_one_was(store: Store) -> None:
    with_items(store)
    store.record_clicks([Click(item=k, at=float(k), client="me") for k in (1, 2, 3)])
    first = store.clicks(limit=2)
    assert [(click.item, click.source) for click in first] == [(1, 1), (2, 1)]
    assert [click.item for click in store.clicks(since_id=first[-1].id)] == [3]


def test_tags_come_with_their_numbers(store: Store) -> None:
    with_items(store)
    assert store.tags() == [("x", 2), ("y", 1)]
    assert store.tags(limit=1) == [("x", 2)]


def test_beliefs_of_active_sources_come_as_columns(store: Store) -> None:
    with_items(store)
    store.add([Source(url="https://c.example/", state="paused"), Source(url="https://d.example/", max_age=60.0)])
    found = store.believed()
    assert list(found.ids) == [1, 2, 4]
    assert list(found.value[:2]) == [2.0, 4.0]
    assert math.isnan(found.value[2])
    assert math.isnan(found.max_age[0])
    assert found.max_age[2] == 60.0


def test_an_empty_catalogue_has_no_beliefs(store: Store) -> None:
    assert len(store.believed().ids) == 0


def test_a_wish_is_kept_and_told(store: Store) -> None:
    store.add([Source(url="https://a.example/")])
    before = store.revision()
    source = store.source(1)
    assert source is not None
    source.wanted = 7.0
    store.edit([source])
    assert [each.wanted for each in store.sources(since_revision=before)] == [7.0]
