"""One door for every document: what is it, and what does it say?

The kind is told by content first: a feed served as text/html is a feed, and an error page served as application/rss+xml
is a page. The Content-Type only decides among documents without a telling root. A source of known kind is read as that
kind, and one that turned into something else says so instead of being misread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from recrawl.config import HintSwitches
from recrawl.crawl import decoding, hints
from recrawl.crawl.feeds import read_feed
from recrawl.crawl.findings import Findings, UnreadableError
from recrawl.crawl.json_feed import is_json_feed, read_json_feed
from recrawl.crawl.pages import read_bytes, read_page, read_text
from recrawl.crawl.patience import NeedsPatience, hurried
from recrawl.crawl.sitemaps import read_sitemap, read_text_sitemap
from recrawl.crawl.what_counts import WhatCounts
from recrawl.store.base import SourceKind

Shape = Literal["feed", "json feed", "sitemap", "html", "text", "other"]
_SHAPES: dict[str, Shape] = {
    "rss": "feed", "rdf": "feed", "feed": "feed", "channel": "feed", "urlset": "sitemap", "sitemapindex": "sitemap",
    "html": "html", "head": "html", "body": "html",
}  # fmt: skip
_NAMES: dict[Shape, str] = {
    "feed": "a feed", "json feed": "a JSON feed", "sitemap": "a sitemap", "html": "an HTML page", "text": "plain text",
    "other": "neither text nor markup",
}  # fmt: skip
_TEXTUAL = ("text/", "application/json", "application/xml", "application/javascript", "application/yaml")


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Something fetched, and how to read it. Plain data: it may travel to another process.

    Parameters
        url: where it came from in the end; relative links are resolved against it
        kind: what it is known to be; "auto" to find out
        content_type: as the server said
        headers: of the response, names in lower case
        now: of the fetch, Unix seconds
        counts: what of a page is compared
        keep_text: bytes of a page's text that are kept
        switches: which of the publisher's hints count
        marked: whether to say, of a page, which parts count
    """

    url: str
    body: bytes
    now: float
    kind: SourceKind = "auto"
    content_type: str = ""
    headers: Mapping[str, str] = {}
    counts: WhatCounts = WhatCounts()
    keep_text: int = 200_000
    switches: HintSwitches = HintSwitches()
    marked: bool = False


def read(document: Document, patience: bool = True) -> Findings:
    """What it says; UnreadableError if it cannot be read, or is not what it should be.

    Parameters
        patience: whether slow work may be done; if not, NeedsPatience is raised where it is needed
    """
    if not patience:
        with hurried():
            return _read(document, patience)
    return _read(document, patience)


def _read(document: Document, patience: bool) -> Findings:
    body = decoding.utf8(document.body, document.content_type)
    shape, start = shape_of(body, document.content_type)
    findings = _read_as(document, shape, body[start:] if start else body, patience)
    stay = hints.of_headers(document.headers, document.now, document.switches)
    if stay is None:
        return findings
    said = findings.hints
    longest = hints.longest(said.stay_away_s, stay)
    return msgspec.structs.replace(findings, hints=msgspec.structs.replace(said, stay_away_s=longest))


def shape_of(body: bytes, content_type: str = "") -> tuple[Shape, int]:
    """What a document in UTF-8 looks like, and where it starts."""
    if body == decoding.REFUSED:
        return "other", 0
    root, start = decoding.document_start(body)
    if root in _SHAPES:
        return _SHAPES[root], start
    kind = content_type.partition(";")[0].strip().lower()
    if body[:200].lstrip()[:1] == b"{" and is_json_feed(body):
        return "json feed", 0
    if "html" in kind or (root and not kind):
        return "html", 0
    if kind.startswith(_TEXTUAL) or kind.endswith(("+xml", "+json")) or (not kind and b"\0" not in body[:1024]):
        return "text", 0
    return "other", 0


def _read_as(document: Document, shape: Shape, body: bytes, patience: bool) -> Findings:
    kind, counts, keep = document.kind, document.counts, document.keep_text
    if kind in ("feed", "sitemap") and not body.strip():
        raise UnreadableError(f"expected a {kind}, but this is empty")
    if kind in ("auto", "feed"):
        if shape == "feed":
            return read_feed(body, document.url, document.now, document.switches, patience)
        if shape == "json feed":
            return read_json_feed(body, document.url, document.now)
    if kind in ("auto", "sitemap"):
        if shape == "sitemap":
            return read_sitemap(body, document.url, document.now, document.switches)
        if kind == "sitemap" and shape == "text":
            return read_text_sitemap(body, document.url)
    if kind == "auto" and not body.strip():
        raise UnreadableError("the document is empty, so what it should be cannot be told")
    if kind in ("feed", "sitemap"):
        raise UnreadableError(f"expected a {kind}, but this is {_NAMES[shape]}")
    if counts.select or shape in ("html", "feed", "sitemap"):
        return read_page(body, document.url, document.now, counts, keep, document.body, document.marked)
    if shape in ("text", "json feed"):
        return read_text(body, document.now, counts, keep, document.body, document.marked)
    return read_bytes(document.body, counts)


__all__ = ["Document", "NeedsPatience", "Shape", "UnreadableError", "read", "shape_of"]
