"""Everything about one source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from recrawl.answers import Health, explained, health
from recrawl.crawl.explanation import Explanation
from recrawl.records import FloatArray
from recrawl.store.base import ClickTotals, Crawl, Progress, Source, Version
from recrawl.web.desk import Desk
from recrawl.web.views.appeal import effect
from recrawl.web.views.catalogue import cadence
from recrawl.web.views.latest import Entry, Wanted, latest

CRAWLS, ITEMS, VERSIONS = 200, 20, 10


@dataclass(frozen=True, slots=True)
class OneSource:
    """A source, why it is due when it is, what it brought."""

    source: Source
    progress: Progress
    found: Explanation
    index: Callable[[FloatArray], FloatArray]
    """What a fetch is worth at times from the last crawl on."""
    cadence_s: float
    health: Health
    crawls: list[Crawl]
    entries: list[Entry]
    versions: list[Version]
    clicks: ClickTotals
    effect: str
    """What clicks did to its cadence, in words; empty if there were none."""


def one_source(desk: Desk, id: int) -> OneSource | None:
    """By id; None if there is none."""
    source = desk.store.source(id)
    progress = next(iter(desk.store.progress([id])), None)
    if source is None or progress is None:
        return None
    at, now = desk.situation(), desk.now()
    crawls = desk.store.crawls(source=id, limit=CRAWLS)
    found = explained(desk.store, at, source, progress, now)
    clicks = desk.store.click_totals(id)
    return OneSource(
        source=source,
        progress=progress,
        found=found,
        index=partial(at.ranking([source], [progress], now).curve, id),
        cadence_s=cadence(found),
        health=health(source, progress, now),
        crawls=crawls,
        entries=latest(desk, Wanted(source=id, order="found", limit=ITEMS)).entries,
        versions=desk.store.versions(id, limit=VERSIONS) if source.kind == "page" else [],
        clicks=clicks,
        effect=effect(desk, source, progress, found, clicks),
    )
