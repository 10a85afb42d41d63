"""`recrawl backup`: a whole copy of the store, while it is in use."""

from __future__ import annotations

from pathlib import Path

import click

from recrawl.cli.options import opened_store, settings, store_options


@click.command(name="backup", short_help="Copy the whole store while it is in use.")
@click.argument("to", type=click.Path(path_type=Path))
@store_options
def command(to: Path) -> None:
    """Copy the store as it is at this moment into the new file TO. A running crawler does not have to wait."""
    from recrawl.errors import StoreError
    from recrawl.store.sqlite import SqliteStore

    config = settings()
    with opened_store(config) as store:
        if not isinstance(store, SqliteStore):
            raise StoreError(f"{config.store} is not a file: copy it with its own tools (pg_dump)")
        size = store.backup(to)
    click.echo(f"{to}: {size:,} bytes, the whole store")
