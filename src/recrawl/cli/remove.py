"""`recrawl remove`: forget sources."""

from __future__ import annotations

import click

from recrawl.cli.options import name_of, opened_store, settings, store_options
from recrawl.cli.targets import target_options


@click.command(name="remove", short_help="Forget sources and everything found in them.")
@target_options
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_options
def command(targets: tuple[str, ...], tags: tuple[str, ...], yes: bool) -> None:
    """Forget sources and everything found in them. `recrawl pause` keeps it.

    TARGET is an id, a URL, or a part of a URL or title that fits one source only; --tag NAME stands for all sources
    with a tag.
    """
    from recrawl.cli.targets import find_targets

    with opened_store(settings()) as store:
        sources = find_targets(store, targets, tags)
        for source in sources:
            click.echo(f"{'removing' if yes else 'to remove'}: {source.id} {name_of(source)}  {source.url}")
        if not yes:
            click.confirm("Forget these and all that was found in them?", abort=True)
        count = store.remove([source.id for source in sources])
    click.echo(f"{count} removed")
