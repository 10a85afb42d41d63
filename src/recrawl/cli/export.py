"""`recrawl export`: the catalogue for other programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recrawl.cli.options import opened_store, settings, store_options

if TYPE_CHECKING:
    from recrawl.store.records import Source

PRIVATE, USUAL = 0o600, 0o666


@click.command(name="export", short_help="Write the catalogue as OPML, CSV or text.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@click.option("--format", "form", type=click.Choice(["opml", "csv", "text"]),
              help="By the name of FILE if not given, else OPML.")  # fmt: skip
@click.option("--tag", metavar="T", help="Only sources with this tag.")
@click.option("--with-headers", is_flag=True, help="Also the headers, which may be secrets; CSV only.")
@store_options
def command(file: Path, form: str | None, tag: str | None, with_headers: bool) -> None:
    """Write the catalogue to FILE, or to standard output.

    OPML has tags as folders, for feed readers. CSV has everything `recrawl import` can take back.
    """
    from recrawl.cli.targets import find_tag

    form = form or {".csv": "csv", ".txt": "text"}.get(file.suffix.lower(), "opml")
    if with_headers and form != "csv":
        raise click.UsageError("--with-headers needs --format csv: OPML and text have no place for them")
    with opened_store(settings()) as store:
        tag = None if tag is None else find_tag(store, tag)
        sources = store.sources(tag=tag)
    _write(file, _written(sources, form, with_headers), PRIVATE if with_headers else USUAL)
    if str(file) != "-":
        click.echo(f"{len(sources)} sources written to {file}")


def _written(sources: list[Source], form: str, with_headers: bool) -> str:
    from recrawl.crawl.catalogue.source_lists import write_csv, write_text

    if form == "opml":
        from recrawl.crawl.catalogue.opml import write_opml

        return write_opml(sources).decode()
    return write_csv(sources, with_headers) if form == "csv" else write_text(sources)


def _write(file: Path, text: str, mode: int) -> None:
    from recrawl.errors import OutputError

    if str(file) == "-":
        sys.stdout.write(text)
        return
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with open(handle, "w", encoding="utf-8") as out:
            if mode == PRIVATE:  # one that was there keeps its mode otherwise
                os.fchmod(handle, PRIVATE)
            out.write(text)
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {(error.strerror or str(error)).lower()}") from error
