"""`recrawl store`: what is done with a store as a whole."""

from __future__ import annotations

import click

from recrawl.cli.options import json_option
from recrawl.cli.suggestions import Suggesting


@click.group(name="store", cls=Suggesting, short_help="Move a store from one place to another.")
def command() -> None:
    """Commands for a store as a whole."""


@command.command(name="copy", short_help="Copy a whole store into a new one.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@json_option
def copy_store(source: str, target: str, as_json: bool) -> None:
    """Copy all of the store FROM into a new or empty store TO: files, sqlite:///FILE or postgresql://USER@HOST/DATABASE.

    All ids stay: events, links and clicks of the copy mean the same. Nobody may crawl FROM meanwhile. If the copy is
    interrupted, TO stays empty. Passwords come from PGPASSWORD or ~/.pgpass, never from the address.
    """
    from recrawl.cli.console import progress_shown
    from recrawl.store.opening import open_store
    from recrawl.store.transfer import copy

    with open_store(source, read_only=True) as old, open_store(target) as new, progress_shown() as progress:
        copied = copy(old, new, progress)
    if as_json:
        from recrawl.cli.tables import write_json

        write_json({"rows": copied})
        return
    counted = ", ".join(f"{count:,} {table}" for table, count in copied.items() if count)
    click.echo(f"copied {counted or 'an empty store'}")
