"""The main text of a page: what a reader came for, in lines.

That is the text without navigation, page headers and footers, asides and forms, and without what is hidden; headers,
footers and asides *inside* an article belong to it. Block elements become lines.

Sometimes next to nothing is left: whole pages are wrapped in a form, or follow a header that was never closed. Then the
container that holds most of the text is read like the rest, and if that does not help, all text counts. Where scripts
make the page, what it says to those who have none counts, or what it tells search engines about itself. A remark says
so: a page that seems never to change is worse than one that changes too often.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec
from lxml import etree

from recrawl.crawl.text import clean, visible

SLIVER, SHORT = 20, 500
"""Next to nothing is less than one part in 20 of a page's text, and less than 500 characters."""
LONG_DATA = 200
"""Characters from which a text among the data of a page is part of what it says."""
MOST_DATA = 1_000_000
"""Characters of such data that are looked at."""
_UNREAD = frozenset(("script", "style", "template", "head", "select", "textarea", "iframe"))
_UNPICKED = frozenset(("script", "style", "template", "head", "noscript"))
_LISTS = frozenset(("nav", "menu", "footer"))
_CONTAINERS = frozenset(("nav", "menu", "form", "noscript", "button", "object", "svg", "canvas", "dialog"))
_OUTSIDE = frozenset(("header", "footer", "aside"))
_ARTICLES = frozenset(("article", "main"))
_LIST_ROLES = frozenset(("navigation", "contentinfo"))
_CONTAINER_ROLES = _LIST_ROLES | {"banner", "search", "complementary", "dialog"}
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li",
    "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
))  # fmt: skip
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_DATA_KEYS = ("description", "articleBody", "text")


def main_text(root: Any) -> tuple[list[str], str]:
    """The lines of a tree's main text, and what its owner should know about them, or nothing."""
    look = _Look(root)
    lines, containers, remark = look.lines(), look.containers, ""
    sliver = look.is_more_than(lines)
    heaviest = [element for element, held in containers if 2 * held > look.counted and _may_be_main(element, sliver)]
    if heaviest:
        lines = _Look(root, heaviest).lines()
        remark = f"most of its text stands in a <{heaviest[-1].tag}>, which is read as its main text"
    if sliver and look.is_more_than(lines):
        lines = _Look(root, [element for element, _ in containers]).lines()
        remark = "its main text cannot be told from the rest, so all of its text is compared"
    told = _told_to_search_engines(root, 4 * sum(map(len, lines)))
    if told:
        return lines + told, "it has next to no text of its own, so what it tells search engines is compared too"
    return lines, remark if lines else "there is no text on the page, so no change of it can be seen"


def picked_text(element: Any) -> list[str]:
    """The lines of an element that was asked for: all that can be seen of it."""
    return _Look(element, picked=True).lines()


class _Look:
    """One walk over a tree, without recursion, whatever its depth.

    Parameters
        kept: containers that are read like the rest
        picked: whether the tree was asked for by a selector; then headers, forms and the like belong to it
    """

    def __init__(self, root: Any, kept: Collection[Any] = (), picked: bool = False) -> None:
        self._pieces: list[str] = []
        self._kept, self._picked = frozenset(kept), picked
        self.counted = 0
        """Characters of all text, that of containers included."""
        self.containers: list[tuple[Any, int]] = []
        """What was left out, and how many characters it holds; inner ones before outer ones."""
        self._walk(root)

    def lines(self) -> list[str]:
        """What was read."""
        return joined(self._pieces)

    def is_more_than(self, lines: list[str]) -> bool:
        """Whether these lines are next to nothing of it."""
        size = sum(map(len, lines))
        return size < SHORT and size * SLIVER < self.counted

    def _walk(self, root: Any) -> None:
        walk = etree.iterwalk(root, events=("start", "end"))
        left_out: list[tuple[Any, int]] = []
        unread, articles = None, 0
        for event, element in walk:
            tag = element.tag
            if event == "start":
                if element is not root:
                    if self._is_unread(tag):
                        walk.skip_subtree()
                        unread = element
                        continue
                    if self._is_container(element, tag, articles > 0) and element not in self._kept:
                        left_out.append((element, self.counted))
                if not left_out:
                    articles += tag in _ARTICLES
                    if tag in _BLOCKS:
                        self._pieces.append("\n")
                if element.text:
                    self._take(element.text, not left_out)
                continue
            if unread is element:
                unread = None
            elif left_out and left_out[-1][0] is element:
                self.containers.append((element, self.counted - left_out.pop()[1]))
            elif not left_out:
                articles -= tag in _ARTICLES
                if tag in _BLOCKS:
                    self._pieces.append("\n")
            if element.tail and element is not root:
                self._take(element.tail, not left_out)

    def _take(self, text: str, counts: bool) -> None:
        self.counted += len(text.strip())
        if counts:
            self._pieces.append(text)

    def _is_unread(self, tag: Any) -> bool:
        return not isinstance(tag, str) or tag in (_UNPICKED if self._picked else _UNREAD)

    def _is_container(self, element: Any, tag: str, inside_article: bool) -> bool:
        if not self._picked and (tag in _CONTAINERS or (tag in _OUTSIDE and not inside_article)):
            return True
        if not element.attrib:
            return False
        role = element.get("role")
        if role is not None and not self._picked and role.lower() in _CONTAINER_ROLES and not inside_article:
            return True
        style = element.get("style")
        return (
            element.get("hidden") is not None
            or element.get("aria-hidden") == "true"
            or (style is not None and _HIDDEN_STYLE.search(style) is not None)
        )


def joined(pieces: Iterable[str]) -> list[str]:
    """Lines from pieces: a piece that is a line break ends one, white space within a line is one space."""
    lines: list[str] = []
    line: list[str] = []
    for piece in (*pieces, "\n"):
        if piece != "\n":
            line.append(piece)
        elif line:
            text = " ".join(visible("".join(line)).split())
            if text:
                lines.append(text)
            line = []
    return lines


def _may_be_main(element: Any, sliver: bool) -> bool:
    """Of a container with most of the text: lists of links never; others only if nothing else is."""
    if element.tag in _LISTS or (element.get("role") or "").lower() in _LIST_ROLES:
        return False
    return sliver or element.tag == "noscript"


def _told_to_search_engines(root: Any, least: int) -> list[str]:
    """Long texts among a page's data for search engines (JSON-LD), if they are at least so long together."""
    found: dict[str, None] = {}
    for script in root.iter("script"):
        data = script.text
        if script.get("type") != "application/ld+json" or not data or not least < len(data) <= MOST_DATA:
            continue
        try:
            found.update(dict.fromkeys(_long_texts(msgspec.json.decode(data))))
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            continue
    return list(found) if sum(map(len, found)) > max(least, LONG_DATA) else []


def _long_texts(document: Any) -> Iterator[str]:
    ahead = [document]
    while ahead:
        value = ahead.pop()
        if isinstance(value, list):
            ahead.extend(reversed(value))
        elif isinstance(value, dict):
            ahead.extend(inner for inner in reversed(value.values()) if isinstance(inner, (dict, list)))
            for key in _DATA_KEYS:
                text = value.get(key)
                if isinstance(text, str) and len(text) >= LONG_DATA:
                    yield clean(text, MOST_DATA)
