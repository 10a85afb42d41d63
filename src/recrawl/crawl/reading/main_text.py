"""The main text of a page: what a reader came for, in lines.

That is the text without navigation, page headers and footers, asides and forms, and without what is hidden; all but
navigation belong to an article if they stand *inside* it. What holds the page's main element, and a form that holds
articles, is never left out. Blocks that are called menu, footer, related … are left out if they hold no article, less
than half of the page, and mostly links. Block elements become lines.

Sometimes next to nothing is left: whole pages are wrapped in a form, or follow a header that was never closed. Then the
container that holds most of the text is read like the rest, and if that does not help, all text counts. Where scripts
make the page, what it says to those who have none counts, or what it tells search engines about itself. A remark says
so: a page that seems never to change is worse than one that changes too often.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec
from lxml import etree

from recrawl.crawl.reading.plain_text import clean, visible

SLIVER, SHORT = 20, 500
"""Next to nothing is less than one part in 20 of a page's text, and less than 500 characters."""
LONG_DATA = 200
"""Characters from which a text among the data of a page is part of what it says."""
MOST_DATA = 1_000_000
"""Characters of such data that are looked at."""
_UNREAD = frozenset(("script", "style", "template", "head", "select", "textarea", "iframe"))
_UNPICKED = frozenset(("script", "style", "template", "head", "noscript"))
_LISTS = frozenset(("nav", "menu", "footer"))
_CONTAINERS = frozenset(("nav", "menu", "noscript", "button", "object", "svg", "canvas", "dialog"))
_OUTSIDE = frozenset(("form", "header", "footer", "aside"))
_ARTICLES = frozenset(("article", "main"))
LONGEST_NAME = 500
"""Characters of a class or id that are looked at."""
_WHOLE = _ARTICLES | {"html", "body"}
_LINKING = re.compile(
    r"(?:(?<![A-Za-z])|(?=[A-Z]))(?:(?:[Ss]ub|[Mm]ega)?[Mm]enu|[Nn]av(?:igation|bar)?|[Dd]ropdown|[Ff]ooter|[Bb]readcrumbs?"
    r"|[Pp]agination|[Pp]ager|[Ss]ocial|[Ss]har(?:e|ing)|[Ss]idebar|[Rr]elated)(?![a-z])"
)
"""A word in the class or id of blocks that usually lead elsewhere."""
_STREAMED = re.compile(r"S:[0-9a-f]+")
"""The id of what React sends hidden and shows as soon as it is there."""
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
    """Lines, and which of them stand in headings and tables, and which always count."""

    lines: list[str] = field(default_factory=list)
    firm: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)

    def add(self, other: Text) -> None:
        """Go on with other lines."""
        self.firm.update(len(self.lines) + number for number in other.firm)
        self.kept.update(len(self.lines) + number for number in other.kept)
        self.lines += other.lines


def main_text(root: Any, ignored: Mapping[Any, str] | None = None, marked: bool = False) -> tuple[Text, str]:
    """A tree's main text, and what its owner should know about it, or nothing.

    Parameters
        ignored: elements that do not count, and why
        marked: whether what is left out is in it too, between marks
    """
    dropped = ignored or {}
    look = _Look(root, ignored=dropped)
    kept: Collection[Any] = look.around_main
    if kept:
        look = _Look(root, kept, ignored=dropped)
    text, containers, remark = look.text(), look.containers, ""
    sliver = look.is_more_than(text.lines)
    lists = [each for each in containers if _is_list(each[0])]
    heaviest = [element for element, held in containers if 2 * held > look.counted and _may_be_main(element, sliver)]
    if heaviest:
        kept = [*kept, *heaviest]
        text = _Look(root, kept, ignored=dropped).text()
        remark = f"most of its text stands in a <{heaviest[-1].tag}>, which is read as its main text"
    if sliver and (look.is_more_than(text.lines) or any(2 * held > look.counted for _, held in lists)):
        kept = [*kept, *(element for element, _ in containers)]
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


@dataclass(slots=True)
class _Named:
    """A block whose name says that it leads elsewhere: its pieces, and what had been counted before it."""

    element: Any
    start: int
    counted: int
    linked: int
    held: int = 0
    end: int = 0


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
        self._firm = self._links = self._linked = 0
        self.counted = 0
        """Characters of all text, that of containers included."""
        self.containers: list[tuple[Any, int]] = []
        """What was left out, and how many characters it holds; inner ones before outer ones."""
        self.around_main: set[Any] = set()
        """What was left out, though it holds the main element of the page."""
        self._named: list[_Named] = []
        self._walk(root)
        self._leave_out_named()

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
        named: list[_Named] = []
        articles: list[Any] = []
        unread = None
        for event, element in walk:
            tag = element.tag
            if event == "start":
                if element is not root:
                    if self._is_unread(element, tag):
                        walk.skip_subtree()
                        unread = element
                        continue
                    why = self._why_left_out(element, tag, bool(articles))
                    if why and element not in self._kept:
                        left_out.append((element, self.counted))
                        self._mark_start(tag, why)
                    elif not left_out and self._is_named(element, tag):
                        named.append(_Named(element, len(self._pieces), self.counted, self._linked))
                        self._pieces.append("")
                if left_out:
                    self._note_main(element, tag, left_out)
                elif tag in _ARTICLES or element.get("role") == "main":
                    articles.append(element)
                    named.clear()  # What holds an article is no list of links.
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
                self._leave(tag, not left_out)
                if articles and articles[-1] is element:
                    articles.pop()
                if named and named[-1].element is element:
                    self._judge(named.pop())
            if element.tail and element is not root:
                self._take(element.tail, not left_out)

    def _is_named(self, element: Any, tag: str) -> bool:
        if self._picked or tag in _WHOLE:
            return False
        called, id = element.get("class"), element.get("id")
        if not ((called and _leads_elsewhere(called[:LONGEST_NAME])) or (id and _leads_elsewhere(id[:LONGEST_NAME]))):
            return False
        return element not in self._kept

    def _judge(self, it: _Named) -> None:
        """Of a block whose name says that it leads elsewhere, at its end: whether most of its text are links."""
        it.held, it.end = self.counted - it.counted, len(self._pieces)
        if it.held and 2 * (self._linked - it.linked) >= it.held:
            self._pieces.append("")
            self._named.append(it)

    def _leave_out_named(self) -> None:
        """Those of them that hold less than half of the page, outer ones first."""
        begun = len(self._pieces)
        for it in reversed(self._named):
            if 2 * it.held >= self.counted:
                continue
            self.containers.append((it.element, it.held))
            if it.start >= begun:
                continue  # It lies within one that is left out.
            begun = it.start
            if self._marked:
                self._pieces[it.start], self._pieces[it.end] = f"{LEFT_OUT}links{MARK}", LEFT_OUT_END
            else:
                self._pieces[it.start : it.end] = [""] * (it.end - it.start)
                if it.element.tag in _BLOCKS:
                    self._pieces[it.start] = BREAK  # What stands before it and behind it are two lines.

    def _note_main(self, element: Any, tag: str, left_out: list[tuple[Any, int]]) -> None:
        """Whether what is left out holds the main element, or is a form that holds an article."""
        if tag == "main" or element.get("role") == "main" or (tag == "article" and left_out[-1][0].tag == "form"):
            for holder, _ in reversed(left_out):
                if holder in self.around_main:
                    break
                self.around_main.add(holder)

    def _enter(self, tag: str, counts: bool) -> None:
        self._firm += tag in _FIRM
        self._links += tag == "a"
        if tag in _BLOCKS and (counts or self._marked):
            self._pieces.append(FIRM_BREAK if self._firm else BREAK)

    def _leave(self, tag: str, counts: bool) -> None:
        self._firm -= tag in _FIRM
        self._links -= tag == "a"
        if tag in _BLOCKS and (counts or self._marked):
            self._pieces.append(FIRM_BREAK if self._firm else BREAK)

    def _break(self, needed: bool = True) -> None:
        if needed:
            self._pieces.append(FIRM_BREAK if self._firm else BREAK)

    def _take(self, text: str, counts: bool) -> None:
        size = len(text.strip())
        self.counted += size
        self._linked += size if self._links else 0
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
        if inside_article and not self._picked:
            return ""  # It is folded up, and whoever came for it opens it.
        style = element.get("style")
        hidden = (
            (element.get("hidden") is not None and not _STREAMED.fullmatch(element.get("id") or ""))
            or element.get("aria-hidden") == "true"
            or (style is not None and _HIDDEN_STYLE.search(style) is not None)
        )
        return "hidden" if hidden else ""


@lru_cache(10_000)
def _leads_elsewhere(name: str) -> bool:
    return _LINKING.search(name) is not None


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
    return not _is_list(element) and (sliver or element.tag == "noscript")


def _is_list(element: Any) -> bool:
    return element.tag in _LISTS or (element.get("role") or "").lower() in _LIST_ROLES


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
