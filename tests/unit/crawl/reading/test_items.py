"""Which item is which, and what it was known by before."""

from __future__ import annotations

import pytest

from recrawl.crawl.reading.findings import FoundItem
from recrawl.crawl.reading.items import make_item, told_apart

URL, NOW = "https://example.org/feed", 1_800_000_000.0


def item(identity: str | None = None, link: str | None = None, title: str = "") -> FoundItem:
    return make_item(identity, title, link, None, None, URL, NOW)


def test_links_that_differ_in_their_fragments_are_different_items() -> None:
    one, two = item(link="/changes#v1"), item(link="/changes#v2")
    assert [one.key, two.key] == [one.link, two.link] == [f"https://example.org/changes#v{k}" for k in (1, 2)]
    assert one.formerly == two.formerly == "https://example.org/changes"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("/1?utm_source=rss&utm_medium=feed", "/1?utm_source=mail"),
        ("/1?fbclid=a", "/1?fbclid=b"),
        ("/1?gclid=a", "/1"),
        ("/1?mc_cid=a&mc_eid=b", "/1?MC_CID=c"),
        ("/1#utm_source=a", "/1#xtor=RSS-1"),
    ],
)
def test_who_led_there_is_no_part_of_an_item(one: str, two: str) -> None:
    assert item(link=one).key == item(link=two).key == "https://example.org/1"
    assert item(link=one).link == "https://example.org" + one, "what is shown is the publisher's"


def test_other_parameters_are() -> None:
    assert item(link="/1?id=2&utm_source=a&page=3").key == "https://example.org/1?id=2&page=3"
    assert item(link="/1?utm=2").key == "https://example.org/1?utm=2"
    assert item(link="/1?id=2&&x").key == "https://example.org/1?id=2&&x"


def test_an_id_is_taken_as_it_is() -> None:
    found = item("https://example.org/1?utm_source=a#b", "/1#c")
    assert (found.key, found.formerly) == ("https://example.org/1?utm_source=a#b", "")


@pytest.mark.parametrize("link", ["/1", "/1?a=b", None])
def test_what_has_the_key_it_always_had_was_never_called_otherwise(link: str | None) -> None:
    assert item(link=link, title="t").formerly == ""


def test_what_is_tracked_was_known_by_all_of_its_link() -> None:
    assert item(link="/1?utm_source=a#b").formerly == "https://example.org/1?utm_source=a"


def test_one_id_for_all_items_is_none() -> None:
    listed = [item("news", f"/{k}") for k in range(3)] + [item("other", "/0")]
    found = told_apart(listed)
    assert [each.key for each in found] == [f"https://example.org/{k}" for k in range(3)] + ["other"]
    assert [each.formerly for each in found] == ["news"] * 3 + [""]


def test_an_item_listed_twice_is_one() -> None:
    listed = [item("a", "/1"), item("a", "/category/1"), item("b", "/2"), item("c", "/3")]
    assert [each.key for each in told_apart(listed)] == ["a", "b", "c"]
    assert len(told_apart([item("a", "/1?utm_source=x"), item("a", "/1?utm_source=y")])) == 1
    assert len(told_apart([item("a"), item("a", title="again")])) == 1
