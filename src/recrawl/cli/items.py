"""`recrawl items`: what was found."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from recrawl.cli.options import json_option, name_of, opened_store, settings, store_options

if TYPE_CHECKING:
    from recrawl.store.records import Item, Source
    from recrawl.store.roles import Catalogue


@click.command(name="items", short_help="List items and changes of pages.")
@click.option("--since", metavar="TIME", help="Only those found in the last 1h, 2d, …")
@click.option("--source", "target", metavar="TARGET", help="Only those of this source: id, URL or part of it.")
@click.option("--tag", metavar="T", help="Only those of sources with this tag.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="Show at most this many."
)
@json_option
@store_options
def command(since: str | None, target: str | None, tag: str | None, limit: int, as_json: bool) -> None:
    """List items of feeds and sitemaps, and changes of pages, the latest first."""
    from recrawl.cli.targets import find_source, find_tag
    from recrawl.units import parse_duration

    now = time.time()
    start = None if since is None else now - parse_duration("--since", since)
    with opened_store(settings()) as store:
        tag = find_tag(store, tag)
        source = None if target is None else find_source(store, target).id
        found = store.items(source=source, tag=tag, since=start, limit=limit)
        show_items(store, found, now, as_json)


def show_items(store: Catalogue, found: Sequence[Item], now: float, as_json: bool) -> None:
    """Items with the sources they are from."""
    sources = {each.id: each for each in store.sources(ids=sorted({item.source for item in found}))} if found else {}
    if as_json:
        from recrawl.cli.tables import write_json

        write_json([_fields(item, sources.get(item.source)) for item in found])
    else:
        _show(found, sources, now)


def _fields(item: Item, source: Source | None) -> dict[str, object]:
    return {
        "id": item.id,
        "kind": item.kind,
        "source": item.source,
        "source_url": source.url if source else "",
        "source_title": source.title if source else "",
        "title": item.title,
        "link": item.link,
        "summary": item.summary,
        "published": item.published,
        "first_seen": item.first_seen,
    }


def _show(found: Sequence[Item], sources: dict[int, Source], now: float) -> None:
    from rich.text import Text

    from recrawl.cli.console import console
    from recrawl.cli.tables import ago, lines
    from recrawl.crawl.reading.diffs import tells_sizes
    from recrawl.crawl.reading.plain_text import clean, visible

    out, texts = console(), []
    for item in found:
        title = clean(item.title, 300) or visible(item.link) or "(no title)"
        if item.kind == "change":
            title += ": changed"
        line = Text.assemble((f"{ago(item.first_seen, now):>6}  ", "dim"), (title, "bold"))
        if item.kind == "change" and item.summary:
            line.append(f"  {'' if tells_sizes(item.summary) else '+ '}{clean(item.summary, 300)}", "green")
        elif item.source in sources:
            line.append(f"  {name_of(sources[item.source], 60)}")
        texts += [line, Text(f"        {visible(item.link)}", "dim")] if item.link else [line]
    lines(out, texts or [Text("no items")])
