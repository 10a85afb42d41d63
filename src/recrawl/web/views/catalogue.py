"""Sources as rows of a table: one page of them, in any order, however many there are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from recrawl.crawl_state import SourceStatus
from recrawl.store.records import SourceState
from recrawl.web.context import SHORT_S, Context
from recrawl.web.views.paging import Paged

PAGE = 50
MOST_ROWS = 500
ORDERS = ("id", "url", "title", "importance", "added", "last", "due", "value", "failures")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Paged):
    """Which sources, in which order, from where on."""

    text: str = ""
    tag: str = ""
    state: SourceState | None = None
    order: str = "due"
    limit: int = PAGE


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One page of rows; `total` match in all."""

    rows: list[SourceStatus]
    total: int
    choice: Choice

    @property
    def pages(self) -> int:
        """How many pages there are; at least one."""
        return max(1, math.ceil(self.total / self.choice.limit))


def catalogue(context: Context, choice: Choice) -> SourceTable:
    """The page that was chosen."""
    tag, text, state = choice.tag or None, choice.text or None, choice.state
    total = context.cached.get(
        ("count", state, tag, text), SHORT_S, lambda: context.store.count(state=state, tag=tag, text=text)
    )
    now, which = context.now(), {"state": state, "tag": tag, "text": text}
    found = context.state().in_order(now, choice.order, choice.limit, choice.offset, **which)
    return SourceTable(found, total, choice)
