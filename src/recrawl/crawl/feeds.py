"""RSS 0.9 to 2.0, RDF and Atom, one walk over a hardened tree.

Well-formed feeds are read by `lxml` directly: five fields per item need no more, the publisher's hints are met on the
way, and the dates are the publisher's own. Broken ones are repaired; those that then yield fewer items than they name,
or whose elements end in the wrong order, so that a title may have swallowed the rest, are given to feedparser, which
reads almost anything but is thirty times slower; only where there is `patience`.
An entry in which a document breaks off is left out (`crawl.cutting`). Which item is which: `crawl.items`.

An item's own elements are those of its own namespace, of Atom and of RSS: `media:title` is a picture's, `g:id` that of
a shop. Dublin Core's title and description stand in where there is none. An id that is an address is the link for want
of one.

When it was published: `pubDate`, `published`, `issued`, `dc:date`, `created`. An entry that has only `updated` is dated
by it: an edit then moves the date, but never makes the item new. A date after the fetch counts as the fetch's.
"""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

import msgspec

from recrawl.config import HintSwitches
from recrawl.crawl import cutting, decoding, hints, urls
from recrawl.crawl.feed_text import text_of, words_of
from recrawl.crawl.findings import Findings, FoundItem, Hints, UnreadableError
from recrawl.crawl.items import address, make_item, told_apart
from recrawl.crawl.patience import NeedsPatience
from recrawl.crawl.text import TITLE_CHARACTERS, clean

MOST_ENTRIES = 100_000
LARGEST_FOR_FEEDPARSER = 1_000_000
"""Bytes; a broken feed beyond this is read as far as repair goes."""

BROKEN = "the feed is malformed; what could be read was read"

_IN_UTF8 = {"content-type": "application/xml; charset=utf-8"}
"""What feedparser is to believe, whatever the document says of its encoding."""
_ITEM_TAGS = frozenset(("item", "entry"))
_ID, _TITLE, _LINK, _SUMMARY, _CONTENT, _PUBLISHED, _UPDATED, _OTHER_ID, _OTHER_TITLE, _OTHER_SUMMARY = range(10)
_FIELDS = {
    "guid": _ID, "id": _ID, "title": _TITLE, "link": _LINK, "description": _SUMMARY, "summary": _SUMMARY,
    "encoded": _CONTENT, "content": _CONTENT, "body": _CONTENT, "fullitem": _CONTENT, "pubdate": _PUBLISHED,
    "published": _PUBLISHED, "issued": _PUBLISHED, "date": _PUBLISHED, "created": _PUBLISHED, "updated": _UPDATED,
    "modified": _UPDATED,
}  # fmt: skip
_DUBLIN_FIELDS = {
    "date": _PUBLISHED, "issued": _PUBLISHED, "created": _PUBLISHED, "modified": _UPDATED, "title": _OTHER_TITLE,
    "description": _OTHER_SUMMARY,
}  # fmt: skip
_OWN = frozenset(("http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#", "http://purl.org/rss/1.0/",
                  "http://purl.org/net/rss1.1#", "http://my.netscape.com/rdf/simple/0.9/",
                  "http://channel.netscape.com/rdf/simple/0.9/", "http://backend.userland.com/rss2",
                  "http://blogs.law.harvard.edu/tech/rss", "", "atom", "atom10", "a10", "rss"))  # fmt: skip
"""Namespaces of Atom and RSS, and prefixes they have where a broken document does not say what a prefix means."""
_DUBLIN = ("http://purl.org/dc/", "dc")
_ENCODED = frozenset(("{http://purl.org/rss/1.0/modules/content/}encoded", "content:encoded",
                      "{http://www.w3.org/1999/xhtml}body"))  # fmt: skip
_NEVER_IDS = ("http://search.yahoo.com/mrss", "http://www.itunes.com", "http://www.w3.org/1999/xhtml")
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_fields_of_item: dict[str, dict[Any, int | None]] = {}
_name_of_tag: dict[Any, str] = {}


def read_feed(body: bytes, url: str, now: float, switches: HintSwitches, patience: bool = True) -> Findings:
    """What an XML feed holds.

    Parameters
        body: UTF-8, starting with the document
        url: where it came from; relative links are resolved against it
        now: of the fetch, Unix seconds
        patience: whether slow readers may be used; if not, NeedsPatience
    """
    cut = False
    try:
        root, damage = decoding.tree(body, "feed")
        if damage:
            given = body
            body, cut = cutting.whole(given)
            root, damage = decoding.tree(body, "feed") if len(body) < len(given) else (root, damage)
    except UnreadableError:
        body, cut = cutting.whole(body)
        if b"<!ENTITY" in body or len(body) > LARGEST_FOR_FEEDPARSER or not _ITEM_IN_TEXT.search(body):
            raise
        return _by_feedparser(body, url, now, patience)
    found = _from_tree(root, url, now, switches, bool(damage), cut)
    tangled = damage == decoding.Damage.MISNESTED
    if tangled or (damage and len(_ITEM_IN_TEXT.findall(body)) > len(found.items)):
        return _fuller(found, body, url, now, patience, len(found.items) + (not tangled))
    return found


_ITEM_IN_TEXT = re.compile(rb"<(?:\w+:)?(?:item|entry)[\s>]", re.IGNORECASE)


def _fuller(found: Findings, body: bytes, url: str, now: float, patience: bool, least: int) -> Findings:
    """What feedparser finds in a feed that repair did not make whole, if it is that many items at least."""
    try:
        other = _by_feedparser(body, url, now, patience)
    except UnreadableError:
        return found
    return msgspec.structs.replace(found, items=other.items) if len(other.items) >= least else found


def _from_tree(root: Any, url: str, now: float, switches: HintSwitches, broken: bool, cut: bool) -> Findings:
    items: list[tuple[Any, str]] = []
    head: list[Any] = []
    where = _base(root, url)
    for child in root:
        name = _local(child.tag)
        if name == "channel":
            inner = _base(child, where)
            for grandchild in child:
                if _local(grandchild.tag) in _ITEM_TAGS:
                    items.append((grandchild, inner))
                else:
                    head.append(grandchild)
        elif name in _ITEM_TAGS:
            items.append((child, where))
        else:
            head.append(child)
    if cut and head and head[-1].getnext() is None:
        del head[-1]  # where it breaks off, if not in an item
    if not items:
        items = [(item, where) for item in root.iter("{*}item", "{*}entry")]
    remark = BROKEN if broken else ""
    if len(items) > MOST_ENTRIES:
        remark = f"cut off after {MOST_ENTRIES} of {len(items)} entries"
        del items[MOST_ENTRIES:]
    return Findings(
        kind="feed",
        title=_title(head),
        items=told_apart(_item(item, base, now) for item, base in items),
        hints=_hints(head, switches),
        remark=remark,
    )


def _base(element: Any, base: str) -> str:
    """What links in an element are relative to."""
    own = element.get(_XML_BASE)
    return base if own is None else urls.join(base, own) or base


def _item(element: Any, base: str, now: float) -> FoundItem:
    own: list[str | None] = [None] * 10
    content = link_of = id_of = None
    fields = _fields_of_item.get(element.tag)
    if fields is None:
        fields = _start_learning(element.tag)
    for child in element:
        try:
            field = fields[child.tag]
        except KeyError:
            field = _learn(fields, element.tag, child.tag)
        if field is None:
            continue
        if field == _LINK:
            better = _better_link(own[_LINK], child)
            if better is not own[_LINK]:
                own[_LINK], link_of = better, child
        elif own[field]:
            continue
        elif field == _ID:
            own[_ID], id_of = text_of(child), child
        elif field == _OTHER_ID:
            own[_OTHER_ID] = text_of(child) if own[_ID] is None else None
        elif field in _DATES:
            own[field] = text_of(child)
        elif field == _CONTENT:
            content = child if content is None else content
        else:
            own[field] = words_of(child)
    identity, link = own[_ID], own[_LINK]
    if identity is None:
        identity = element.get(_ABOUT)
    if not link and (id_of is None or id_of.get("isPermaLink", "").strip().lower() != "false"):
        link = address(identity)
    base = _base(element, base)
    return make_item(
        identity,
        own[_TITLE] or own[_OTHER_TITLE],
        link,
        own[_SUMMARY] or (None if content is None else words_of(content, binary=True)) or own[_OTHER_SUMMARY],
        own[_PUBLISHED] or own[_UPDATED],
        base if link_of is None else _base(link_of, base),
        now,
        own[_OTHER_ID],
    )


_DATES = frozenset((_PUBLISHED, _UPDATED))


def _start_learning(item: str) -> dict[Any, int | None]:
    fields: dict[Any, int | None] = {}
    if len(_fields_of_item) < 20:
        _fields_of_item[item] = fields
    return fields


def _learn(fields: dict[Any, int | None], item: str, tag: Any) -> int | None:
    """Which field of an item a tag is, remembered for the tags met so far; comments and others' namesakes are none."""
    field = None
    if isinstance(tag, str):
        space, name = _space(tag), _local(tag)
        if tag in _ENCODED:
            field = _CONTENT
        elif space.startswith(_DUBLIN):
            field = _DUBLIN_FIELDS.get(name)
        elif space in _OWN or space == _space(item):
            field = _FIELDS.get(name)
        elif name in ("id", "guid") and not space.startswith(_NEVER_IDS):
            field = _OTHER_ID
    if len(fields) < 1000:
        fields[tag] = field
    return field


def _space(tag: str) -> str:
    """A tag's namespace, or the prefix nobody explained."""
    return tag[1:].partition("}")[0] if tag[:1] == "{" else tag.rpartition(":")[0].lower()


def _local(tag: Any) -> str:
    """A tag's name without namespace or prefix, in lower case; remembered for the tags met so far."""
    name = _name_of_tag.get(tag)
    if name is None:
        name = tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(tag, str) else ""
        if len(_name_of_tag) < 1000:
            _name_of_tag[tag] = name
    return name


def _better_link(link: str | None, child: Any) -> str | None:
    """An item's own page: RSS writes it as text, Atom as `rel=alternate`; no other relation is it."""
    if child.get("rel", "alternate") == "alternate":
        href = child.get("href")
        if href is None:
            return link or (text_of(child) or "").strip() or None
        return str(href).strip() if link is None or child.get("type") in (None, "text/html") else link
    return link


def _title(head: list[Any]) -> str:
    """Of the feed: the first title that is its own."""
    for child in head:
        if _local(child.tag) == "title" and _space(child.tag) in (_OWN | {_space(child.getparent().tag)}):
            return clean(words_of(child) or "", TITLE_CHARACTERS)
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

    body, _ = cutting.whole(decoding.repaired(body[:LARGEST_FOR_FEEDPARSER]))
    if b"<!ENTITY" in body:
        raise UnreadableError("not a readable feed: malformed, with entities of its own")
    try:
        # A stream, because bare bytes could be taken for the name of a file.
        feed = feedparser.parse(BytesIO(body), sanitize_html=False, response_headers=_IN_UTF8)
        entries = feed.entries[:MOST_ENTRIES]
        title = str(feed.feed.get("title", ""))
    except Exception as error:  # a library of heuristics on strangers' text: whatever it raises, it could not read it
        raise UnreadableError(f"not a readable feed: {type(error).__name__}") from error
    if not entries and not feed.get("version"):
        raise UnreadableError("not a feed: neither RSS nor Atom nor anything like them")
    items = told_apart(_item_of_feedparser(dict(entry), url, now) for entry in entries)
    return Findings(kind="feed", title=clean(title, TITLE_CHARACTERS), items=items, remark=BROKEN)


def _item_of_feedparser(entry: dict[str, Any], url: str, now: float) -> FoundItem:
    """As a plain dictionary: feedparser's own would give `published` for `updated`, with a warning."""
    date = entry.get("published") or entry.get("created") or entry.get("updated")
    return make_item(entry.get("id"), entry.get("title"), _link_of(entry), entry.get("summary"), date, url, now)


def _link_of(entry: dict[str, Any]) -> str | None:
    """Of an entry of feedparser's, which takes any id for a link where there is no other."""
    link, identity, taken = entry.get("link"), entry.get("id"), entry.get("guidislink")
    if link and not (taken and link == identity):
        return str(link)
    return address(identity) if taken is not False else None
