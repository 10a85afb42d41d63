"""Documents that break off: nothing is found in them that is not in the whole."""

from __future__ import annotations

import gzip
import json
import time
from itertools import accumulate

import pytest

from recrawl.crawl.fetching.answer_limits import unpacked
from recrawl.crawl.fetching.transport import TransportError
from recrawl.crawl.reading.decoding import whole_entries
from recrawl.crawl.reading.findings import Findings, UnreadableError
from recrawl.crawl.reading.readers import Document, read
from recrawl.store.records import SourceKind

NOW = 1_800_000_000.0
URL = "https://example.org/feed"
RSS = [
    """<?xml version="1.0" encoding="utf-8"?>
    <!-- <item>no item</item> --><rss version="2.0"><channel><title>The feed of é</title><ttl>180</ttl>""",
    """<item><title>One &amp; ä</title><guid isPermaLink="false">guid-1</guid>
    <link>https://example.org/1?a=1&amp;b=2</link><pubDate>Mon, 02 Nov 2026 15:03:04 GMT</pubDate></item>""",
    """<item><title><![CDATA[Two <b>中文</b>]]></title><link>https://example.org/22</link>
    <description><![CDATA[<p>how an <item> ends: </item></channel></rss></p>]]></description></item>""",
    "<item><title>Only a title</title><description>and words &#8212; of three</description></item>",
    "<item><guid>https://example.org/4/long</guid></item>",
    "<link>https://example.org/</link></channel></rss>",
]
RDF = [
    """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
    <channel rdf:about="https://example.org/"><title>T</title><items><rdf:Seq>
    <rdf:li rdf:resource="https://example.org/1"/></rdf:Seq></items></channel>""",
    """<item rdf:about="https://example.org/1"><title>One</title></item>""",
    """<item rdf:about='https://example.org/2'><title>Two</title><link>https://example.org/2</link></item>""",
    "</rdf:RDF>",
]
ATOM = [
    """<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>urn:x</id>""",
    """<entry><id>urn:1</id><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">One <b>b</b></div></title>
    <link href="https://example.org/1"/><updated>2026-11-02T15:03:04Z</updated></entry>""",
    "<a:entry xmlns:a='http://www.w3.org/2005/Atom'><a:id>urn:22</a:id><a:link href='https://e.example/2' /></a:entry>",
    """<entry><id>urn:3</id><content type="html">&lt;p&gt;words &lt;/entry&gt;&lt;/p&gt;</content></entry>""",
    "</feed>",
]
SITEMAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://example.org/11</loc>
<lastmod>2026-11-02</lastmod></url><url><loc>https://example.org/22</loc></url></urlset>"""
DOCUMENTS = {
    "RSS 2.0": RSS,
    "RSS with characters nobody declared": [part.replace("&amp; ä", "& ä &nbsp; &bogus; &eacute;") for part in RSS],
    "RSS with tags that do not match": [part.replace("&amp; ä", "& ä <br>") for part in RSS],
    "RSS 1.0": RDF,
    "Atom": ATOM,
}
"""Each as what comes first, an item each, and the end."""


def found_in(body: bytes, kind: SourceKind = "feed") -> Findings:
    try:
        return read(Document(url=URL, body=body, now=NOW, kind=kind))
    except UnreadableError:
        return Findings(kind=kind)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_wherever_a_feed_is_cut_all_items_before_are_found_and_no_others(name: str) -> None:
    parts = [part.encode() for part in DOCUMENTS[name]]
    body, ends = b"".join(parts), list(accumulate(map(len, parts)))[1:-1]
    complete = found_in(body)
    assert len(complete.items) == len(ends)
    for place in range(len(body)):
        found = found_in(body[:place])
        assert found.items == complete.items[: sum(end <= place for end in ends)], body[:place]
        assert found.title in ("", complete.title)
        assert found.stay_away_s in (None, complete.stay_away_s)


def test_a_cut_within_a_character_garbles_none_of_the_others_whatever_the_header_says() -> None:
    body = "".join(RSS).encode()
    place = body.index("中".encode()) + 1
    for end in (place, place + 1):
        document = Document(url=URL, body=body[:end], now=NOW, kind="feed", content_type="text/xml; charset=iso-8859-1")
        found = read(document)
        assert (found.title, [item.title for item in found.items]) == ("The feed of é", ["One & ä"])


def test_a_cut_sitemap_lists_no_half_addresses() -> None:
    body = SITEMAP.encode()
    complete = set(found_in(body, "sitemap").items)
    assert len(complete) == 2
    for place in range(len(body)):
        assert complete.issuperset(found_in(body[:place], "sitemap").items), body[:place]


@pytest.mark.parametrize("kind", ["feed", "auto"])
def test_a_cut_json_feed_has_no_items(kind: SourceKind) -> None:
    feed = {"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "12", "url": "https://example.org/12"}]}
    body = json.dumps(feed).encode()
    assert len(found_in(body, kind).items) == 1
    for place in range(len(body)):
        assert found_in(body[:place], kind).items == ()


def test_a_json_feed_that_is_cut_is_not_taken_for_a_page() -> None:
    with pytest.raises(UnreadableError, match="JSON"):
        read(Document(url="https://example.org/", body=b'{"version": "https://jsonfeed.org/version/1", "it', now=NOW))


def test_a_cut_gzip_file_is_damaged_wherever_it_is_cut() -> None:
    packed = gzip.compress("".join(RSS).encode())
    for place in range(2, len(packed)):
        with pytest.raises(TransportError, match="damaged"):
            unpacked(packed[:place], "gzip", 1_000_000)


def test_a_feed_that_lost_only_its_end_keeps_its_last_item() -> None:
    assert whole_entries(b"<rss><channel><item>1</item>") == (b"<rss><channel><item>1</item>", True)
    assert whole_entries(b"<rss><channel><item>1</item></channel></rss>\n<!-- 3 ms") == (
        b"<rss><channel><item>1</item></channel></rss>\n<!-- 3 ms", False)  # fmt: skip


def test_items_never_closed_are_kept_where_the_feed_is() -> None:
    body = b"<rss><channel><item><title>One</title><item><title>Two</title></channel></rss>"
    assert whole_entries(body) == (body, False)


def test_an_entry_in_an_entry_does_not_end_the_outer_one() -> None:
    outer = b"<feed><entry>1</entry><entry><x><feed><entry>in</entry></feed>"
    assert whole_entries(outer) == (b"<feed><entry>1</entry>", True)


def test_ends_of_what_was_never_opened_are_not_searched_for_among_all_that_is_open() -> None:
    often = 40_000
    began = time.process_time()
    assert whole_entries(b"<rss>" + b"<item>" * often + b"</entry>" * often) == (b"<rss>", True)
    assert time.process_time() - began < 5.0  # a search for each takes a minute, none a tenth of a second
