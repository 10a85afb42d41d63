"""`recrawl changes`: what changed on a page."""

from __future__ import annotations

import time

import click

from recrawl.cli.options import json_option, opened_store, settings, store_options

TONES = {"+": "green", "-": "red", "@": "cyan"}


@click.command(name="changes", short_help="Show what changed on a page.")
@click.argument("target")
@click.option("--limit", type=click.IntRange(min=1), default=5, show_default=True, metavar="N", help="At most.")
@json_option
@store_options
def command(target: str, limit: int, as_json: bool) -> None:
    """Show the differences between the states of a page, the latest first.

    TARGET is an id, a URL, or a part of a URL or title that fits one source only.
    """
    from rich.text import Text

    from recrawl.cli.console import console
    from recrawl.cli.showing import ago, lines, write_json
    from recrawl.cli.targets import find_source
    from recrawl.crawl.text import visible

    now = time.time()
    with opened_store(settings()) as store:
        found = store.versions(find_source(store, target).id, limit)
    if as_json:
        write_json([{"source": each.source, "at": each.at, "digest": each.digest, "diff": each.diff} for each in found])
        return
    texts = []
    for each in found:
        texts.append(Text(f"{ago(each.at, now)} ago" + ("" if each.diff else ": first seen"), style="bold"))
        texts += [Text(visible(line), TONES.get(line[:1], "")) for line in each.diff.splitlines()]
    lines(console(), texts or [Text("no changes")])
