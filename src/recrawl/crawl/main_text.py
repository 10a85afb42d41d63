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
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
_FIRM = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "td", "th", "caption"))
BREAK, FIRM_BREAK = "\n", "\f"
"""Pieces that end a line, and begin one; the second kind begins one in a heading or a table."""
LEFT_OUT, LEFT_OUT_END = "\ue000", "\ue001"
"""Where marks are wanted, what is left out stands between these, its reason before a `MARK`."""
MARK = "\ue002"
_UNMARKED = str.maketrans("", "", LEFT_OUT + LEFT_OUT_END + MARK)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_DATA_KEYS = ("description", "articleBody", "text")


@dataclass(slots=True)
class Text:
    """Lines, and which of them stand in headings and tables."""

    lines: list[str] = field(default_factory=list)
    firm: set[int] = field(default_factory=set)

    def add(self, other: Text) -> None:
        """Go on with other lines."""
        self.firm.update(len(self.lines) + number for number in other.firm)
        self.lines += other.lines


def main_text(root: Any, ignored: Mapping[Any, str] | None = None, marked: bool = False) -> tuple[Text, str]:
    """A tree's main text, and what its owner should know about it, or nothing.

    Parameters
        ignored: elements that do not count, and why
        marked: whether what is left out is in it too, between marks
    """
    dropped = ignored or {}
    look = _Look(root, ignored=dropped)
    text, containers, remark = look.text(), look.containers, ""
    sliver = look.is_more_than(text.lines)
    heaviest = [element for element, held in containers if 2 * held > look.counted and _may_be_main(element, sliver)]
    kept: list[Any] = []
    if heaviest:
        kept = heaviest
        text = _Look(root, kept, ignored=dropped).text()
        remark = f"most of its text stands in a <{heaviest[-1].tag}>, which is read as its main text"
    if sliver and look.is_more_than(text.lines):
        kept = [element for element, _ in containers]
        text = _Look(root, kept, ignored=dropped).text()
        remark = "its main text cannot be told from the rest, so all of its text is compared"
    told = _told_to_search_engines(root, 4 * sum(map(len, text.lines)))
    if told:
        remark = "it has next to no text of its own, so what it tells search engines is compared too"
    elif not text.lines:
        remark = "there is no text on the page, so no change of it can be seen"
    if marked:
        text = _Look(root, kept, ignored=dropped, marked=True).text()
    text.add(Text(told))
    return text, remark


def picked_text(element: Any, ignored: Mapping[Any, str] | None = None, marked: bool = False) -> Text:
    """The lines of an element that was asked for: all that can be seen of it."""
    return _Look(element, picked=True, ignored=ignored or {}, marked=marked).text()


class _Look:
    """One walk over a tree, without recursion, whatever its depth.

    Parameters
        kept: containers that are read like the rest
        picked: whether the tree was asked for by a selector; then headers, forms and the like belong to it
        ignored: elements that do not count, and why
        marked: whether what is left out is read too, between marks
    """

    def __init__(
        self,
        root: Any,
        kept: Collection[Any] = (),
        picked: bool = False,
        ignored: Mapping[Any, str] | None = None,
        marked: bool = False,
    ) -> None:
        self._pieces: list[str] = []
        self._kept, self._picked = frozenset(kept), picked
        self._ignored, self._marked = ignored or {}, marked
        self._firm = 0
        self.counted = 0
        """Characters of all text, that of containers included."""
        self.containers: list[tuple[Any, int]] = []
        """What was left out, and how many characters it holds; inner ones before outer ones."""
        self._walk(root)

    def text(self) -> Text:
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
                    if self._is_unread(element, tag):
                        walk.skip_subtree()
                        unread = element
                        continue
                    why = self._why_left_out(element, tag, articles > 0)
                    if why and element not in self._kept:
                        left_out.append((element, self.counted))
                        self._mark_start(tag, why)
                articles += not left_out and tag in _ARTICLES
                self._enter(tag, not left_out)
                if element.text:
                    self._take(element.text, not left_out)
                continue
            if unread is element:
                unread = None
            elif left_out and left_out[-1][0] is element:
                self._leave(tag, False)
                self._mark_end(tag)
                self.containers.append((element, self.counted - left_out.pop()[1]))
            else:
                articles -= not left_out and tag in _ARTICLES
                self._leave(tag, not left_out)
            if element.tail and element is not root:
                self._take(element.tail, not left_out)

    def _enter(self, tag: str, counts: bool) -> None:
        self._firm += tag in _FIRM
        self._break(tag in _BLOCKS and (counts or self._marked))

    def _leave(self, tag: str, counts: bool) -> None:
        self._firm -= tag in _FIRM
        self._break(tag in _BLOCKS and (counts or self._marked))

    def _break(self, needed: bool = True) -> None:
        if needed:
            self._pieces.append(FIRM_BREAK if self._firm else BREAK)

    def _take(self, text: str, counts: bool) -> None:
        self.counted += len(text.strip())
        if not counts and not self._marked:
            return
        if text == BREAK:
            self._break()
        else:
            self._pieces.append(text.translate(_UNMARKED) if self._marked else text)

    def _mark_start(self, tag: str, why: str) -> None:
        if self._marked:
            self._break(tag in _BLOCKS or tag in _CONTAINERS)
            self._pieces.append(f"{LEFT_OUT}{why.translate(_UNMARKED)}{MARK}")

    def _mark_end(self, tag: str) -> None:
        if self._marked:
            self._pieces.append(LEFT_OUT_END)
            self._break(tag in _BLOCKS or tag in _CONTAINERS)

    def _is_unread(self, element: Any, tag: Any) -> bool:
        if not isinstance(tag, str) or tag in (_UNPICKED if self._picked else _UNREAD):
            return True
        return bool(self._ignored) and not self._marked and element in self._ignored

    def _why_left_out(self, element: Any, tag: str, inside_article: bool) -> str:
        """The reason in a word or two; empty if it counts."""
        if self._ignored and element in self._ignored:
            return self._ignored[element]
        if not self._picked and (tag in _CONTAINERS or (tag in _OUTSIDE and not inside_article)):
            return f"<{tag}>"
        if not element.attrib:
            return ""
        role = element.get("role")
        if role is not None and not self._picked and role.lower() in _CONTAINER_ROLES and not inside_article:
            return f"role {role.lower()}"
        style = element.get("style")
        hidden = (
            element.get("hidden") is not None
            or element.get("aria-hidden") == "true"
            or (style is not None and _HIDDEN_STYLE.search(style) is not None)
        )
        return "hidden" if hidden else ""


def joined(pieces: Iterable[str]) -> Text:
    """Lines from pieces: a piece that is a line break ends one, white space within a line is one space."""
    text = Text()
    line: list[str] = []
    firm = False
    for piece in (*pieces, BREAK):
        if piece not in (BREAK, FIRM_BREAK):
            line.append(piece)
            continue
        if line:
            shown = " ".join(visible("".join(line)).split())
            if shown:
                if firm:
                    text.firm.add(len(text.lines))
                text.lines.append(shown)
            line = []
        firm = piece == FIRM_BREAK
    return text


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
