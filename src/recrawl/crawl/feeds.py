"""RSS 0.9 to 2.0, RDF and Atom, one walk over a hardened tree.

Well-formed feeds are read by `lxml` directly: five fields per item need no more, the publisher's hints are met on the
way, and the dates are the publisher's own. Broken ones are repaired, and those that then yield fewer items than they
name are given to feedparser, which reads almost anything but is thirty times slower; only where there is `patience`.

Which item is which: its guid or id, else its link, else a digest of title and summary. Ids that change at every fetch
cannot be told from one document; `crawl.renaming` notices them.

When it was published: `pubDate`, `published`, `issued`, `dc:date`, `created`. An entry that has only `updated` is dated
by it: an edit then moves the date, but never makes the item new. A date after the fetch counts as the fetch's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import blake2b
from io import BytesIO
from typing import Any

import msgspec

from recrawl.config import HintSwitches
from recrawl.crawl import dates, decoding, hints, urls
from recrawl.crawl.findings import Findings, FoundItem, Hints, UnreadableError
from recrawl.crawl.text import SUMMARY_CHARACTERS, TITLE_CHARACTERS, clean

MOST_ENTRIES = 100_000
LONGEST_KEY = 500
LARGEST_FOR_FEEDPARSER = 1_000_000
"""Bytes; a broken feed beyond this is read as far as repair goes."""

BROKEN = "the feed is malformed; what could be read was read"

_ITEM_TAGS = frozenset(("item", "entry"))
_ID, _TITLE, _LINK, _SUMMARY, _CONTENT, _PUBLISHED, _UPDATED = range(7)
_FIELDS = {
    "guid": _ID, "id": _ID, "title": _TITLE, "link": _LINK, "description": _SUMMARY, "summary": _SUMMARY,
    "encoded": _CONTENT, "content": _CONTENT, "pubdate": _PUBLISHED, "published": _PUBLISHED, "issued": _PUBLISHED,
    "date": _PUBLISHED, "created": _PUBLISHED, "updated": _UPDATED, "modified": _UPDATED,
}  # fmt: skip
_FOREIGN = re.compile(r"\{(?:http://search\.yahoo\.com/mrss|http://www\.itunes\.com|http://www\.w3\.org/1999/xhtml)")
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_field_of_tag: dict[Any, int | None] = {}
_name_of_tag: dict[Any, str] = {}


class NeedsPatience(Exception):  # noqa: N818 - not an error: the reader asks to be called where time does not matter
    """The document can only be read by a slow reader, which was not allowed."""


def read_feed(body: bytes, url: str, now: float, switches: HintSwitches, patience: bool = True) -> Findings:
    """What an XML feed holds.

    Parameters
        body: UTF-8, starting with the document
        url: where it came from; relative links are resolved against it
        now: of the fetch, Unix seconds
        patience: whether slow readers may be used; if not, NeedsPatience
    """
    try:
        root, broken = decoding.tree(body, "feed")
    except UnreadableError:
        if b"<!ENTITY" in body or len(body) > LARGEST_FOR_FEEDPARSER or not _ITEM_IN_TEXT.search(body):
            raise
        return _by_feedparser(body, url, now, patience)
    found = _from_tree(root, url, now, switches, broken)
    if broken and len(_ITEM_IN_TEXT.findall(body)) > len(found.items):
        return _fuller(found, body, url, now, patience)
    return found


_ITEM_IN_TEXT = re.compile(rb"<(?:\w+:)?(?:item|entry)[\s>]", re.IGNORECASE)


def _fuller(found: Findings, body: bytes, url: str, now: float, patience: bool) -> Findings:
    """What feedparser finds in a feed that repair did not make whole, if it is more."""
    try:
        other = _by_feedparser(body, url, now, patience)
    except UnreadableError:
        return found
    return msgspec.structs.replace(found, items=other.items) if len(other.items) > len(found.items) else found


def _from_tree(root: Any, url: str, now: float, switches: HintSwitches, broken: bool) -> Findings:
    items: list[Any] = []
    head: list[Any] = []
    for child in root:
        name = _local(child.tag)
        if name == "channel":
            for grandchild in child:
                (items if _local(grandchild.tag) in _ITEM_TAGS else head).append(grandchild)
        else:
            (items if name in _ITEM_TAGS else head).append(child)
    if not items:
        items = list(root.iter("{*}item", "{*}entry"))
    base = root.get(_XML_BASE)
    remark = BROKEN if broken else ""
    if len(items) > MOST_ENTRIES:
        remark = f"cut off after {MOST_ENTRIES} of {len(items)} entries"
        del items[MOST_ENTRIES:]
    where = url if base is None else urls.join(url, base) or url
    return Findings(
        kind="feed",
        title=_title(head),
        items=once(_item(item, where, now) for item in items),
        hints=_hints(head, switches),
        remark=remark,
    )


def _item(element: Any, base: str, now: float) -> FoundItem:
    identity = title = link = summary = content = None
    published = updated = None
    permanent = False
    for child in element:
        tag = child.tag
        try:
            field = _field_of_tag[tag]
        except KeyError:
            field = _learn(tag)
        if field is None:
            continue
        if field == _LINK:
            link = _better_link(link, child)
        elif field == _TITLE:
            title = title or (child.text if len(child) == 0 else _content(child))
        elif field == _ID:
            if identity is None:
                identity = child.text
                permanent = tag == "guid" and child.get("isPermaLink", "true") != "false"
        elif field == _SUMMARY:
            summary = summary or (child.text if len(child) == 0 else _content(child))
        elif field == _PUBLISHED:
            published = published or child.text
        elif field == _UPDATED:
            updated = updated or child.text
        elif content is None:
            content = child
    if not summary and content is not None:
        summary = _content(content)
    if link is None and permanent and identity and identity.lstrip().startswith("http"):
        link = identity.strip()
    if identity is None:
        identity = element.get(_ABOUT)
    return make_item(identity, title, link, summary, published or updated, base, now)


def make_item(
    identity: str | None, title: str | None, link: str | None, summary: str | None, date: str | None, base: str,
    now: float,
) -> FoundItem:  # fmt: skip
    """One item from what the publisher wrote: cleaned, bounded, its link absolute, its date not after `now`."""
    title = clean(title, TITLE_CHARACTERS) if title else ""
    summary = clean(summary, SUMMARY_CHARACTERS) if summary else ""
    link = (urls.join(base, link) or "") if link else ""
    published = dates.parse(date) if date else None
    return FoundItem(
        key=key_of(identity, link, title, summary),
        title=title,
        link=link,
        summary=summary,
        published=published if published is None or published <= now else now,
    )


def key_of(identity: str | None, link: str, title: str, summary: str) -> str:
    """What makes it the same item next time: its id, else its link, else a digest of title and summary."""
    key = (identity.strip() if identity else "") or link
    if not key:
        return "digest:" + blake2b(f"{title}\n{summary}".encode("utf-8", "replace"), digest_size=16).hexdigest()
    if len(key) > LONGEST_KEY:
        return "digest:" + blake2b(key.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return key if key.isprintable() else key.encode("utf-8", "replace").decode()


def once(items: Iterable[FoundItem]) -> tuple[FoundItem, ...]:
    """Each key once, in document order; the first of each."""
    found: dict[str, FoundItem] = {}
    for item in items:
        found.setdefault(item.key, item)
    return tuple(found.values())


def _learn(tag: Any) -> int | None:
    """Which field a tag is, remembered for the tags met so far; comments and other namespaces' namesakes are none."""
    field = None
    if isinstance(tag, str) and not _FOREIGN.match(tag):
        field = _FIELDS.get(_local(tag))
    if len(_field_of_tag) < 1000:
        _field_of_tag[tag] = field
    return field


def _local(tag: Any) -> str:
    """A tag's name without namespace or prefix, in lower case; remembered for the tags met so far."""
    name = _name_of_tag.get(tag)
    if name is None:
        name = tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(tag, str) else ""
        if len(_name_of_tag) < 1000:
            _name_of_tag[tag] = name
    return name


def _better_link(link: str | None, child: Any) -> str | None:
    """An item's own page: RSS writes it as text, Atom as `rel=alternate`; any other relation only for want of it."""
    href = child.get("href")
    if href is None:
        return link or (child.text or "").strip() or None
    if child.get("rel", "alternate") == "alternate":
        return str(href).strip() if link is None or child.get("type") in (None, "text/html") else link
    return link


def _content(element: Any) -> str | None:
    """Text of an element, that of its children included (Atom's xhtml); never the whole of a giant."""
    if len(element) == 0:
        return element.text
    parts, size = [], 0
    for part in element.itertext():
        parts.append(part)
        size += len(part)
        if size > 20_000:
            break
    return " ".join(parts)


def _title(head: list[Any]) -> str:
    for child in head:
        if _local(child.tag) == "title" and not _FOREIGN.match(child.tag):
            return clean(_content(child) or "", TITLE_CHARACTERS)
    return ""


def _hints(head: list[Any], switches: HintSwitches) -> Hints:
    ttl = period = frequency = None
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[int, ...] = ()
    for child in head:
        name = _local(child.tag)
        if name == "ttl" and switches.ttl:
            ttl = hints.of_ttl(child.text)
        elif name == "updateperiod" and switches.update_period:
            period = child.text
        elif name == "updatefrequency" and switches.update_period:
            frequency = child.text
        elif name == "skiphours" and switches.skip_hours:
            skip_hours = hints.hours(hour.text for hour in child)
        elif name == "skipdays" and switches.skip_days:
            skip_days = hints.days(day.text for day in child)
    return Hints(
        stay_away_s=ttl,
        period_s=hints.of_update_period(period, frequency),
        skip_hours=skip_hours,
        skip_days=skip_days,
    )


def _by_feedparser(body: bytes, url: str, now: float, patience: bool) -> Findings:
    """What the most forgiving reader makes of it; its own dates are not used, the publisher's words are."""
    if not patience:
        raise NeedsPatience
    import feedparser

    body = decoding.repaired(body[:LARGEST_FOR_FEEDPARSER])
    if b"<!ENTITY" in body:
        raise UnreadableError("not a readable feed: malformed, with entities of its own")
    try:
        # A stream, because bare bytes could be taken for the name of a file.
        feed = feedparser.parse(BytesIO(body), sanitize_html=False)
        entries = feed.entries[:MOST_ENTRIES]
        title = str(feed.feed.get("title", ""))
    except Exception as error:  # a library of heuristics on strangers' text: whatever it raises, it could not read it
        raise UnreadableError(f"not a readable feed: {type(error).__name__}") from error
    if not entries and not feed.get("version"):
        raise UnreadableError("not a feed: neither RSS nor Atom nor anything like them")
    field: Callable[[Any, str], str | None] = lambda entry, name: entry.get(name) or None  # noqa: E731
    items = (
        make_item(field(entry, "id"), field(entry, "title"), field(entry, "link"), field(entry, "summary"),
                  field(entry, "published") or field(entry, "created") or field(entry, "updated"), url, now)
        for entry in entries
    )  # fmt: skip
    return Findings(kind="feed", title=clean(title, TITLE_CHARACTERS), items=once(items),
                    remark=BROKEN)  # fmt: skip
