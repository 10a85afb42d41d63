"""Ids are believed until they prove worthless."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from recrawl.crawl.committer import look_up
from recrawl.crawl.events import item_events
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.reading.findings import Findings, FoundItem
from recrawl.crawl.reading.items import links_instead, make_item, told_apart
from recrawl.crawl.visits import Intent, Visit
from recrawl.store.records import Batch, Item, Progress, Source, item_key
from recrawl.store.source_terms import EffectiveOptions
from recrawl.store.sqlite import SqliteStore

LAST, NOW = 1000.0, 2000.0


def listed(*links: str, published: float | None = LAST - 1.0) -> list[FoundItem]:
    return [FoundItem(key=f"id {k}", link=link, published=published) for k, link in enumerate(links)]


def test_known_links_under_new_ids_are_the_same_items() -> None:
    items = listed("/a", "/b", "/c")
    assert links_instead(items, {"/a", "/b"}, LAST) == [item_key("/a"), item_key("/b"), item_key("/c")]


def test_undated_items_and_dates_stamped_on_the_whole_list_say_nothing_of_news() -> None:
    assert links_instead(listed("/a", "/b", published=None), {"/a", "/b"}, LAST)
    assert links_instead(listed("/a", "/b", "/c", published=NOW), {"/a", "/b"}, LAST)


def test_a_page_that_is_reported_on_again_is_news() -> None:
    items = [FoundItem(key=f"edit {k}", link=f"/page/{k}", published=NOW - k) for k in range(5)]
    assert links_instead(items, {item.link for item in items}, LAST) is None


def test_a_list_that_turned_over_is_news() -> None:
    assert links_instead(listed("/a", "/b", "/c"), {"/c"}, LAST) is None


def test_links_that_stand_for_several_items_or_none_identify_nothing() -> None:
    assert links_instead(listed("/", "/"), {"/"}, LAST) is None
    assert links_instead(listed("/a", ""), {"/a", ""}, LAST) is None


def test_links_are_compared_without_who_led_there_and_with_what_was_stored_of_them() -> None:
    items = listed("/a?utm_source=2", "/b#2")
    assert links_instead(items, {"/a?utm_source=1", "/b"}, LAST) == [item_key("/a"), item_key("/b#2")]


URL = "https://example.org/feed"


def new_titles(folder: Path, stored: dict[str, str], *items: FoundItem, last: float | None = LAST) -> list[str]:
    """Titles of what is new among items, of a feed whose items are stored by these keys with these titles."""
    with closing(SqliteStore(folder / "recrawl.db")) as store:
        store.add([Source(url=URL)])
        old = [Item(source=1, key=item_key(key), title=title, first_seen=LAST) for key, title in stored.items()]
        source, progress = Source(id=1, url=URL), Progress(source=1, last=last)
        store.commit(Batch(items=old, events=item_events(source, [(item, 0.0) for item in old], LAST)))
        findings = Findings(kind="feed", items=told_apart(items))
        intent = Intent(
            number=0, source=source, progress=progress, host="", index=0.0, price=0.0, options=EffectiveOptions()
        )
        keys = [item_key(item.key) for item in findings.items]
        visit = Visit(intent, NOW, FetchResult(response=None, final_url=URL, requests=1), findings, keys=keys)
        (visit,) = look_up(store, [visit])
        return [item.title for key, item in zip(visit.keys, findings.items, strict=True) if key in visit.unseen]


def made(title: str, link: str, identity: str | None = None, formerly: str | None = None) -> FoundItem:
    return make_item(identity, title, link, None, None, URL, NOW, formerly)


@pytest.mark.parametrize("link", ["/1#part", "/1?utm_source=rss", "/1?utm_source=rss#part"])
def test_items_stored_by_older_rules_are_known(tmp_path: Path, link: str) -> None:
    before = "https://example.org" + link.partition("#")[0]
    assert new_titles(tmp_path, {before: "One"}, made("One", link), made("Two", link.replace("1", "2"))) == ["Two"]


def test_of_items_that_once_were_one_the_others_are_new(tmp_path: Path) -> None:
    parts = [made(title, f"/page#{title}") for title in ("Three", "Two", "One")]
    assert new_titles(tmp_path, {"https://example.org/page": "Two"}, *parts) == ["Three", "One"]


def test_of_items_that_share_an_id_the_one_stored_by_it_is_known(tmp_path: Path) -> None:
    shared = [made(title, f"/{title}", "id") for title in ("Three", "Two", "One")]
    assert new_titles(tmp_path, {"id": "One"}, *shared) == ["Three", "Two"]


def test_items_stored_by_the_id_of_another_namespace_are_known(tmp_path: Path) -> None:
    assert new_titles(tmp_path, {"7": "One"}, made("One", "/1", formerly="7"), made("Two", "/2", formerly="8")) == [
        "Two"
    ]


def test_a_first_visit_is_asked_nothing(tmp_path: Path) -> None:
    assert new_titles(tmp_path, {}, made("One", "/1#a"), last=None) == ["One"]


def test_an_item_published_since_is_new_whatever_it_is_called(tmp_path: Path) -> None:
    later = make_item(None, "Release", "/page#2", None, "1970-01-01T00:30:00Z", URL, NOW)
    assert later.published == 1800.0
    assert new_titles(tmp_path, {"https://example.org/page": "Release"}, later) == ["Release"]
