"""`recrawl vacuum`: drop what is past its time."""

from __future__ import annotations

import time

import click

from recrawl.cli.options import json_option, opened_store, settings, store_options


@click.command(name="vacuum", short_help="Delete what retention no longer keeps, and free the space.")
@json_option
@store_options
def command(as_json: bool) -> None:
    """Delete items, crawls, prices and versions past the ages set under [retention], and free the space."""
    from recrawl.store.records import Keep

    config = settings()
    with opened_store(config) as store:
        done = store.vacuum(Keep.of(config.retention), time.time())
    if as_json:
        from recrawl.cli.tables import write_json

        write_json(done)
        return
    dropped = ", ".join(
        f"{getattr(done, name)} {name}" for name in ("items", "crawls", "prices", "versions", "events", "contents")
    )
    click.echo(f"dropped {dropped}")
    click.echo(f"{config.store}: {_size(done.before)} before, {_size(done.after)} after")


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
