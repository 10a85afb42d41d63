"""Adding to the catalogue: what is good goes in, what is there already is left alone, what is wrong is listed."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import click

from recrawl.errors import ParameterError

if TYPE_CHECKING:
    from recrawl.crawl.catalogue.source_lists import ListedSource
    from recrawl.store.records import Source
    from recrawl.store.roles import Catalogue

USER_ERROR = 2


PORTION = 5000
"""Entries that are taken in together: what is in memory, and how long another program's write may have to wait."""


@dataclass
class Taken:
    """What became of the entries of a list.

    Parameters
        most: of those added, and of those known, so many are kept; all are counted
        refused: line number and what is wrong with it
        twice: how many entries stood in the list before
    """

    most: int = sys.maxsize
    added: list[Source] = field(default_factory=list)
    known: list[Source] = field(default_factory=list)
    added_count: int = 0
    known_count: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)
    twice: int = 0

    def count(self, added: Sequence[Source], known: Sequence[Source]) -> None:
        """These, too."""
        self.added_count += len(added)
        self.known_count += len(known)
        self.added += added[: max(self.most - len(self.added), 0)]
        self.known += known[: max(self.most - len(self.known), 0)]


def take_in(
    store: Catalogue,
    entries: Sequence[ListedSource],
    defaults: dict[str, Any],
    update: bool = False,
    most: int = sys.maxsize,
) -> Taken:
    """Add every entry that can be used; `update` gives sources that are there already what was said anew.

    A long list is taken in by portions, each whole: what was taken in stays if it ends before its end.
    """
    taken, seen = Taken(most), set[int]()
    for start in range(0, len(entries), PORTION):
        _take_in(store, entries[start : start + PORTION], defaults, update, taken, seen)
    return taken


def _take_in(
    store: Catalogue,
    entries: Sequence[ListedSource],
    defaults: dict[str, Any],
    update: bool,
    taken: Taken,
    seen: set[int],
) -> None:
    """One portion; `seen` are the ids of those before."""
    chosen: dict[str, tuple[Source, dict[str, Any]]] = {}
    for entry in entries:
        try:
            source, fields = _source(entry, defaults)
        except ParameterError as error:
            taken.refused.append((entry.line, str(error)))
            continue
        taken.twice += source.url in chosen
        chosen.setdefault(source.url, (source, fields))
    added: list[Source] = []
    known: list[Source] = []
    for (source, _), given in zip(chosen.values(), store.add([source for source, _ in chosen.values()]), strict=True):
        source.id = given.id
        if given.id in seen:
            taken.twice += 1
        else:
            (added if given.new else known).append(source)
    seen.update(source.id for source in (*added, *known))
    taken.count(added, known)
    if update:
        _update(store, [(source.id, chosen[source.url][1]) for source in known])


Numbered = Literal["line", "watch", ""]
_MANY: dict[Numbered, str] = {"line": "lines", "watch": "watches", "": "addresses"}


def complain(taken: Taken, numbered: Numbered = "") -> int:
    """List what was refused, a few of many; the exit status.

    Parameters
        numbered: what the entries are counted as: lines, watches; empty for addresses that were given one by one
    """
    from recrawl.crawl.catalogue.source_lists import SHOWN

    for line, message in taken.refused[:SHOWN]:
        click.echo(f"recrawl: {f'{numbered} {line}: ' if numbered else ''}{message}", err=True)
    more = len(taken.refused) - SHOWN
    if more > 0:
        click.echo(f"recrawl: and {more:,} more {numbered or 'address' if more == 1 else _MANY[numbered]}", err=True)
    return USER_ERROR if taken.refused else 0


def _source(entry: ListedSource, defaults: dict[str, Any]) -> tuple[Source, dict[str, Any]]:
    from recrawl.crawl.catalogue.source_fields import checked_fields, given_to
    from recrawl.crawl.catalogue.source_lists import state
    from recrawl.crawl.reading.plain_text import TITLE_CHARACTERS, clean
    from recrawl.crawl.urls import normalise
    from recrawl.store.records import Source

    if not entry.fields:
        return given_to(Source(url=normalise(entry.url), added=time.time()), defaults), defaults
    written = dict(entry.fields)
    title, standing = written.pop("title", None), written.pop("state", None)
    fields = {**defaults, **checked_fields(written)}
    fields["tags"] = tuple(dict.fromkeys((*fields.get("tags", ()), *defaults.get("tags", ()))))
    if not fields["tags"]:
        del fields["tags"]
    if title is not None:
        fields["title"] = clean(title, TITLE_CHARACTERS)
    if standing is not None:
        fields["state"] = state("state", standing)
    return given_to(Source(url=normalise(entry.url), added=time.time()), fields), fields


def _update(store: Catalogue, known: Sequence[tuple[int, dict[str, Any]]]) -> None:
    from recrawl.crawl.catalogue.source_fields import given_to

    before = {source.id: source for source in store.sources(ids=[id for id, _ in known])}
    changed = [given_to(before[id], fields) for id, fields in known if fields and id in before]
    store.edit([source for source in changed if source != before[source.id]])
