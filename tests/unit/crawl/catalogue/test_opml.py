"""OPML: folders become tags, and a catalogue written and read again is the same one."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.catalogue.opml import OpmlEntry, read_opml, write_opml
from recrawl.crawl.reading.findings import UnreadableError
from recrawl.store.records import Source


def opml(body: str) -> bytes:
    return f"<?xml version='1.0'?><opml version='2.0'><head><title>L</title></head><body>{body}</body></opml>".encode()


def test_folders_are_tags_and_nested_ones_all_of_them() -> None:
    found = read_opml(
        opml(
            "<outline text='A' xmlUrl='https://a.example/feed'/>"
            "<outline text='News'><outline title='B' text='b' xmlUrl=' https://b.example/feed '/>"
            "<outline text='Tech'><outline type='rss' XMLURL='https://c.example/feed'/></outline></outline>"
        )
    )
    assert [(entry.url, entry.title, entry.tags) for entry in found] == [
        ("https://a.example/feed", "A", ()),
        ("https://b.example/feed", "B", ("News",)),
        ("https://c.example/feed", "", ("News", "Tech")),
    ]


def test_categories_are_tags_too() -> None:
    found = read_opml(
        opml("<outline text='News'><outline xmlUrl='https://a.example/' category=' uk ,, /News/sports / '/></outline>")
    )
    assert found[0].tags == ("News", "uk", "sports")


def test_a_giant_category_makes_few_tags() -> None:
    found = read_opml(opml("<outline xmlUrl='https://a.example/' category='" + ",".join(map(str, range(5000))) + "'/>"))
    assert len(found[0].tags) == 20


def test_what_is_neither_folder_nor_subscription_is_counted() -> None:
    found = read_opml(
        opml("<outline text='note'/><outline type='link' url='https://x.example'/><outline xmlUrl='  '/>")
    )
    assert found == []
    assert found.skipped == 3


def test_entries_say_where_they_stood() -> None:
    assert read_opml(opml("\n\n<outline xmlUrl='https://a.example/'/>"))[0].line == 3


def test_addresses_are_handed_on_as_written() -> None:
    assert read_opml(opml("<outline xmlUrl='javascript:alert(1)'/>"))[0].url == "javascript:alert(1)"


def test_a_broken_list_gives_what_it_has() -> None:
    found = read_opml(opml("<outline text='R&D' xmlUrl='https://a.example/?a=1&b=2'/>")[:-10])
    assert found == [OpmlEntry(url="https://a.example/?a=1&b=2", title="R&D", line=1)]
    assert found.broken


def test_text_is_made_plain() -> None:
    found = read_opml(opml("<outline text='&lt;b&gt;x&lt;/b&gt;&#x202e;'><outline text='y' xmlUrl='u'/></outline>"))
    assert found[0].tags == ("x",)


def test_bombs_are_refused() -> None:
    with pytest.raises(UnreadableError, match="declares entities"):
        read_opml(b"<!DOCTYPE opml [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>" + opml("")[21:])


@pytest.mark.parametrize("body", [b"", b"words", b"<rss/>", b"<html>", b"\x00"])
def test_what_is_no_opml_says_so(body: bytes) -> None:
    with pytest.raises(UnreadableError, match="not an OPML list"):
        read_opml(body)


def test_deep_nesting_does_no_harm() -> None:
    """It ends, and neither the stack nor memory overflows."""
    read_opml(opml("<outline text='x'>" * 5000))


def test_a_catalogue_survives_writing_and_reading() -> None:
    sources = [
        Source(url="https://a.example/feed?x=1&y=2", title="A <b> & 'c'", tags=("news", "tech")),
        Source(url="https://b.example/", kind="page", title="B"),
        Source(url="https://c.example/sitemap.xml", kind="sitemap", tags=("news",)),
    ]
    found = {entry.url: entry for entry in read_opml(write_opml(sources))}
    assert {url: entry.tags for url, entry in found.items()} == {source.url: source.tags for source in sources}
    assert found["https://b.example/"].title == "B"
    assert found["https://c.example/sitemap.xml"].title == ""


TAG = st.text("abcdefgh", min_size=1, max_size=5)


@given(st.dictionaries(st.text("abc", min_size=1), st.lists(TAG, unique=True, max_size=4).map(tuple), max_size=6))
def test_tags_survive_in_their_order(tags: dict[str, tuple[str, ...]]) -> None:
    written = write_opml(Source(url=f"https://{name}.example/", tags=folder) for name, folder in tags.items())
    assert {entry.url: entry.tags for entry in read_opml(written)} == {
        f"https://{name}.example/": folder for name, folder in tags.items()
    }


@given(st.text(max_size=20), st.lists(st.text(max_size=5), max_size=3).map(tuple))
def test_any_title_and_tag_can_be_written(title: str, tags: tuple[str, ...]) -> None:
    assert len(read_opml(write_opml([Source(url="https://a.example/", title=title, tags=tags)]))) == 1


@given(st.binary(max_size=100) | st.binary(max_size=60).map(lambda body: opml("") + body))
def test_any_bytes_are_a_list_or_unreadable(body: bytes) -> None:
    """No other error comes of them."""
    with suppress(UnreadableError):
        read_opml(body)
