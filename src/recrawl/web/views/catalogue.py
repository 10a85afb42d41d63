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
MANY, NEAR = 20_000, 2_000
"""Of so many sources, pages beyond so many rows are of an order that is kept for a while, and so are all those in an
order that no index has."""
ORDER_S = 15.0
"""How long it is kept; it is given once more up to four times as long, while the next one is made."""
UNINDEXED = ("last", "value", "failures")
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
    order_s: float = 0.0
    """How old the order is; what stands in the rows is of now."""

    @property
    def pages(self) -> int:
        """How many pages there are; at least one."""
        return max(1, math.ceil(self.total / self.choice.limit))


def catalogue(context: Context, choice: Choice) -> SourceTable:
    """The page that was chosen."""
    tag, text, state = choice.tag or None, choice.text or None, choice.state
    total = context.cached.soon(
        ("count", state, tag, text), SHORT_S, lambda: context.store.count(state=state, tag=tag, text=text)
    )
    now, which = context.now(), {"state": state, "tag": tag, "text": text}
    if total <= MANY or (choice.offset < NEAR and choice.order.removeprefix("-") not in UNINDEXED):
        found = context.state().in_order(now, choice.order, choice.limit, choice.offset, **which)
        return SourceTable(found, total, choice)
    made, ids = context.cached.soon(
        ("order", choice.order, state, tag, text),
        ORDER_S,
        lambda: (context.now(), context.store.ids_in_order(choice.order, state=state, tag=tag, text=text)),
    )
    some = ids[choice.offset : choice.offset + choice.limit]
    return SourceTable(context.state().of_ids(some, now), total, choice, max(now - made, 0.0))
