"""Everything about one source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recrawl.crawl.fetching.politeness import site_of
from recrawl.crawl.list_notes import NotedList
from recrawl.crawl.reading.number_history import History, unpacked
from recrawl.crawl.rendering import screenshots
from recrawl.crawl.rendering.screenshots import Screenshots
from recrawl.crawl_state import SourceStatus, health
from recrawl.records import FloatArray
from recrawl.store.records import ClickTotals, Crawl, Version
from recrawl.web.context import Context
from recrawl.web.views.click_effect import effect
from recrawl.web.views.latest import FoundLine, Wanted, latest

CRAWLS, ITEMS, VERSIONS, LISTS = 200, 20, 10, 20


@dataclass(frozen=True, slots=True)
class OneSource(SourceStatus):
    """A source, why it is due when it is, what it brought."""

    index: Callable[[FloatArray], FloatArray]
    """What a fetch is worth at times from the last crawl on."""
    lists: list[NotedList]
    """The lists of its site."""
    crawls: list[Crawl]
    entries: list[FoundLine]
    versions: list[Version]
    screenshots: Screenshots
    """How its last two states looked in a browser."""
    number: History
    """Of the number that is watched on it."""
    clicks: ClickTotals
    effect: str
    """What clicks did to its cadence, in words; empty if there were none."""


def one_source(context: Context, id: int) -> OneSource | None:
    """By id; None if there is none."""
    source = context.store.source(id)
    progress = next(iter(context.store.progress([id])), None)
    if source is None or progress is None:
        return None
    at, now = context.state(), context.now()
    crawls = context.store.crawls(source=id, limit=CRAWLS)
    found = at.explained(source, progress, now)
    clicks = context.store.click_totals(id)
    return OneSource(
        source=source,
        progress=progress,
        found=found,
        index=at.curve(source, progress, now),
        lists=at.lists_of(site_of(source.url))[:LISTS],
        health=health(source, progress, now),
        crawls=crawls,
        entries=latest(context, Wanted(source=id, order="found", limit=ITEMS)).entries,
        versions=context.store.versions(id, limit=VERSIONS) if source.kind == "page" else [],
        screenshots=screenshots.unpacked(context.store.screenshots(id)),
        number=unpacked(context.store.watched_number(id)),
        clicks=clicks,
        effect=effect(context, source, progress, found, clicks),
    )
