"""What sources look like to parsers other people wrote."""

from __future__ import annotations

import json
from datetime import datetime

import feedparser
import pytest
from lxml import etree

from recrawl.synthweb import documents
from recrawl.synthweb.documents import PublishedItem, View
from recrawl.synthweb.laws import Law
from recrawl.synthweb.world import FILES, SynthSource

MOMENT = 1_700_000_000.25
ENTRIES = [PublishedItem(9, MOMENT), PublishedItem(8, MOMENT - 3.5)]


def view(kind: str) -> View:
    source = SynthSource(number=3, host=0, kind=kind, path=f"/s3/{FILES[kind]}", law=Law(rate=1))
    return View(source, "http://host", ENTRIES)


@pytest.mark.parametrize("kind", ["rss", "atom"])
def test_feeds_are_feeds(kind: str) -> None:
    feed = feedparser.parse(documents.render(view(kind)))
    assert not feed.bozo
    assert [entry.id for entry in feed.entries] == ["synth:3:9", "synth:3:8"]
    assert [entry.link for entry in feed.entries] == ["http://host/s3/i/9", "http://host/s3/i/8"]
    assert feed.entries[0].published_parsed[:6] == (2023, 11, 14, 22, 13, 20)


def test_atom_and_json_carry_fractions_of_a_second() -> None:
    items = json.loads(documents.render(view("json")))["items"]
    assert [datetime.fromisoformat(item["date_published"]).timestamp() for item in items] == [MOMENT, MOMENT - 3.5]
    assert [item["id"] for item in items] == ["synth:3:9", "synth:3:8"]
    feed = feedparser.parse(documents.render(view("atom")))
    assert datetime.fromisoformat(feed.entries[1].published).timestamp() == MOMENT - 3.5


@pytest.mark.parametrize("kind", ["sitemap", "news"])
def test_sitemaps_are_sitemaps(kind: str) -> None:
    root = etree.fromstring(documents.render(view(kind)))
    assert etree.QName(root).localname == "urlset"
    dates = [d.text for d in root.iter("{*}lastmod", "{*}publication_date")]
    assert [datetime.fromisoformat(date).timestamp() for date in dates] == [MOMENT, MOMENT - 3.5]


def test_a_page_shows_its_latest_version_only() -> None:
    text = documents.render(view("page")).decode()
    assert documents.title(3, 9) in text
    assert documents.title(3, 8) not in text


def test_the_front_page_of_a_feed_advertises_it() -> None:
    assert 'rel="alternate" type="application/atom+xml" href="/s3/atom.xml"' in documents.home(view("atom").source, "")


@pytest.mark.parametrize("kind", list(documents.RENDERERS))
def test_a_source_that_has_published_nothing_still_has_a_document(kind: str) -> None:
    empty = View(view(kind).source, "http://host", [])
    assert documents.render(empty)


def test_the_opml_has_a_folder_per_host() -> None:
    root = etree.fromstring(documents.opml([("a", "One", "u1"), ("b", "Two", "u2"), ("a", "Three", "u3")]).encode())
    folders = {f.get("text"): [o.get("xmlUrl") for o in f] for f in root.find("body")}
    assert folders == {"a": ["u1", "u3"], "b": ["u2"]}
