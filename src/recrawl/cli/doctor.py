"""`recrawl doctor`: whether a store is sound, what can be saved of one that is not, and saving it."""

from __future__ import annotations

from pathlib import Path

import click

from recrawl.cli.options import json_option, settings, store_options

DAMAGED = 1
"""The exit status where something is wrong and nothing was saved."""
SHOWN = 20
"""Complaints shown; damage of one page can lead to many."""


@click.command(name="doctor", short_help="Check a store, and save the readable part of a damaged one.")
@click.option("--salvage", "to", type=click.Path(path_type=Path), metavar="FILE",
              help="Copy everything that can be read into this new store.")  # fmt: skip
@json_option
@store_options
def command(to: Path | None, as_json: bool) -> int:
    """Check the store, page by page and row by row, without changing it; a crawler may run on it.

    Exit status 1 if something is wrong with it. With --salvage, the readable part is copied into a new store, and the
    damaged one stays as it is.
    """
    from recrawl.store.sqlite.repair import check, readable, salvage

    path = _file(settings().store)
    complaints = check(path)
    rows = salvage(path, to) if to is not None else readable(path)
    if as_json:
        from recrawl.cli.tables import write_json

        write_json({"store": str(path), "sound": not complaints, "complaints": complaints, "rows": rows,
                    "saved_to": None if to is None else str(to)})  # fmt: skip
    else:
        _show(path, complaints, rows, to)
    return DAMAGED if complaints and to is None else 0


def _file(store: str) -> Path:
    from recrawl.errors import StoreError

    if store.startswith("sqlite:///"):
        from urllib.parse import unquote

        return Path(unquote(store.removeprefix("sqlite:///")))
    if "://" in store:
        raise StoreError("the store is in a server, not in a file: check it with the server's own tools")
    return Path(store)


def _show(path: Path, complaints: list[str], rows: dict[str, int], to: Path | None) -> None:
    counted = ", ".join(f"{count:,} {table}" for table, count in rows.items() if count)
    if not complaints:
        click.echo(f"{path} is sound: {counted or 'empty'}")
    else:
        click.echo(f"{path} is damaged:")
        for complaint in complaints[:SHOWN]:
            click.echo(f"  {complaint}")
        if len(complaints) > SHOWN:
            click.echo(f"  and {len(complaints) - SHOWN} more")
    if to is not None:
        click.echo(f"saved into {to}: {counted or 'nothing'}")
    elif complaints and counted:
        click.echo(f"can be saved: {counted}")
        click.echo("`recrawl doctor --salvage saved.db` copies that into a new store, and leaves this one as it is")
    elif complaints:
        click.echo("nothing can be saved: go back to a backup (docs/operations.md)")
