"""RSS 0.9 to 2.0, RDF and Atom, one walk over a hardened tree.

Well-formed feeds are read by `lxml` directly: five fields per item need no more, the publisher's hints are met on the
way, and the dates are the publisher's own. Broken ones are repaired; those that then yield fewer items than they name,
or whose elements end in the wrong order, so that a title may have swallowed the rest, are given to feedparser, which
reads almost anything but is thirty times slower; only where there is time for it (`work_limit.slow_work`).
An entry in which a document breaks off is left out. Which item is which: `reading.items`.

An item's own elements are those of its own namespace, of Atom and of RSS: `media:title` is a picture's, `g:id` that of
a shop. Dublin Core's title and description stand in where there is none. An id that is an address is the link for want
of one.

When it was published: `pubDate`, `published`, `issued`, `dc:date`, `created`. An entry that has only `updated` is dated
by it: an edit then moves the date, but never makes the item new. A date after the fetch counts as the fetch's.
"""

from __future__ import annotations

import binascii
import codecs
import math
import re
from collections.abc import Iterable, Iterator
from html import unescape
from io import BytesIO
from itertools import islice
from typing import Any

import msgspec
from lxml import etree

from recrawl.config import HintSwitches
from recrawl.crawl import urls
from recrawl.crawl.reading import decoding, hub_links, publisher_hints
from recrawl.crawl.reading.findings import Findings, FoundItem, UnreadableError
from recrawl.crawl.reading.in_full import NOTHING, Asked, of_element, with_words
from recrawl.crawl.reading.items import address, make_item, told_apart
from recrawl.crawl.reading.plain_text import INLINE, TITLE_CHARACTERS, clean
from recrawl.crawl.work_limit import slow_work

MOST_ENTRIES = 100_000
LARGEST_FOR_FEEDPARSER = 1_000_000
"""Bytes; a broken feed beyond this is read as far as repair goes."""
MOST_CHARACTERS, MOST_PIECES = 20_000, 5_000
"""Of one element's text."""

BROKEN = "the feed is malformed; what could be read was read"

_UNSEEN = frozenset(("script", "style", "template", "noscript", "head"))
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


def read_feed(body: bytes, url: str, now: float, switches: HintSwitches, asked: Asked = NOTHING) -> Findings:
    """What an XML feed holds.

    Parameters
        body: UTF-8, starting with the document
        url: where it came from; relative links are resolved against it
        now: of the fetch, Unix seconds
        asked: what is wanted of its items besides
    """
    cut = False
    try:
        root, damage = decoding.tree(body, "feed")
        if damage:
            given = body
            body, cut = decoding.whole_entries(given)
            root, damage = decoding.tree(body, "feed") if len(body) < len(given) else (root, damage)
    except UnreadableError:
        body, cut = decoding.whole_entries(body)
        if b"<!ENTITY" in body or len(body) > LARGEST_FOR_FEEDPARSER or not _ITEM_IN_TEXT.search(body):
            raise
        return _by_feedparser(body, url, now, asked)
    found = _from_tree(root, url, now, switches, (bool(damage), cut), asked, b"base" in body)
    tangled = damage == decoding.Damage.MISNESTED
    if tangled or (damage and len(_ITEM_IN_TEXT.findall(body)) > len(found.items)):
        return _fuller(found, len(found.items) + (not tangled), body, url, now, asked)
    return found


_ITEM_IN_TEXT = re.compile(rb"<(?:\w+:)?(?:item|entry)[\s>]", re.IGNORECASE)


def _fuller(found: Findings, least: int, body: bytes, url: str, now: float, asked: Asked) -> Findings:
    """What feedparser finds in a feed that repair did not make whole, if it is that many items at least."""
    try:
        other = _by_feedparser(body, url, now, asked)
    except UnreadableError:
        return found
    return msgspec.structs.replace(found, items=other.items) if len(other.items) >= least else found


def _from_tree(
    root: Any, url: str, now: float, switches: HintSwitches, harm: tuple[bool, bool], asked: Asked, based: bool
) -> Findings:
    """What a whole tree holds.

    Parameters
        harm: whether it was repaired, and whether it was cut
        based: whether `xml:base` may stand in it: most documents have none, and asking each element takes long
    """
    broken, cut = harm
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
        items=told_apart(_items(items, now, asked, based)),
        remark=remark,
        **publisher_hints.of_feed([(_local(child.tag), child) for child in head], switches),
        **hub_links.of_links((child for child in head if _local(child.tag) == "link"), where)._asdict(),
    )


def _items(elements: list[tuple[Any, str]], now: float, asked: Asked, based: bool) -> Iterable[FoundItem]:
    if not asked:
        return [_item(element, base, now, based) for element, base in elements]
    return (
        of_element(_item(element, base, now, based), element, _base(element, base), asked) for element, base in elements
    )


def _base(element: Any, base: str) -> str:
    """What links in an element are relative to."""
    own = element.get(_XML_BASE)
    return base if own is None else urls.join(base, own) or base


def _item(element: Any, base: str, now: float, based: bool) -> FoundItem:
    own: list[str | None] = [None] * 10
    content = link_of = id_of = None
    item = element.tag
    fields = _fields_of_item.get(item)
    if fields is None:
        fields = _start_learning(item)
    for child in element:
        tag = child.tag
        field = fields.get(tag, _UNKNOWN)
        if field == _UNKNOWN:
            field = _learn(fields, item, tag)
        if field is None:
            continue
        if field == _LINK:
            better = _better_link(own[_LINK], child)
            if better is not own[_LINK]:
                own[_LINK], link_of = better, child
        elif own[field]:
            continue
        elif field in _WORDS:
            own[field] = words_of(child) if len(child) or child.keys() else child.text
        elif field == _CONTENT:
            content = child if content is None else content
        elif field != _OTHER_ID or own[_ID] is None:
            own[field] = text_of(child) if len(child) else child.text
            id_of = child if field == _ID else id_of
    identity, link = own[_ID], own[_LINK]
    if identity is None:
        identity = element.get(_ABOUT)
    if not link and (id_of is None or id_of.get("isPermaLink", "").strip().lower() != "false"):
        link = address(identity)
    if based:
        base = _base(element, base)
        base = base if link_of is None else _base(link_of, base)
    return make_item(
        identity,
        own[_TITLE] or own[_OTHER_TITLE],
        link,
        own[_SUMMARY] or (None if content is None else words_of(content, binary=True)) or own[_OTHER_SUMMARY],
        own[_PUBLISHED] or own[_UPDATED],
        base,
        now,
        own[_OTHER_ID],
        own[_UPDATED],
    )


_UNKNOWN = -1
_WORDS = frozenset((_TITLE, _SUMMARY, _OTHER_TITLE, _OTHER_SUMMARY))


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
    if not child.keys():
        return link or (text_of(child) or "").strip() or None
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


def _by_feedparser(body: bytes, url: str, now: float, asked: Asked) -> Findings:
    """What the most forgiving reader makes of it; its own dates are not used, the publisher's words are."""
    slow_work(math.inf)
    import feedparser

    body, _ = decoding.whole_entries(decoding.repaired(body[:LARGEST_FOR_FEEDPARSER]))
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
    items = told_apart(_item_of_feedparser(dict(entry), url, now, asked) for entry in entries)
    return Findings(kind="feed", title=clean(title, TITLE_CHARACTERS), items=items, remark=BROKEN)


def _item_of_feedparser(entry: dict[str, Any], url: str, now: float, asked: Asked) -> FoundItem:
    """As a plain dictionary: feedparser's own would give `published` for `updated`, with a warning."""
    date = entry.get("published") or entry.get("created") or entry.get("updated")
    title, summary, updated = entry.get("title"), entry.get("summary"), entry.get("updated")
    item = make_item(entry.get("id"), title, _link_of(entry), summary, date, url, now, updated=updated)
    if not asked:
        return item
    full = next((each.get("value") for each in entry.get("content", ())), None) or summary or ""
    return with_words(item, str(entry.get("author", "")), str(full) if asked.content else "", url)


def _link_of(entry: dict[str, Any]) -> str | None:
    """Of an entry of feedparser's, which takes any id for a link where there is no other."""
    link, identity, taken = entry.get("link"), entry.get("id"), entry.get("guidislink")
    if link and not (taken and link == identity):
        return str(link)
    return address(identity) if taken is not False else None


# -- the text of an element, however its publisher put it there: as text, markup, references or base64


def text_of(element: Any) -> str | None:
    """Its text, that of its children included (Atom's xhtml); never the whole of a giant.

    Markup within a line leaves no space (`H<sub>2</sub>O` is H2O), any other does. References to characters that a
    document type elsewhere would define (`&eacute;`) are what HTML says they are.
    """
    if len(element) == 0:
        return element.text
    parts, size = [], 0
    for part in islice(_pieces(element), MOST_PIECES):
        parts.append(part)
        size += len(part)
        if size > MOST_CHARACTERS:
            break
    return "".join(parts)


def words_of(element: Any, binary: bool = False) -> str | None:
    """Text for people: as `text_of`, unpacked where it is base64, as Atom says of all types that are no text.

    Parameters
        binary: it may be anything (Atom's content): what does not unpack to text is none
    """
    kind, text = element.get("type"), text_of(element) if len(element) else element.text
    if kind is None and element.get("mode") is None:
        return text
    typed = kind is not None and "/" in kind and not kind.startswith("text/") and not kind.endswith("xml")
    if not text or not (typed or element.get("mode") == "base64"):
        return text
    return _unpacked(text) or (None if binary else text)


def _pieces(element: Any) -> Iterator[str]:
    if element.text:
        yield element.text
    for child in element:
        if child.tag is etree.Entity:
            yield unescape(child.text)
        elif isinstance(child.tag, str):
            name = child.tag.rpartition("}")[2].rpartition(":")[2].lower()  # a prefix nobody declared stays in the name
            space = "" if name in INLINE else " "
            yield space
            if name not in _UNSEEN:
                yield from _pieces(child)
            yield space
        if child.tail:
            yield child.tail


def _unpacked(text: str) -> str | None:
    packed = "".join(text[:MOST_CHARACTERS].split())
    try:
        whole = binascii.a2b_base64(packed[: len(packed) // 4 * 4])
        return codecs.getincrementaldecoder("utf-8")().decode(whole)  # its last character may be cut
    except ValueError:
        return None
