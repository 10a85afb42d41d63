"""What was found, items and changes of pages alike: the latest, what is worth most now, or what a search finds.

*Worth now* is importance × 2^(−age / half-life): what is left of an item's interest. It is computed among the items
found last (`CANDIDATES`), because everything older has faded; the page says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from recrawl.kernels.worth import remaining
from recrawl.store.records import Item, ItemKind, Source
from recrawl.store.source_terms import Defaults
from recrawl.web.context import Context
from recrawl.web.views.paging import Paged

PAGE = 30
CANDIDATES = 500
MOST_PAGES = 100
ORDERS = ("worth", "newest", "found", "relevance")
SNIPPET = 240
ItemOrder = Literal["worth", "newest", "found", "relevance"]
Piece = tuple[str, bool]
"""Text, and whether it was searched for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted(Paged):
    """Which items; times are Unix seconds. No `kind` is any."""

    text: str = ""
    kind: ItemKind | None = None
    tag: str = ""
    source: int | None = None
    since: float | None = None
    until: float | None = None
    order: ItemOrder = "worth"
    limit: int = PAGE


@dataclass(frozen=True, slots=True)
class FoundLine:
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

    entries: list[FoundLine]
    wanted: Wanted
    more: bool


def latest(context: Context, wanted: Wanted) -> Latest:
    """The page that was asked for."""
    pairs = _worthiest(context, wanted) if wanted.order == "worth" else _in_order(context, wanted)
    more = len(pairs) > wanted.limit and wanted.page < MOST_PAGES
    return Latest(_entries(context, pairs[: wanted.limit], search_words(wanted.text)), wanted, more)


def _in_order(context: Context, wanted: Wanted) -> list[tuple[Item, Source]]:
    """A page of them in an order of the store's, and one more if there is one."""
    return _found(context, wanted, order=wanted.order, limit=wanted.limit + 1, offset=wanted.offset)


def _worthiest(context: Context, wanted: Wanted) -> list[tuple[Item, Source]]:
    """By what is left of their interest, best first."""
    pairs = _found(context, wanted, limit=CANDIDATES)
    pairs.sort(key=lambda pair: worth(context, *pair), reverse=True)
    return pairs[wanted.offset : wanted.offset + wanted.limit + 1]


def _found(context: Context, wanted: Wanted, **which: Any) -> list[tuple[Item, Source]]:
    items = context.store.items(
        source=wanted.source,
        tag=wanted.tag or None,
        since=wanted.since,
        until=wanted.until,
        kind=wanted.kind,
        text=wanted.text or None,
        **which,
    )
    return _with_sources(context, items)


def _with_sources(context: Context, items: list[Item]) -> list[tuple[Item, Source]]:
    sources = {source.id: source for source in context.store.sources(ids=list({item.source for item in items}))}
    return [(item, sources[item.source]) for item in items if item.source in sources]


def worth(context: Context, item: Item, source: Source) -> float:
    """What is left of an item's interest now."""
    born = item.first_seen if item.published is None else min(item.published, item.first_seen)
    terms = source.terms(Defaults.of(context.in_force()))
    return terms.importance * remaining(max(context.now() - born, 0.0), max(terms.half_life_s, 1e-9))


def entry(context: Context, id: int) -> FoundLine | None:
    """One item."""
    item = context.store.item(id)
    pairs = _with_sources(context, [item]) if item is not None else []
    return _entries(context, pairs, [])[0] if pairs else None


def _entries(context: Context, pairs: list[tuple[Item, Source]], words: list[str]) -> list[FoundLine]:
    changes = [item for item, _ in pairs if item.kind == "change"]
    diffs = context.store.diffs(changes) if changes else {}
    return [
        FoundLine(
            item=item,
            source=source,
            worth=worth(context, item, source),
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
