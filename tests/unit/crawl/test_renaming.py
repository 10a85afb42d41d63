"""Ids are believed until they prove worthless."""

from __future__ import annotations

from recrawl.crawl.findings import FoundItem
from recrawl.crawl.renaming import links_instead
from recrawl.store.base import item_key

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
