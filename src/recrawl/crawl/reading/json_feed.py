"""JSON Feed 1.0 and 1.1, and feeds that nearly are."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from recrawl.crawl.reading import hub_links
from recrawl.crawl.reading.content import MOST_READ, paragraphs
from recrawl.crawl.reading.feeds import MOST_ENTRIES
from recrawl.crawl.reading.findings import Findings, FoundItem, UnreadableError
from recrawl.crawl.reading.in_full import NOTHING, Asked, with_words
from recrawl.crawl.reading.items import address, make_item, told_apart
from recrawl.crawl.reading.plain_text import TITLE_CHARACTERS, clean

LONGEST_NUMBER = 1000
_VERSION = b"https://jsonfeed.org/version/1"


def read_json_feed(body: bytes, url: str, now: float, asked: Asked = NOTHING) -> Findings:
    """What a JSON feed holds.

    Parameters
        body: UTF-8
        now: of the fetch, Unix seconds; no item is dated later
        asked: what is wanted of its items besides
    """
    feed = _decoded(body)
    if not looks_like_feed(feed):
        raise UnreadableError("JSON, but not a JSON Feed: it has no list of items")
    entries = [entry for entry in feed["items"] if isinstance(entry, dict)]
    remark = "" if len(entries) <= MOST_ENTRIES else f"cut off after {MOST_ENTRIES} of {len(entries)} entries"
    return Findings(
        kind="feed",
        title=clean(_text(feed.get("title")) or "", TITLE_CHARACTERS),
        items=told_apart(_item(entry, url, now, asked) for entry in entries[:MOST_ENTRIES]),
        remark=remark,
        **hub_links.of_json(feed, url)._asdict(),
    )


def _item(entry: dict[str, Any], url: str, now: float, asked: Asked) -> FoundItem:
    item = make_item(
        _text(entry.get("id")),
        _text(entry.get("title")),
        _text(entry.get("url")) or _text(entry.get("external_url")) or address(_text(entry.get("id"))),
        _text(entry.get("summary")) or _text(entry.get("content_text")) or _text(entry.get("content_html")),
        _text(entry.get("date_published")) or _text(entry.get("date_modified")),
        url,
        now,
        updated=_text(entry.get("date_modified")),
    )
    if not asked:
        return item
    several = entry.get("authors")
    authors = several if isinstance(several, list) and several else [entry.get("author")]
    author = _text(authors[0].get("name")) if isinstance(authors[0], dict) else None
    html = ""
    if asked.content:
        html = _text(entry.get("content_html")) or paragraphs((_text(entry.get("content_text")) or "")[:MOST_READ])
    return with_words(item, author or "", html, url)


def is_json_feed(body: bytes) -> bool:
    """Whether the document is JSON with a list of items in it, or says so, though it may be cut off."""
    if _VERSION in body[:1000]:
        return True
    try:
        return looks_like_feed(_decoded(body))
    except UnreadableError:
        return False


def looks_like_feed(document: Any) -> bool:
    """Whether decoded JSON has a feed's shape."""
    return isinstance(document, dict) and isinstance(document.get("items"), list) and (
        "jsonfeed" in str(document.get("version", "")) or "title" in document
    )  # fmt: skip


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    try:
        return json.loads(body, strict=False, parse_int=_number)
    except (ValueError, RecursionError) as error:
        raise UnreadableError("not a readable JSON document") from error


def _number(digits: str) -> int | str:
    """As a number; what Python would refuse to convert stays as it is written."""
    return int(digits) if len(digits) < LONGEST_NUMBER else digits


def _text(value: Any) -> str | None:
    """A text, or a number as one: ids are often numbers. Anything else is none."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
