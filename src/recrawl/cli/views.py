"""A source as commands show it: its line in the catalogue and how far it has got, as one record."""

from __future__ import annotations

import msgspec

from recrawl import answers
from recrawl.answers import Seen
from recrawl.cli.showing import ahead
from recrawl.config import SourceOptions
from recrawl.store.base import Hold, Progress, Source


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
    held_cause: str
    held_host: str
    host_held_until: float
    host_held_by: str
    host_held_cause: str
    value: float
    rate_per_s: float
    pace_per_day: float
    captured: float


def view(each: Seen, now: float, hold: Hold | None) -> SourceView:
    """One source, seen at `now`; of one that never answered nothing is known, whatever its kin let expect.

    `hold` is the one on its host, if there is one.
    """
    source, progress, found = each
    held = progress.held_until > now
    return SourceView(
        id=source.id,
        url=source.url,
        title=source.title,
        kind=source.kind,
        state=source.state,
        health=health(source, progress, now),
        note=source.note,
        tags=source.tags,
        importance=found.importance,
        cost=source.cost,
        half_life_s=found.half_life_s,
        max_age_s=found.max_age_s,
        select=source.select,
        options=source.options,
        has_headers=bool(source.headers),
        added=source.added,
        last=progress.last,
        due=found.due,
        visits=progress.visits,
        failures=progress.failures,
        held_until=progress.held_until if held else 0.0,
        held_by=progress.held_by if held else "",
        held_cause=progress.held_cause if held else "",
        held_host=hold.host if hold else "",
        host_held_until=hold.until if hold else 0.0,
        host_held_by=hold.reason if hold else "",
        host_held_cause=hold.cause if hold else "",
        value=found.value,
        rate_per_s=found.rate_per_s,
        pace_per_day=found.pace_per_day,
        captured=progress.captured,
    )


def health(source: Source, progress: Progress, now: float) -> str:
    """In a word or two: ok, new, paused, retired, failing so often, held for so long."""
    word = answers.health(source, progress, now)
    more = {"failing": f" ×{progress.failures}", "held": f" {ahead(progress.held_until, now)}"}
    return word + more.get(word, "")
