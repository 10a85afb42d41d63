"""One door for every document: the kind is told by content, and nothing but an UnreadableError comes back."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.config import HintSwitches
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.readers import Document, UnreadableError, read, shape_of
from recrawl.store.records import SourceKind

NOW = 1.79e9
RSS = b"<rss><channel><title>T</title><item><guid>a</guid></item></channel></rss>"
ATOM = b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>a</id></entry></feed>"
SITEMAP = (
    b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>https://example.org/a</loc></url></urlset>"
)
HTML = b"<!DOCTYPE html><html><head><title>T</title></head><body>words</body></html>"
JSON_FEED = json.dumps({"version": "https://jsonfeed.org/version/1", "title": "T", "items": [{"id": "a"}]}).encode()


def document(body: bytes, kind: SourceKind = "auto", content_type: str = "", **more: object) -> Document:
    return Document(url="https://example.org/x", body=body, now=NOW, kind=kind, content_type=content_type, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("content_type", ["", "text/html", "application/octet-stream", "text/plain; charset=utf-8"])
@pytest.mark.parametrize(
    ("body", "shape"),
    [(RSS, "feed"), (ATOM, "feed"), (SITEMAP, "sitemap"), (HTML, "html"), (JSON_FEED, "json feed"),
     (b"<?xml version='1.0'?><!-- c --><!DOCTYPE rss SYSTEM 'x'>\n" + RSS, "feed"),
     (b"\n\n<html lang='en'>", "html"), (b"<HEAD>", "html"),
     (b"Warning: mysql_connect() in /var/www\n<?xml version='1.0'?>" + RSS, "feed"),
     (b"<br /><b>Notice</b>: x\n" + RSS, "feed")],
)  # fmt: skip
def test_content_tells_the_kind_whatever_the_server_says(body: bytes, shape: str, content_type: str) -> None:
    assert shape_of(body, content_type)[0] == shape


@pytest.mark.parametrize(
    ("body", "content_type", "shape"),
    [
        (b"words", "text/plain", "text"),
        (b"words", "", "text"),
        (b"words", "text/html", "html"),
        (b"<p>words", "text/html; charset=utf-8", "html"),
        (b"\x89PNG\x00", "image/png", "other"),
        (b"%PDF-1.4", "application/pdf", "other"),
        (b"\x00\x01", "", "other"),
        (b'{"a": 1}', "application/json", "text"),
        (b"<error>x</error>", "application/xml", "text"),
        (b"", "", "text"),
    ],
)
def test_where_content_does_not_tell_the_server_does(body: bytes, content_type: str, shape: str) -> None:
    assert shape_of(body, content_type)[0] == shape


@pytest.mark.parametrize(
    ("body", "kind"), [(RSS, "feed"), (ATOM, "feed"), (JSON_FEED, "feed"), (SITEMAP, "sitemap"), (HTML, "page")]
)
def test_the_kind_is_found_out(body: bytes, kind: str) -> None:
    assert read(document(body)).kind == kind


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        ("feed", HTML, "expected a feed, but this is an HTML page"),
        ("feed", SITEMAP, "expected a feed, but this is a sitemap"),
        ("feed", b"", "expected a feed, but this is empty"),
        ("feed", b"words", "expected a feed, but this is plain text"),
        ("sitemap", RSS, "expected a sitemap, but this is a feed"),
        ("sitemap", b"", "expected a sitemap, but this is empty"),
        ("sitemap", b" \r\n\t", "expected a sitemap, but this is empty"),
        ("sitemap", b"\xef\xbb\xbf", "expected a sitemap, but this is empty"),
        ("sitemap", HTML, "expected a sitemap, but this is an HTML page"),
        ("sitemap", b"words", "neither XML nor one URL per line"),
    ],
)
def test_what_turned_into_something_else_says_so(kind: SourceKind, body: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        read(document(body, kind))


def test_a_page_stays_a_page_whatever_it_serves() -> None:
    for body in (RSS, SITEMAP, JSON_FEED, b"words", b"\x89PNG\x00", b""):
        assert read(document(body, "page")).kind == "page"


def test_what_is_no_text_is_compared_byte_by_byte() -> None:
    one, other = (read(document(body, content_type="image/png")) for body in (b"\x89PNG\x00a", b"\x89PNG\x00b"))
    assert one.text == other.text == "binary, 6 bytes"
    assert one.digest != other.digest


def test_text_sitemaps_are_read_where_a_sitemap_is_expected() -> None:
    assert len(read(document(b"https://example.org/a\n", "sitemap")).items) == 1


def test_a_raw_digest_on_request() -> None:
    ten, eleven = (b"<html>10 views</html>", b"<html>11 views</html>")
    raw = WhatCounts(digest="raw")
    assert read(document(ten)).digest == read(document(eleven)).digest
    assert read(document(ten, counts=raw)).digest != read(document(eleven, counts=raw)).digest


def test_wishes_of_header_and_feed_are_both_heard_and_the_longer_counts() -> None:
    feed = RSS.replace(b"<title>", b"<ttl>10</ttl><title>")
    headers = {"cache-control": "max-age=3600"}
    assert read(document(feed)).stay_away_s == 600.0
    assert read(document(feed, headers=headers)).stay_away_s == 3600.0
    assert read(document(feed, headers={"cache-control": "max-age=60"})).stay_away_s == 600.0
    off = HintSwitches(cache_control=False)
    assert read(document(feed, headers=headers, switches=off)).stay_away_s == 600.0


TITLED = "<rss><channel><title>Ça</title></channel></rss>"
SAYS = "<?xml version='1.0' encoding='{}'?>"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (TITLED.encode(), "text/xml; charset=iso-8859-1"),
        (TITLED.encode("latin-1"), "text/xml; charset=iso-8859-1"),
        ((SAYS.format("ISO-8859-1") + TITLED).encode("latin-1"), ""),
        ((SAYS.format("utf-8") + TITLED).encode("utf-16"), ""),
        ((SAYS.format("utf-16") + TITLED).encode("utf-16-le"), ""),
        ((SAYS.format("utf-16") + TITLED).encode(), ""),
        (b"\xef\xbb\xbf" + TITLED.encode(), "text/xml; charset=ascii"),
        (TITLED.encode("utf-32"), ""),
    ],
)
def test_labels_lie_and_bytes_decide(body: bytes, content_type: str) -> None:
    assert read(document(body, content_type=content_type)).title == "Ça"


def test_shifting_encodings_are_believed_by_their_label() -> None:
    body = "<?xml version='1.0' encoding='iso-2022-jp'?><rss><channel><title>日本</title></channel></rss>"
    assert read(document(body.encode("iso-2022-jp"))).title == "日本"


@pytest.mark.parametrize("encoding", ["windows-1251", "koi8-r", "utf-16", "utf-8"])
def test_a_malformed_feed_is_not_decoded_twice(encoding: str) -> None:
    body = (
        SAYS.format(encoding) + "<rss><channel><item><title>Один</title></item><item><title>Два</item><item><title>Три"
    )
    assert read(document(body.encode(encoding))).items[0].title == "Один"


@pytest.mark.parametrize("label", ["nonsense", "utf-7", "hex", "rot13", "base64", "zlib", "\x00", "x" * 1000])
def test_labels_that_are_no_charset_do_no_harm(label: str) -> None:
    body = b"<rss><channel><title>\xe7a</title></channel></rss>"
    assert read(document(body, content_type=f"text/xml; charset={label}")).title == "ça"


def test_what_browsers_refuse_to_read_is_compared_byte_by_byte() -> None:
    one, other = (
        read(document(f"<p>{text}</p>".encode("iso2022_kr"), content_type="text/html; charset=iso-2022-kr"))
        for text in ("안녕", "안녕하세요")
    )
    assert (one.text, other.text) == ("binary, 17 bytes", "binary, 23 bytes")
    assert one.digest != other.digest


def test_an_entity_bomb_is_refused_in_any_encoding() -> None:
    bomb = "<!DOCTYPE rss [<!ENTITY a 'x'><!ENTITY b '&a;&a;'>]><rss><channel><title>&b;</title></channel></rss>"
    for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-32"):
        with pytest.raises(UnreadableError, match="declares entities"):
            read(document(bomb.encode(encoding)))


KINDS = st.sampled_from(["auto", "feed", "sitemap", "page"])
TYPES = st.sampled_from(["", "text/html", "application/rss+xml", "text/plain; charset=utf-16", "image/png"])
PIECES = st.sampled_from([
    b"<?xml version='1.0'?>", b'<!DOCTYPE rss [', b"<!ENTITY a 'b'>", b']>', b'<rss>', b'<channel>', b'<item>',
    b'</item>', b'<title>', b'</title>', b'<link>', b'</link>', b'<guid>', b'</guid>',
    b"<feed xmlns='http://www.w3.org/2005/Atom'>", b'<entry>', b'</entry>', b'<id>', b'</id>', b"<link href='",
    b"'/>", b'<urlset>', b'<url>', b'<loc>', b'</loc>', b'</url>', b'<sitemapindex>', b'<html>', b'<body>', b'<p>',
    b'<script>', b'<![CDATA[', b']]>', b'<!--', b'-->', b'&', b'&amp;', b'&a;', b'&#27;', b'&#xD800;', b'{"items": [',
    b'{"id": 1}', b']}', b'\x00', b'\x1b[31m', b'\xff\xfe', b'\xe2\x80', b'2026-11-02T15:03:04Z', b'<pubDate>',
    b'</pubDate>', b'http://example.org/a', b'//[', b'words ', b'<', b'<rdf:RDF>', b'<lastmod>', b'</lastmod>',
    b'<changefreq>daily</changefreq>', b'<ttl>5</ttl>', b'<skipHours><hour>5',
])  # fmt: skip


@settings(max_examples=400)
@given(st.binary(max_size=200) | st.lists(PIECES, max_size=25).map(b"".join), KINDS, TYPES, st.sampled_from(["", "p"]))
def test_any_bytes_are_findings_or_unreadable(body: bytes, kind: SourceKind, content_type: str, select: str) -> None:
    try:
        found = read(document(body, kind, content_type, counts=WhatCounts(select=select)))
    except UnreadableError:
        return
    assert isinstance(found, Findings)
    assert kind in ("auto", found.kind)
    assert len({item.key for item in found.items}) == len(found.items)
    assert all(item.link.startswith(("http://", "https://")) for item in found.items if item.link)
    assert all(item.published is None or item.published <= NOW for item in found.items)


@settings(max_examples=150)
@given(st.data(), st.sampled_from([RSS, ATOM, SITEMAP, HTML, JSON_FEED]), KINDS)
def test_damaged_documents_are_findings_or_unreadable(data: st.DataObject, body: bytes, kind: SourceKind) -> None:
    damaged = bytearray(body)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(UnreadableError):
        assert isinstance(read(document(bytes(damaged), kind)), Findings)


def test_compressed_bytes_are_not_unpacked_here() -> None:
    assert read(document(gzip.compress(RSS))).kind == "page"
