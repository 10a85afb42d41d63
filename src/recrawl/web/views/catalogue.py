"""Sources as rows of a table: one page of them, in any order, however many there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from recrawl.crawl.explanation import Explanation, explain
from recrawl.crawl.ranking import Standing
from recrawl.store.base import Progress, Source, SourceState
from recrawl.web.desk import SHORT_S, Desk

PAGE = 50
MOST_ROWS = 500
ORDERS = ("id", "url", "title", "importance", "added", "last", "due", "value", "failures")
Health = Literal["well", "failing", "held", "paused", "retired", "new"]


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
    sources = desk.store.sources(
        state=state, tag=tag, text=text, order=choice.order, limit=choice.limit, offset=choice.offset
    )
    return Catalogue(rows(desk, sources), total, choice)


def rows(desk: Desk, sources: Sequence[Source]) -> list[Row]:
    """Sources with what is believed and planned, in the order given."""
    progress = {each.source: each for each in desk.store.progress([source.id for source in sources])}
    here = [source for source in sources if source.id in progress]
    ranking = desk.ranking(here, list(progress.values()))
    standings = ranking.standings(list(progress.values()), desk.now(), desk.price())
    return [row(desk, source, progress[source.id], standings[source.id]) for source in here]


def row(desk: Desk, source: Source, progress: Progress, standing: Standing) -> Row:
    """One source."""
    found = explain(source, progress, desk.now(), desk.circumstances(source.url), standing)
    return Row(source, progress, found, cadence(found), health(source, progress, desk.now()))


def cadence(found: Explanation) -> float:
    """Seconds between two crawls at this price, within what is least and most."""
    if math.isnan(found.crossing_age_s) or found.state != "active":
        return math.nan
    return max(min(found.crossing_age_s, found.max_age_s), found.min_interval_s)


def health(source: Source, progress: Progress, now: float) -> Health:
    """How a source is doing, in a word."""
    if source.state != "active":
        return "paused" if source.state == "paused" else "retired"
    if progress.failures > 0:
        return "failing"
    if progress.held_until > now:
        return "held"
    return "new" if progress.last is None else "well"
