"""`recrawl import`: lists of sources from other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recrawl.cli.options import described, opened_store, settings, source_options, store_options

if TYPE_CHECKING:
    from recrawl.cli.adding import Taken
    from recrawl.crawl.catalogue.source_lists import Listing

LARGEST = 256 * 2**20
NAMED = 10
"""Sources that are there already are named up to this many."""


@click.command(name="import", short_help="Add a whole list: OPML, text, CSV, changedetection.io, urlwatch.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@source_options
@click.option("--update", is_flag=True, help="Also change existing sources to what the list says.")
@click.option("--notifications", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the notification addresses of changedetection.io into this new file.")  # fmt: skip
@store_options
def command(file: Path, update: bool, notifications: Path | None, **given: Any) -> int:
    """Add the sources in FILE (- for standard input): OPML with its folders as tags, addresses line by line, CSV, a
    backup of changedetection.io, or urls.yaml of urlwatch.

    The options are for all of them, unless the list says otherwise. If some lines are wrong, the good ones are added,
    the others are listed, and the exit status is 2. What another watcher says and recrawl cannot do is listed.
    """
    from recrawl.cli.adding import complain, take_in
    from recrawl.crawl.catalogue.source_lists import CHANGEDETECTION

    fields = described(given)
    found = _listing(_content(file), str(file))
    if found.watcher:
        from recrawl.cli.importing import told_whom

        found = told_whom(found, notifications)
    elif notifications is not None:
        raise click.UsageError("--notifications is for backups of changedetection.io: this list has no such addresses")
    with opened_store(settings(), create=True) as store:
        taken = take_in(store, found.entries, fields, update, most=NAMED)
    _report(taken, update)
    if found.watcher:
        from recrawl.cli.importing import report

        report(found, {line for line, _ in taken.refused})
    return complain(taken, "watch" if found.watcher == CHANGEDETECTION else "line")


def _content(file: Path) -> bytes:
    if str(file) == "-":
        data = sys.stdin.buffer.read(LARGEST + 1)
    else:
        try:
            with file.open("rb") as opened:
                data = opened.read(LARGEST + 1)
        except OSError as error:
            raise click.UsageError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from error
    if len(data) > LARGEST:
        raise click.UsageError(f"{file} is larger than {LARGEST // 2**20} MiB")
    return data


def _listing(data: bytes, name: str) -> Listing:
    from recrawl.crawl.catalogue.source_lists import read_list

    found = read_list(data, name="the list" if name == "-" else name)
    if found.damaged:
        click.echo("recrawl: the list is damaged; what could be read of it was read", err=True)
    return found


def _report(taken: Taken, update: bool) -> None:
    for source in [] if update else taken.known:
        click.echo(f"already there: {source.id} {source.url}")
    if taken.known_count > NAMED and not update:
        click.echo(f"already there: {taken.known_count - NAMED} more")
    known = f"{taken.known_count} {'updated' if update else 'already there'}"
    twice = f", {taken.twice} twice in the list" if taken.twice else ""
    refused = f", {len(taken.refused)} refused" if taken.refused else ""
    click.echo(f"{taken.added_count} added, {known}{twice}{refused}")
