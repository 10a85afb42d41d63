"""What a page is watched for, in words: its number, its owner's conditions, and why the last state is no change."""

from __future__ import annotations

from typing import NamedTuple

from recrawl.crawl.met_conditions import NO_NUMBER, lacks_number
from recrawl.crawl.reading.number_history import History, unpacked
from recrawl.crawl.reading.numbers import in_digits
from recrawl.store.records import Source
from recrawl.store.roles import Items
from recrawl.store.source_terms import EffectiveOptions
from recrawl.units import show_duration


class Watched(NamedTuple):
    """By the names of an explanation."""

    number: str = ""
    when: list[str] = []  # noqa: RUF012 - never changed
    last_state: str = ""


def watched_in_words(store: Items, source: Source, terms: EffectiveOptions, now: float) -> Watched:
    """Of one page."""
    number = ""
    if terms.number:
        number = _number(unpacked(store.watched_number(source.id)), terms.number, now)
    elif lacks_number(terms.number, terms.when):
        number = NO_NUMBER
    latest = next(iter(store.versions(source.id, limit=1)), None)
    return Watched(number, [*terms.when], "" if latest is None else latest.note)


def _number(history: History, wanted: str, now: float) -> str:
    if history.latest is None:
        return f"{wanted}: not found yet"
    since, value = history.points[-1]
    before = f", {in_digits(history.points[-2][1])} before" if len(history.points) > 1 else ""
    told = f"; when a change counted last it was {in_digits(history.told)}" if history.told not in (None, value) else ""
    said = f"{in_digits(value)} {history.unit}".strip()
    return f"{history.name}: {said} for {show_duration(max(now - since, 0.0))}{before}{told}"
