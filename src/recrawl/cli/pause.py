"""`recrawl pause`: leave sources alone for a while."""

from __future__ import annotations

import click

from recrawl.cli.options import name_of, opened_store, settings, store_options
from recrawl.cli.targets import target_options


@click.command(name="pause", short_help="Stop fetching sources, or resume them.")
@target_options
@click.option("--resume", is_flag=True, help="Fetch them again, retired ones included.")
@store_options
def command(targets: tuple[str, ...], tags: tuple[str, ...], resume: bool) -> None:
    """Stop fetching sources without forgetting anything about them.

    TARGET is an id, a URL, or a part of a URL or title that fits one source only; --tag NAME stands for all sources
    with a tag. A running crawler follows within seconds.
    """
    import msgspec

    from recrawl.cli.targets import find_targets

    wanted = "active" if resume else "paused"
    with opened_store(settings()) as store:
        sources = find_targets(store, targets, tags)
        store.edit([msgspec.structs.replace(each, state=wanted) for each in sources if each.state != wanted])
    for source in sources:
        verb = ("resumed" if resume else "paused") if source.state != wanted else f"already {wanted}"
        click.echo(f"{verb}: {source.id} {name_of(source)}")
