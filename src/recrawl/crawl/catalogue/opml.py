"""OPML, the list of subscriptions feed readers exchange: folders become tags and tags become folders.

Nested folders are all tags, outermost first, and so are the names in an outline's `category`. A source with several
tags goes into nested folders in their order, so that a catalogue written and read again is the same one. Addresses are
handed on as written: whoever takes them in normalises them and can say which line was wrong. Outlines that are neither
folder nor subscription are counted only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from lxml import etree

from recrawl.crawl.reading import decoding
from recrawl.crawl.reading.findings import UnreadableError
from recrawl.crawl.reading.plain_text import TITLE_CHARACTERS, clean, visible
from recrawl.store.records import Source

MOST_TAGS = 20
TAG_CHARACTERS = 100
LONGEST_CATEGORY = 2000
"""Characters of a `category` that are looked at."""
FROM_END = 10_000
"""Bytes before the end of a list in which it is closed; some programs write a remark after it."""
_END = re.compile(rb"</(?:[\w.-]{1,50}:)?opml\s{0,50}>", re.IGNORECASE)
_KINDS = {"feed": "rss", "auto": "rss"}


class OpmlEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One subscription: its address as written, its title, the folders it was in, and the line it stood on."""

    url: str
    title: str = ""
    tags: tuple[str, ...] = ()
    line: int = 0


class Outlines(list[OpmlEntry]):
    """The subscriptions of a list, in its order.

    Parameters
        skipped: outlines that were neither subscription nor folder
        broken: whether the list was malformed, and only what could be read was read
        cut: whether its end is missing
    """

    skipped: int = 0
    broken: bool = False
    cut: bool = False


def read_opml(body: bytes) -> Outlines:
    """The subscriptions in a list; UnreadableError for what is no OPML, or declares entities of its own."""
    text = decoding.utf8(body)
    name, start = decoding.document_start(text)
    if name != "opml":
        raise UnreadableError("not an OPML list: " + (f"its root element is <{name[:50]}>" if name else "no XML"))
    root, damage = decoding.tree(text[start:], "OPML list")
    found = Outlines()
    found.broken = bool(damage)
    found.cut = found.broken and not _END.search(text, max(len(text) - FROM_END, 0))
    ahead: list[tuple[Any, tuple[str, ...]]] = [(root, ())]
    while ahead:
        element, tags = ahead.pop()
        inside = _folder_tags(element, tags)
        if element.tag == "outline":
            _take(element, tags, found)
        ahead.extend((child, inside) for child in reversed(element) if isinstance(child.tag, str))
    return found


def write_opml(sources: Iterable[Source], title: str = "recrawl") -> bytes:
    """A list of the sources, one folder per tag, for feed readers and for `read_opml`."""
    root = etree.Element("opml", version="2.0")
    etree.SubElement(etree.SubElement(root, "head"), "title").text = clean(title, TITLE_CHARACTERS)
    folders: dict[tuple[str, ...], Any] = {(): etree.SubElement(root, "body")}
    for source in sources:
        folder = _folder(folders, tuple(clean(tag, TAG_CHARACTERS) for tag in source.tags))
        url = visible(source.url)  # XML has no place for what is left out: a key of a scheduler is any text
        name = clean(source.title, TITLE_CHARACTERS) or url
        kind = _KINDS.get(source.kind, source.kind)
        etree.SubElement(folder, "outline", type=kind, text=name, title=name, xmlUrl=url)
    return bytes(etree.tostring(root, xml_declaration=True, encoding="utf-8", pretty_print=True))


def _take(element: Any, tags: tuple[str, ...], found: Outlines) -> None:
    address = _attribute(element, "xmlurl")
    if address:
        title = _attribute(element, "title") or _attribute(element, "text")
        title = "" if title == address else clean(title, TITLE_CHARACTERS)
        tags = _with_categories(tags, _attribute(element, "category"))
        found.append(OpmlEntry(url=address, title=title, tags=tags, line=element.sourceline or 0))
    elif len(element) == 0:
        found.skipped += 1


def _folder_tags(element: Any, tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags of what is inside an element: one more in a folder that has a name."""
    if element.tag != "outline" or _attribute(element, "xmlurl"):
        return tags
    name = clean(_attribute(element, "text") or _attribute(element, "title"), TAG_CHARACTERS)
    return tags if not name or name in tags or len(tags) >= MOST_TAGS else (*tags, name)


def _with_categories(tags: tuple[str, ...], written: str) -> tuple[str, ...]:
    """The tags and those of `category`: names between commas, folders within folders between slashes.

    >>> _with_categories(("news",), "uk, /news/sports")
    ('news', 'uk', 'sports')
    """
    names = (clean(name, TAG_CHARACTERS) for name in written[:LONGEST_CATEGORY].replace("/", ",").split(","))
    return tuple(dict.fromkeys((*tags, *filter(None, names))))[:MOST_TAGS]


def _attribute(element: Any, name: str) -> str:
    """By its name in any case, as programs differ; stripped."""
    return next((str(value).strip() for key, value in element.attrib.items() if key.lower() == name), "")


def _folder(folders: dict[tuple[str, ...], Any], tags: tuple[str, ...]) -> Any:
    if tags not in folders:
        parent = _folder(folders, tags[:-1])
        folders[tags] = etree.SubElement(parent, "outline", text=tags[-1], title=tags[-1])
    return folders[tags]
