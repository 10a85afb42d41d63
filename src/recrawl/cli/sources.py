"""`recrawl sources`: the catalogue."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from recrawl.cli.options import json_option, opened_store, settings, store_options

if TYPE_CHECKING:
    from recrawl.cli.holds import Held
    from recrawl.cli.views import SourceView

SHOWN, HELD_SHOWN = 100, 10
ORDERS = ("id", "url", "title", "importance", "added", "last", "due", "value", "failures")


@click.command(name="sources", short_help="List the catalogue.")
@click.option("--tag", metavar="T", help="Only those with this tag.")
@click.option("--state", type=click.Choice(["active", "paused", "retired"]), help="Only those in this state.")
@click.option("--text", metavar="TEXT", help="Only those with this in URL or title.")
@click.option("--sort", "order", default="id", show_default=True, metavar="FIELD",
              help=f"One of {', '.join(ORDERS)}; with a leading - the other way round.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help=f"At most so many; {SHOWN} in a table.")
@json_option
@store_options
def command(tag: str | None, state: Any, text: str | None, order: str, limit: int | None, as_json: bool) -> None:
    """List the catalogue: what each source is, how often it brings something, when it was and will be fetched."""
    from recrawl.answers import in_order, situation
    from recrawl.cli.showing import write_json
    from recrawl.cli.targets import find_tag
    from recrawl.cli.views import view

    if order.removeprefix("-") not in ORDERS:
        raise click.UsageError(f"--sort is one of {', '.join(ORDERS)}, with or without a leading -; not {order}")
    config, now = settings(), time.time()
    with opened_store(config) as store:
        tag = None if tag is None else find_tag(store, tag)
        most = limit if as_json or limit is not None else SHOWN
        which = {"tag": tag, "state": state, "text": text}
        at = situation(store, config, now)
        chosen = in_order(store, at, now, order, most, **which)
        shown = [view(each, now, at.holds.get(at.key_of(each.source.url))) for each in chosen]
        count = store.count(tag=tag, state=state, text=text)
    if as_json:
        write_json(shown)
    else:
        _show(shown, now, count)


def _show(shown: list[SourceView], now: float, count: int) -> None:
    from rich.text import Text

    from recrawl.cli.console import console
    from recrawl.cli.holds import show_held
    from recrawl.cli.showing import TONES, brief, brief_rate, table
    from recrawl.crawl.text import clean, visible

    out = console()
    if not shown:
        out.print("no sources" if not count else f"{count} sources, none shown")
        return
    rows = []
    for each in shown:
        last = "–" if each.last is None else brief(max(now - each.last, 0.0))
        due = "–" if not math.isfinite(each.due) else brief(each.due - now) if each.due > now else "now"
        half_life = "–" if each.last is None else brief(each.half_life_s)
        name = Text(clean(each.title, 200) or visible(each.url))
        tone = TONES.get(each.health.split()[0], "")
        cells = (each.kind, brief_rate(each.pace_per_day / 86400.0), half_life, last, due)
        rows.append((str(each.id), name, *cells, Text(each.health, tone)))
    heads = ("id", "source", "kind", "pace", "½-life", "last", "due", "health")
    table(out, heads, rows, elastic=1, right=(0, 3, 4, 5, 6))
    show_held(out, _held(shown), now, HELD_SHOWN)
    if count > len(shown):
        out.print(f"{len(shown)} of {count} sources; --limit shows more, --text and --tag find some", style="dim")


def _held(shown: list[SourceView]) -> Iterator[Held]:
    """What waits of them because something went wrong, or because a host asked for time."""
    from recrawl.cli.holds import Held
    from recrawl.crawl.causes import ROUTINE

    for each in shown:
        if each.state == "active" and each.held_until and each.held_cause not in ROUTINE:
            yield Held(each.held_until, f"{each.id} {each.title or each.url}", each.held_by)
        if each.state == "active" and each.host_held_until:
            yield Held(each.host_held_until, each.held_host, each.host_held_by)
