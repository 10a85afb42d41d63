"""`recrawl changes`: what changed on pages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from recrawl.cli.options import json_option, name_of, opened_store, settings, store_options

if TYPE_CHECKING:
    from rich.text import Text

    from recrawl.store.records import Item, Version
    from recrawl.store.roles import Store

TONES = {"+": "green", "-": "red", "@": "cyan"}
OF_ONE, OF_ALL = 5, 20
"""How many are shown unless something else is said."""
LINES = 12
"""Of one change among those of all pages; the rest is told with the page's own changes."""


@click.command(name="changes", short_help="Show what changed on pages.")
@click.argument("target", required=False)
@click.option("--since", metavar="TIME", help="Only what changed in the last 1h, 2d, …")
@click.option("--tag", metavar="T", help="Only those of sources with this tag.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Show at most this many.  [default: {OF_ALL}, of one page {OF_ONE}]",
)
@json_option
@store_options
def command(target: str | None, since: str | None, tag: str | None, limit: int | None, as_json: bool) -> None:
    """Show the changes of all watched pages, the latest first.

    With a TARGET, show only the states of that page. TARGET is an id, a URL, or a part of a URL or title that fits one
    source only.
    """
    from recrawl.cli.targets import find_source, find_tag
    from recrawl.units import parse_duration

    now = time.time()
    start = None if since is None else now - parse_duration("--since", since)
    with opened_store(settings()) as store:
        tag = find_tag(store, tag)
        if target is None:
            found = store.items(kind="change", tag=tag, since=start, limit=limit or OF_ALL)
            _show_all(store, found, now, as_json)
            return
        source = find_source(store, target)
        versions = store.versions(source.id, limit or OF_ONE) if tag is None or tag in source.tags else []
    _show_one([each for each in versions if start is None or each.at >= start], now, as_json)


def _show_all(store: Store, found: Sequence[Item], now: float, as_json: bool) -> None:
    from rich.text import Text

    from recrawl.cli.console import console
    from recrawl.cli.tables import ago, lines, write_json
    from recrawl.crawl.reading.diffs import tells_sizes, without_noise
    from recrawl.crawl.reading.plain_text import visible

    diffs = store.diffs(found)
    sources = {each.id: each for each in store.sources(ids=sorted({item.source for item in found}))} if found else {}
    shown = [(item, sources[item.source], diffs.get(item.id, "")) for item in found if item.source in sources]
    if as_json:
        rows = [
            {"id": item.id, "source": item.source, "source_url": source.url, "source_title": source.title,
             "at": item.first_seen, "added": item.summary, "diff": diff}
            for item, source, diff in shown
        ]  # fmt: skip
        write_json(rows)
        return
    texts: list[Text] = []
    for item, source, diff in shown:
        sign = "" if tells_sizes(item.summary) else "+"
        told = without_noise(diff).splitlines() or [f"{sign}{line}" for line in item.summary.splitlines()]
        texts += [Text("")] if texts else []
        name = (name_of(source, 100), "bold")
        texts.append(
            Text.assemble((f"{ago(item.first_seen, now)} ago  ", "dim"), name, (f"  {visible(item.link)}", "dim"))
        )
        texts += [_line(line) for line in told[:LINES]]
        if len(told) > LINES:
            texts.append(Text(f"… {len(told) - LINES} more lines: recrawl changes {source.id}", style="dim"))
    lines(console(), texts or [Text("no changes")])


def _show_one(found: Sequence[Version], now: float, as_json: bool) -> None:
    from rich.text import Text

    from recrawl.cli.console import console
    from recrawl.cli.tables import ago, lines, write_json
    from recrawl.crawl.reading.plain_text import visible

    if as_json:
        names = ("source", "at", "digest", "diff", "note")
        write_json([{name: getattr(each, name) for name in names} for each in found])
        return
    texts: list[Text] = []
    for each in found:
        what = each.note or ("" if each.diff else "first seen")
        texts.append(Text(visible(f"{ago(each.at, now)} ago{what and ': '}{what}"), style="bold"))
        texts += _lines(each.diff)
    lines(console(), texts or [Text("no changes")])


def _lines(diff: str) -> Iterator[Text]:
    """Of a diff; what is noise without colour."""
    from rich.text import Text

    from recrawl.crawl.reading.diffs import is_noisy

    noisy = False
    for line in diff.splitlines():
        noisy = is_noisy(line) if line.startswith("@@") else noisy
        text = _line(line)
        yield text if not noisy else Text(text.plain, "dim")


def _line(line: str) -> Text:
    from rich.text import Text

    from recrawl.crawl.reading.plain_text import visible

    return Text(visible(line), TONES.get(line[:1], ""))
