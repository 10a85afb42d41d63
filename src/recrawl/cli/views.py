"""A source as commands show it: its line in the catalogue and how far it has got, as one record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from recrawl.cli.showing import ahead
from recrawl.config import SourceOptions, effective
from recrawl.crawl.pace import believed_pace

if TYPE_CHECKING:
    from recrawl.config import Config
    from recrawl.store.base import Progress, Source, Store


class SourceView(msgspec.Struct, kw_only=True):
    """The fields of a source in JSON; seconds, Unix seconds, numbers nobody knows null. Headers are never shown."""

    id: int
    url: str
    title: str
    kind: str
    state: str
    health: str
    note: str
    tags: tuple[str, ...]
    importance: float
    cost: float
    half_life_s: float
    max_age_s: float
    select: str
    options: SourceOptions
    has_headers: bool
    added: float
    last: float | None
    due: float
    visits: int
    failures: int
    held_until: float
    held_by: str
    value: float
    rate_per_s: float
    pace_per_day: float
    captured: float


def view(source: Source, progress: Progress, config: Config, now: float) -> SourceView:
    """One source, seen at `now`; of one never fetched nothing is known, whatever its kin let expect."""
    known, counts = progress.last is not None, effective(source, config)
    return SourceView(
        id=source.id,
        url=source.url,
        title=source.title,
        kind=source.kind,
        state=source.state,
        health=health(source, progress, now),
        note=source.note,
        tags=source.tags,
        importance=counts.importance,
        cost=source.cost,
        half_life_s=counts.half_life or config.half_life_s,
        max_age_s=counts.max_age or config.max_age_s,
        select=source.select,
        options=source.options,
        has_headers=bool(source.headers),
        added=source.added,
        last=progress.last,
        due=progress.due if source.state == "active" else math.inf,
        visits=progress.visits,
        failures=progress.failures,
        held_until=progress.held_until if progress.held_until > now else 0.0,
        held_by=progress.held_by if progress.held_until > now else "",
        value=progress.value if known else math.nan,
        rate_per_s=progress.rate if known else math.nan,
        pace_per_day=believed_pace(progress, config.objective),
        captured=progress.captured,
    )


def views(store: Store, sources: Sequence[Source], config: Config, now: float) -> list[SourceView]:
    """Several, in the order given."""
    if not sources:
        return []
    from recrawl.crawl.settings_note import in_force

    config = in_force(store, config)
    progress = {each.source: each for each in store.progress([source.id for source in sources])}
    return [view(source, progress[source.id], config, now) for source in sources if source.id in progress]


def health(source: Source, progress: Progress, now: float) -> str:
    """In a word or two: ok, new, paused, retired, failing, held."""
    if source.state != "active":
        return source.state
    if progress.failures:
        return f"failing ×{progress.failures}"
    if progress.last is None:
        return "new"
    return f"held {ahead(progress.held_until, now)}" if progress.held_until > now else "ok"
