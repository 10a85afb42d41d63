"""`recrawl search`: find what was found."""

from __future__ import annotations

import time

import click

from recrawl.cli.items import show_items
from recrawl.cli.options import json_option, opened_store, settings, store_options


@click.command(name="search", short_help="Search items and changes of pages.")
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@click.option("--since", metavar="TIME", help="Only those found in the last 1h, 2d, …")
@click.option("--tag", metavar="T", help="Only those of sources with this tag.")
@click.option("--newest", is_flag=True, help="The latest first instead of the best.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="Show at most this many."
)
@json_option
@store_options
def command(
    query: tuple[str, ...], since: str | None, tag: str | None, newest: bool, limit: int, as_json: bool
) -> None:
    """Find items and changes of pages that contain all these words; fis* is any word that begins so.

    No other sign has a special meaning.
    """
    from recrawl.cli.targets import find_tag
    from recrawl.units import parse_duration

    now = time.time()
    start = None if since is None else now - parse_duration("--since", since)
    with opened_store(settings()) as store:
        tag = find_tag(store, tag)
        found = store.items(
            text=" ".join(query), tag=tag, since=start, limit=limit, order="found" if newest else "relevance"
        )
        show_items(store, found, now, as_json)
