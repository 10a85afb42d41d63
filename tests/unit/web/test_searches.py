"""Searches teach a little of what clicks teach, and nobody can push a source by searching."""

from __future__ import annotations

import pytest

from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.config.settings import Web
from recrawl.store.sqlite import SqliteStore
from recrawl.web import searches
from recrawl.web.app import make_app
from visitor import Visitor

DAY = 86400.0


def shown(store: SqliteStore) -> dict[int, int]:
    """How often searches showed an item of each source first."""
    return {source.id: n for source in store.sources() if (n := store.click_totals(source.id).searches)}


def total(store: SqliteStore) -> int:
    return sum(shown(store).values())


def test_the_first_items_a_search_shows_count_for_their_source(filled: SqliteStore, visitor: Visitor) -> None:
    visitor.get("/items?q=library&kind=item")
    clicks = filled.clicks()
    assert len(clicks) == searches.FIRST
    assert all(click.client.startswith("search:") and "127.0.0.1" not in click.client for click in clicks)
    assert shown(filled) == {clicks[0].source: searches.FIRST}
    assert filled.click_totals(clicks[0].source).clicks == 0, "nobody opened anything"


def test_a_search_through_the_api_counts_once_a_day(filled: SqliteStore, program: Visitor, clock: ManualClock) -> None:
    for _ in range(3):
        program.get("/api/v1/search?q=library")
    once = total(filled)
    assert 0 < once <= searches.FIRST
    clock.advance(DAY)
    program.get("/api/v1/search?q=library")
    assert total(filled) == 2 * once


def test_other_words_for_the_same_items_count_no_more(filled: SqliteStore, visitor: Visitor) -> None:
    for words in ("library", "LIBRARY", "libr*", "library+library"):
        visitor.get(f"/items?q={words}&kind=item&order=newest")
    assert total(filled) == searches.FIRST
    visitor.address = "127.0.0.2"
    visitor.get("/items?q=library&kind=item&order=newest")
    assert total(filled) == 2 * searches.FIRST


def test_a_client_has_so_many_searches_a_day(
    filled: SqliteStore, visitor: Visitor, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "PER_DAY", 2)
    for words in ("library", "harbour", "tramway"):
        visitor.get(f"/items?q={words}&kind=item")
    assert len(shown(filled)) == 2
    clock.advance(DAY)
    visitor.get("/items?q=tramway&kind=item")
    assert len(shown(filled)) == 3


def test_many_clients_take_no_more_room(filled: SqliteStore, visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "MOST_CLIENTS", 3)
    for k in range(2, 9):
        visitor.address = f"127.0.0.{k}"
        assert visitor.get("/items?q=library&kind=item").status == 200
    assert total(filled) == 7 * searches.FIRST


@pytest.mark.parametrize(
    "headers",
    [{"user-agent": "Googlebot/2.1"}, {"purpose": "prefetch"}, {"sec-fetch-site": "cross-site"},
     {"sec-fetch-dest": "empty"}],
)  # fmt: skip
def test_machines_and_links_from_elsewhere_do_not_count(
    filled: SqliteStore, visitor: Visitor, headers: dict[str, str]
) -> None:
    visitor.get("/items?q=library", **headers)
    assert total(filled) == 0


@pytest.mark.parametrize(
    "path", ["/items", "/items?q=library&page=2", "/items?q=zyzzyva", "/items?q=%2A", "/items?kind=item"]
)
def test_what_is_no_search_or_finds_nothing_teaches_nothing(filled: SqliteStore, visitor: Visitor, path: str) -> None:
    assert visitor.get(path).status == 200
    assert total(filled) == 0


def test_it_can_be_switched_off(filled: SqliteStore, clock: ManualClock) -> None:
    quiet = Visitor(make_app(filled, Config(web=Web(search_teaches=False)), clock))
    quiet.get("/items?q=library")
    quiet.get("/api/v1/search?q=library")
    assert total(filled) == 0


def test_the_page_of_a_source_says_so(filled: SqliteStore, visitor: Visitor) -> None:
    visitor.get("/items?q=library&kind=item")
    (source,) = shown(filled)
    assert f"shown first by {searches.FIRST} searches" in visitor.get(f"/sources/{source}").text
