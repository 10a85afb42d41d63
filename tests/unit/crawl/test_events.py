from __future__ import annotations

import math

import msgspec

from recrawl.crawl.events import change_event, heading, item_events, source_event
from recrawl.store.records import Event, Item, Source, Version, item_key

NOW = 1_700_000_000.25
SOURCE = Source(id=7, url="https://a.example/feed", title="A", tags=("news", "uk"), headers={"Cookie": "secret"})
ITEM = Item(
    source=7,
    key=item_key("one"),
    title="One",
    link="https://a.example/1",
    summary="First.",
    published=NOW - 60.0,
    first_seen=NOW,
)


def event_of(source: Source, item: Item, worth: float, now: float) -> Event:
    (event,) = item_events(source, [(item, worth)], now)
    return event


def test_an_item_is_told_with_its_source_and_its_worth():
    event = event_of(SOURCE, ITEM, 0.75, NOW)
    assert event.at == NOW
    assert msgspec.json.decode(event.body) == {
        "type": "item",
        "v": 1,
        "id": f"item:7:{item_key('one') & (2**64 - 1):016x}",
        "at": NOW,
        "source": {"id": 7, "url": "https://a.example/feed", "title": "A", "tags": ["news", "uk"]},
        "worth": 0.75,
        "item": {
            "title": "One",
            "link": "https://a.example/1",
            "summary": "First.",
            "published": NOW - 60.0,
            "first_seen": NOW,
        },
    }


def test_a_change_is_told_with_what_changed():
    version = Version(source=7, at=NOW, digest="abc", text="new", diff="-old\n+new\n")
    body = msgspec.json.decode(change_event(SOURCE, version, 0.5, NOW).body)
    assert (body["type"], body["id"], body["worth"]) == ("change", "change:7:1700000000250", 0.5)
    assert (body["diff"], body["digest"]) == ("-old\n+new\n", "abc")
    assert "text" not in body


def test_a_source_that_moved_is_told_with_its_new_address():
    moved = msgspec.structs.replace(SOURCE, url="https://b.example/feed", note="moved from https://a.example/feed")
    body = msgspec.json.decode(source_event(moved, "moved", NOW).body)
    assert (body["type"], body["what"], body["id"]) == ("source", "moved", "source:7:moved:1700000000250")
    assert (body["source"]["url"], body["note"]) == ("https://b.example/feed", "moved from https://a.example/feed")


def test_the_same_item_has_the_same_id_and_others_have_others():
    ids = {
        heading(event_of(msgspec.structs.replace(SOURCE, id=id), Item(source=id, key=key), 0.0, at)).id
        for id in (7, 8)
        for key in (item_key("one"), item_key("two"))
        for at in (NOW, NOW + 1.0)
    }
    assert len(ids) == 4


def test_a_page_that_changes_back_is_another_change():
    version = Version(source=7, at=NOW, digest="abc")
    assert heading(change_event(SOURCE, version, 0.0, NOW)) != heading(change_event(SOURCE, version, 0.0, NOW + 60.0))


def test_credentials_and_headers_are_not_told():
    private = msgspec.structs.replace(
        SOURCE, url="https://me:secret@a.example/", note="moved from http://me:secret@b.example/@x"
    )
    bodies = [
        event_of(private, ITEM, 0.0, NOW).body,
        change_event(private, Version(source=7, at=NOW, digest=""), 0.0, NOW).body,
        source_event(private, "moved", NOW).body,
    ]
    assert all(b"secret" not in body and b"me:" not in body and b"https://a.example/" in body for body in bodies)
    assert b"http://b.example/@x" in bodies[-1]


def test_text_that_is_no_text_and_worth_that_is_no_number_are_still_json():
    event = event_of(SOURCE, Item(source=7, key=1, title="half \ud800 a pair\n\u2028", link="\x00"), math.nan, NOW)
    body = msgspec.json.decode(event.body)
    assert body["item"]["title"] == "half \N{REPLACEMENT CHARACTER} a pair\n\u2028"
    assert (body["worth"], body["type"], body["item"]["published"]) == (None, "item", None)
    assert b"\n" not in event.body


def test_a_heading_falls_back_on_the_source():
    about = heading(source_event(SOURCE, "retired", NOW))
    assert (about.type, about.link, about.title) == ("source", "https://a.example/feed", "A")
    about = heading(event_of(SOURCE, ITEM, 0.0, NOW))
    assert (about.type, about.link, about.title) == ("item", "https://a.example/1", "One")
