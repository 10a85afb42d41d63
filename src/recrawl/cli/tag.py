"""`recrawl tag`: words to find sources by, and to say something of many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recrawl.cli.options import name_of, opened_store, settings, store_options
from recrawl.cli.targets import target_options

if TYPE_CHECKING:
    from recrawl.store.base import Store

MOST = 10_000
"""Tags that are listed."""


@click.command(name="tag", short_help="Give sources tags, take tags away, list them.")
@target_options
@click.option("--add", "added", multiple=True, metavar="NAME", help="Give them this tag; may be repeated.")
@click.option("--remove", "removed", multiple=True, metavar="NAME", help="Take this tag away; may be repeated.")
@store_options
def command(targets: tuple[str, ...], tags: tuple[str, ...], added: tuple[str, ...], removed: tuple[str, ...]) -> None:
    """Give sources tags, or take tags away. Without a target: list the tags there are, and how many sources have each.

    TARGET is an id, a URL, or a part of a URL or title that fits one source only; --tag stands for all that have one.
    What counts for the sources with a tag is said in the settings: [tags.NAME].
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


def _list(store: Store) -> None:
    from recrawl.crawl.text import clean

    found = store.tags(MOST)
    for name, count in found:
        click.echo(f"{count:>7}  {clean(name, 100)}")
    if not found:
        click.echo("no source has a tag: recrawl tag TARGET --add NAME")


def _change(store: Store, ids: list[int], added: tuple[str, ...], removed: tuple[str, ...]) -> None:
    import msgspec

    from recrawl.crawl.fields import tag_list

    gone, new = set(tag_list("--remove", removed)), tag_list("--add", added)
    before = store.sources(ids=ids)
    after = [
        msgspec.structs.replace(
            source, tags=tuple(dict.fromkeys([*(tag for tag in source.tags if tag not in gone), *new]))
        )
        for source in before
    ]
    store.edit([source for source, old in zip(after, before, strict=True) if source.tags != old.tags])
