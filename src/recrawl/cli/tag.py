"""`recrawl tag`: words to find sources by, and to say something of many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recrawl.cli.options import name_of, opened_store, settings, store_options
from recrawl.cli.targets import target_options

if TYPE_CHECKING:
    from recrawl.store.roles import Catalogue

MOST = 10_000
"""Tags that are listed."""


@click.command(name="tag", short_help="Add tags to sources, remove tags, list them.")
@target_options
@click.option("--add", "added", multiple=True, metavar="NAME", help="Add this tag; may be repeated.")
@click.option("--remove", "removed", multiple=True, metavar="NAME", help="Remove this tag; may be repeated.")
@store_options
def command(targets: tuple[str, ...], tags: tuple[str, ...], added: tuple[str, ...], removed: tuple[str, ...]) -> None:
    """Add tags to sources, or remove tags. Without a target: list all tags, and how many sources have each.

    TARGET is an id, a URL, or a part of a URL or title that fits one source only; --tag stands for all that have one.
    The settings have a table for the sources with a tag: [tags.NAME].
    """
    from recrawl.cli.targets import find_targets

    with opened_store(settings()) as store:
        if not (targets or tags):
            if added or removed:
                raise click.UsageError("which sources? Name them, or all with a tag by --tag")
            _list(store)
            return
        sources = find_targets(store, targets, tags)
        if added or removed:
            _change(store, [source.id for source in sources], added, removed)
        for source in store.sources(ids=[source.id for source in sources]):
            click.echo(f"{source.id} {name_of(source)}: {', '.join(source.tags) or 'no tags'}")


def _list(store: Catalogue) -> None:
    from recrawl.crawl.reading.plain_text import clean

    found = store.tags(MOST)
    for name, count in found:
        click.echo(f"{count:>7}  {clean(name, 100)}")
    if not found:
        click.echo("no source has a tag: recrawl tag TARGET --add NAME")


def _change(store: Catalogue, ids: list[int], added: tuple[str, ...], removed: tuple[str, ...]) -> None:
    import msgspec

    from recrawl.crawl.catalogue.source_fields import tag_list

    gone, new = set(tag_list("--remove", removed)), tag_list("--add", added)
    before = store.sources(ids=ids)
    after = [
        msgspec.structs.replace(
            source, tags=tuple(dict.fromkeys([*(tag for tag in source.tags if tag not in gone), *new]))
        )
        for source in before
    ]
    store.edit([source for source, old in zip(after, before, strict=True) if source.tags != old.tags])
