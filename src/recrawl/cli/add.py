"""`recrawl add`: sources by their addresses."""

from __future__ import annotations

from typing import Any

import click

from recrawl.cli.options import described, opened_store, settings, source_options, store_options


@click.command(name="add", short_help="Add sources: feeds, sitemaps, pages.")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@source_options
@click.option("--update", is_flag=True, help="Also change sources that are there already to what is given here.")
@click.option("--as-is", is_flag=True, help="Take the addresses as they are: do not look for feeds and sitemaps.")
@store_options
def command(urls: tuple[str, ...], update: bool, as_is: bool, **given: Any) -> int:
    """Add sources to the catalogue by their addresses; what each is, is found out on its first fetch.

    A missing https:// is understood. What is there already is reported, and left as it is unless --update is given.
    """
    from recrawl.cli.catalogue import complain, take_in
    from recrawl.cli.listing import Entry

    fields = described(given)
    with opened_store(settings(), create=True) as store:
        taken = take_in(store, [Entry(place, url) for place, url in enumerate(urls, 1)], fields, update)
    for source in taken.added:
        click.echo(f"added: {source.id} {source.url}")
    for source in taken.known:
        click.echo(f"{'updated' if update else 'already there'}: {source.id} {source.url}")
    if taken.twice:
        click.echo(f"given twice: {taken.twice}")
    return complain(taken, numbered=False)
