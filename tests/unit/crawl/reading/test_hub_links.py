"""Where documents say that changes of them are told."""

from __future__ import annotations

import json

import pytest

from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.reading.hub_links import LONGEST_TOPIC, MOST_HUBS, HubLinks, of_header
from recrawl.crawl.reading.readers import Document, read

URL = "https://a.example/feed"
HUB, TOPIC = "https://hub.example/", "https://a.example/Feed?a=B"
ATOM = "http://www.w3.org/2005/Atom"
LINKS = f'<link rel="hub" href="{HUB}"/><link rel="self" href="{TOPIC}"/>'
DOCUMENTS = {
    "atom": f'<feed xmlns="{ATOM}"><title>A</title>{LINKS}<entry><id>1</id><title>B</title></entry></feed>',
    "rss": f'<rss version="2.0" xmlns:atom="{ATOM}"><channel><title>A</title>{LINKS.replace("<link", "<atom:link")}'
    "<link>https://a.example/</link><item><guid>1</guid><title>B</title></item></channel></rss>",
    "json": json.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": "A",
            "feed_url": TOPIC,
            "hubs": [{"type": "rssCloud", "url": "https://no.example/"}, {"type": "WebSub", "url": HUB}],
            "items": [],
        }
    ),
    "html": f"<html><head><title>A</title>{LINKS}</head><body><p>Some text.</p></body></html>",
}


def found(body: str, headers: dict[str, str] | None = None) -> Findings:
    return read(Document(url=URL, body=body.encode(), now=0.0, headers=headers or {}))


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_each_kind_of_document_names_its_hub_in_its_own_way(kind: str) -> None:
    said = found(DOCUMENTS[kind])
    assert (said.hubs, said.topic) == ((HUB,), TOPIC)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_headers_come_before_what_the_document_says(kind: str) -> None:
    header = '<https://other.example/hub>; rel=hub, </x>; title="a"; rel="alternate self"'
    said = found(DOCUMENTS[kind], {"link": header})
    assert (said.hubs, said.topic) == (("https://other.example/hub",), "https://a.example/x")


def test_headers_that_speak_of_other_things_change_nothing() -> None:
    said = found(DOCUMENTS["atom"], {"link": '</style.css>; rel=preload, <a>; rev="hub"'})
    assert (said.hubs, said.topic) == ((HUB,), TOPIC)


def test_links_in_the_body_of_a_page_are_its_readers_words() -> None:
    said = found(f"<html><head><title>A</title></head><body><p>{LINKS}</p></body></html>")
    assert (said.hubs, said.topic) == ((), "")


def test_links_of_an_entry_are_not_the_feeds() -> None:
    entry = f'<feed xmlns="{ATOM}"><title>A</title><entry><id>1</id><title>B</title>{LINKS}</entry></feed>'
    assert found(entry).hubs == ()


@pytest.mark.parametrize("hubs", [None, 5, "x", [5], [{"url": 5}], [{"type": "WebSub"}]])
def test_json_of_another_shape_names_no_hub(hubs: object) -> None:
    assert found(json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [], "hubs": hubs})).hubs == ()


@pytest.mark.parametrize("href", ["javascript:alert(1)", "ftp://hub.example/", "", "http://", "//"])
def test_a_hub_is_an_address_of_the_web(href: str) -> None:
    assert of_header(f"<{href}>; rel=hub", URL).hubs in ((), (URL,))


def test_many_hubs_and_long_topics_are_bounded() -> None:
    many = ", ".join(f"<https://{k}.example/>; rel=hub" for k in range(100))
    assert len(of_header(many, URL).hubs) == MOST_HUBS
    assert of_header(f"<https://a.example/{'x' * LONGEST_TOPIC}>; rel=self", URL) == HubLinks()


@pytest.mark.parametrize("header", ["<" * 16_000, '<a>; rel="' * 1600, "<a>" + ";" * 16_000, "<a>; rel=hub" * 1300])
def test_any_header_is_read_at_once(header: str) -> None:
    assert len(of_header(header, URL).hubs) <= MOST_HUBS
