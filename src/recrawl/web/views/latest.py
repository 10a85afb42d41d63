"""What was found, items and changes of pages alike: the latest, what is worth most now, or what a search finds.

*Worth now* is importance × 2^(−age / half-life): what is left of an item's interest. It is computed among the items
found last (`CANDIDATES`), because everything older has faded; the page says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from recrawl.config import effective
from recrawl.store.base import Item, ItemKind, Source
from recrawl.web.desk import Desk

PAGE = 30
CANDIDATES = 500
MOST_PAGES = 100
ORDERS = ("worth", "newest", "found", "relevance")
SNIPPET = 240
ItemOrder = Literal["worth", "newest", "found", "relevance"]
Piece = tuple[str, bool]
"""Text, and whether it was searched for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which items; times are Unix seconds. No `kind` is any."""

    text: str = ""
    kind: ItemKind | None = None
    tag: str = ""
    source: int | None = None
    since: float | None = None
    until: float | None = None
    order: ItemOrder = "worth"
    page: int = 1
    limit: int = PAGE

    @property
    def offset(self) -> int:
        """How many come before this page."""
        return (self.page - 1) * self.limit


@dataclass(frozen=True, slots=True)
class Entry:
    """An item with its source and what is left of its interest; title and snippet in pieces.

    `diff` is what a change of a page changed, empty once its version was dropped.
    """

    item: Item
    source: Source
    worth: float
    title: list[Piece]
    snippet: list[Piece]
    diff: str = ""

    @property
    def changed(self) -> bool:
        """Whether it is a change of a page."""
        return self.item.kind == "change"


@dataclass(frozen=True, slots=True)
class Latest:
    """One page of entries; `more` if there is another."""

    entries: list[Entry]
    wanted: Wanted
    more: bool


def latest(desk: Desk, wanted: Wanted) -> Latest:
    """The page that was asked for."""
    found = _worthiest(desk, wanted) if wanted.order == "worth" else _listed(desk, wanted)
    words = search_words(wanted.text)
    return Latest(
        _entries(desk, found[: wanted.limit], words), wanted, len(found) > wanted.limit and wanted.page < MOST_PAGES
    )


def _listed(desk: Desk, wanted: Wanted) -> list[tuple[Item, Source]]:
    order = "found" if wanted.order == "worth" else wanted.order
    items = desk.store.items(
        source=wanted.source,
        tag=wanted.tag or None,
        since=wanted.since,
        until=wanted.until,
        kind=wanted.kind,
        text=wanted.text or None,
        order=order,
        limit=wanted.limit + 1,
        offset=wanted.offset,
    )
    return _with_sources(desk, items)


def _worthiest(desk: Desk, wanted: Wanted) -> list[tuple[Item, Source]]:
    """By what is left of their interest, best first."""
    items = desk.store.items(
        source=wanted.source,
        tag=wanted.tag or None,
        since=wanted.since,
        until=wanted.until,
        kind=wanted.kind,
        text=wanted.text or None,
        limit=CANDIDATES,
    )
    pairs = _with_sources(desk, items)
    pairs.sort(key=lambda pair: worth(desk, *pair), reverse=True)
    return pairs[wanted.offset : wanted.offset + wanted.limit + 1]


def _with_sources(desk: Desk, items: list[Item]) -> list[tuple[Item, Source]]:
    sources = {source.id: source for source in desk.store.sources(ids=list({item.source for item in items}))}
    return [(item, sources[item.source]) for item in items if item.source in sources]


def worth(desk: Desk, item: Item, source: Source) -> float:
    """What is left of an item's interest now."""
    born = item.first_seen if item.published is None else min(item.published, item.first_seen)
    said = effective(source, desk.in_force())
    half_life = said.half_life or desk.in_force().half_life_s
    return said.importance * 2.0 ** (-max(desk.now() - born, 0.0) / max(half_life, 1e-9))


def entry(desk: Desk, id: int) -> Entry | None:
    """One item."""
    item = desk.store.item(id)
    pairs = _with_sources(desk, [item]) if item is not None else []
    return _entries(desk, pairs, [])[0] if pairs else None


def _entries(desk: Desk, pairs: list[tuple[Item, Source]], words: list[str]) -> list[Entry]:
    changes = [item for item, _ in pairs if item.kind == "change"]
    diffs = desk.store.diffs(changes) if changes else {}
    return [
        Entry(
            item=item,
            source=source,
            worth=worth(desk, item, source),
            title=marked(item.title, words),
            snippet=marked(around(item.summary, words), words),
            diff=diffs.get(item.id, ""),
        )
        for item, source in pairs
    ]


def search_words(text: str) -> list[str]:
    """The words of a search, as they are looked for in text.

    >>> search_words('Red "green" * blue-ish')
    ['red', 'green', 'blue', 'ish']
    """
    return [word.lower() for word in re.findall(r"\w+", text)][:32]


def around(text: str, words: list[str], limit: int = SNIPPET) -> str:
    """The part of a text in which the first word searched for stands."""
    if len(text) <= limit:
        return text
    lower = text.lower()
    place = min((at for at in (lower.find(word) for word in words) if at >= 0), default=0)
    start = max(0, min(place - limit // 3, len(text) - limit))
    return ("…" if start else "") + text[start : start + limit] + ("…" if start + limit < len(text) else "")


def marked(text: str, words: list[str]) -> list[Piece]:
    """A text in pieces, those that were searched for told apart.

    >>> marked("A red boat", ["red"])
    [('A ', False), ('red', True), (' boat', False)]
    """
    if not words:
        return [(text, False)] if text else []
    pattern = re.compile(r"(?<!\w)(" + "|".join(re.escape(word) for word in words) + ")", re.IGNORECASE)
    return [(piece, k % 2 == 1) for k, piece in enumerate(pattern.split(text)) if piece]
