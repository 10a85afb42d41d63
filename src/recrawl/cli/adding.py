"""Adding to the catalogue: what is good goes in, what is there already is left alone, what is wrong is listed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from recrawl.errors import ParameterError

if TYPE_CHECKING:
    from recrawl.crawl.catalogue.source_lists import ListedSource
    from recrawl.store.records import Source
    from recrawl.store.roles import Catalogue

USER_ERROR = 2


@dataclass
class Taken:
    """What became of the entries of a list.

    Parameters
        refused: line number and what is wrong with it
        twice: how many entries stood in the list before
    """

    added: list[Source] = field(default_factory=list)
    known: list[Source] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    twice: int = 0


def take_in(store: Catalogue, entries: Sequence[ListedSource], defaults: dict[str, Any], update: bool = False) -> Taken:
    """Add every entry that can be used; `update` gives sources that are there already what was said anew."""
    taken = Taken()
    chosen: dict[str, Source] = {}
    said: dict[str, dict[str, Any]] = {}
    for entry in entries:
        try:
            source, fields = _source(entry, defaults)
        except ParameterError as error:
            taken.refused.append((entry.line, str(error)))
            continue
        taken.twice += source.url in chosen
        if source.url not in chosen:
            chosen[source.url], said[source.url] = source, fields
    for source, added in zip(chosen.values(), store.add(list(chosen.values())), strict=True):
        source.id = added.id
        (taken.added if added.new else taken.known).append(source)
    if update:
        _update(store, [(source.id, said[source.url]) for source in taken.known])
    return taken


def complain(taken: Taken, numbered: bool) -> int:
    """List what was refused, a few of many; the exit status."""
    from recrawl.crawl.catalogue.source_lists import SHOWN

    for line, message in taken.refused[:SHOWN]:
        click.echo(f"recrawl: {f'line {line}: ' if numbered else ''}{message}", err=True)
    more = len(taken.refused) - SHOWN
    if more > 0:
        one, many = ("line", "lines") if numbered else ("address", "addresses")
        click.echo(f"recrawl: and {more:,} more {one if more == 1 else many}", err=True)
    return USER_ERROR if taken.refused else 0


def _source(entry: ListedSource, defaults: dict[str, Any]) -> tuple[Source, dict[str, Any]]:
    from recrawl.crawl.catalogue.source_fields import checked_fields, given_to
    from recrawl.crawl.catalogue.source_lists import state
    from recrawl.crawl.reading.plain_text import TITLE_CHARACTERS, clean
    from recrawl.crawl.urls import normalise
    from recrawl.store.records import Source

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
