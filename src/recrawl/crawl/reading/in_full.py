"""Of an item of a feed what only those ask for who read it here: its author, all it says, which rules it matches.

A walk of its own over the elements of an item, so that whoever does not ask pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import msgspec
from lxml import etree

from recrawl.config.item_rules import LONGEST_LOOK, ItemRule, matches
from recrawl.crawl.reading.content import MOST_READ, packed, paragraphs, sanitised, unpacked
from recrawl.crawl.reading.findings import FoundItem
from recrawl.crawl.reading.plain_text import clean

LONGEST_AUTHOR = 200
_FULL = ("encoded", "content", "body", "fullitem")
_SHORT = ("description", "summary")
_XHTML = "{http://www.w3.org/1999/xhtml}"


class Asked(msgspec.Struct, frozen=True):
    """What is asked for.

    Parameters
        content: all that items say
        rules: those that concern the source
    """

    content: bool = False
    rules: tuple[ItemRule, ...] = ()

    def __bool__(self) -> bool:
        return self.content or bool(self.rules)

    @property
    def takes_patience(self) -> bool:
        """Whether there is a regular expression among the rules."""
        return any(rule.is_pattern for rule in self.rules)


NOTHING = Asked()


def of_element(item: FoundItem, element: Any, base: str, asked: Asked) -> FoundItem:
    """An item of an XML feed with what its element says of author and content."""
    author, html, short = "", None, None
    for child in element:
        name = child.tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(child.tag, str) else ""
        if name in ("author", "creator") and not author:
            inner = next((each for each in child if etree.QName(each).localname == "name"), None)
            author = (child if inner is None else inner).text or ""
        elif not asked.content:
            continue
        elif name in _FULL and html is None and "search.yahoo.com" not in child.tag:
            html = _markup(child)
        elif name in _SHORT and short is None:
            short = _markup(child)
    return with_words(item, author, html or short or "", base)


def with_words(item: FoundItem, author: str, html: str, base: str) -> FoundItem:
    """An item with its author and what it says in full, made fit to be kept."""
    author = clean(author, LONGEST_AUTHOR) if author else ""
    content = packed(sanitised(html, item.link or base)) if html else b""
    return msgspec.structs.replace(item, author=author, content=content) if author or content else item


def judged(items: Sequence[FoundItem], asked: Asked) -> tuple[FoundItem, ...]:
    """Items with the numbers of the rules they match."""
    found = []
    for item in items:
        words = content_words(item.summary, item.content) if asked.rules else ""
        hit = tuple(rule.id for rule in asked.rules if matches(rule, item.title, words, item.author, item.link))
        found.append(msgspec.structs.replace(item, matched=hit) if hit else item)
    return tuple(found)


def content_words(summary: str, content: bytes) -> str:
    """What rules see of what an item says: all that is kept of it, else its beginning."""
    return clean(unpacked(content), LONGEST_LOOK) if content else summary


def _markup(element: Any) -> str:
    """As HTML, however it was put there: escaped, as children (Atom's xhtml), or as plain text."""
    kind = (element.get("type") or "").lower()
    if len(element):
        return "".join([escape(element.text or ""), *_children(element)])[:MOST_READ]
    text: str = element.text or ""
    return paragraphs(text[:MOST_READ]) if kind == "text" else text[:MOST_READ]


def _children(element: Any) -> Iterable[str]:
    size = 0
    for child in element:
        if not isinstance(child.tag, str):
            continue
        part = etree.tostring(child, encoding="unicode", method="html").replace("html:", "")
        size += len(part)
        yield part
        if size > MOST_READ:
            return
