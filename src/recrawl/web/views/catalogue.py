"""Sources as rows of a table: one page of them, in any order, however many there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from recrawl.answers import Health, Seen, health, in_order, seen
from recrawl.crawl.explanation import Explanation
from recrawl.store.base import Progress, Source, SourceState
from recrawl.web.desk import SHORT_S, Desk

PAGE = 50
MOST_ROWS = 500
ORDERS = ("id", "url", "title", "importance", "added", "last", "due", "value", "failures")


@dataclass(frozen=True, slots=True)
class Row:
    """A source with what is believed and planned.

    Parameters
        cadence_s: time between two crawls at this price; NaN if not known
    """

    source: Source
    progress: Progress
    found: Explanation
    cadence_s: float
    health: Health


@dataclass(frozen=True, slots=True)
class Choice:
    """Which sources, in which order, from where on."""

    text: str = ""
    tag: str = ""
    state: SourceState | None = None
    order: str = "due"
    page: int = 1
    limit: int = PAGE

    @property
    def offset(self) -> int:
        """How many come before this page."""
        return (self.page - 1) * self.limit


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One page of rows; `total` match in all."""

    rows: list[Row]
    total: int
    choice: Choice

    @property
    def pages(self) -> int:
        """How many pages there are; at least one."""
        return max(1, math.ceil(self.total / self.choice.limit))


def catalogue(desk: Desk, choice: Choice) -> Catalogue:
    """The page that was chosen."""
    tag, text, state = choice.tag or None, choice.text or None, choice.state
    total = desk.cached.get(
        ("count", state, tag, text), SHORT_S, lambda: desk.store.count(state=state, tag=tag, text=text)
    )
    now, which = desk.now(), {"state": state, "tag": tag, "text": text}
    found = in_order(desk.store, desk.situation(), now, choice.order, choice.limit, choice.offset, **which)
    return Catalogue([row(each, now) for each in found], total, choice)


def rows(desk: Desk, sources: Sequence[Source]) -> list[Row]:
    """Sources with what is believed and planned, in the order given."""
    now = desk.now()
    return [row(each, now) for each in seen(desk.store, desk.situation(), sources, now)]


def row(each: Seen, now: float) -> Row:
    """One source."""
    source, progress, found = each
    return Row(source, progress, found, cadence(found), health(source, progress, now))


def cadence(found: Explanation) -> float:
    """Seconds between two crawls at this price, within what is least and most."""
    if math.isnan(found.crossing_age_s) or found.state != "active":
        return math.nan
    return max(min(found.crossing_age_s, found.max_age_s), found.min_interval_s)
