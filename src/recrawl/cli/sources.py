"""`recrawl sources`: the catalogue."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from recrawl.cli.options import json_option, opened_store, settings, store_options

if TYPE_CHECKING:
    from recrawl.cli.hold_lines import Held
    from recrawl.crawl_state import SourceStatus
    from recrawl.store.records import Hold

SHOWN, HELD_SHOWN = 100, 10
ORDERS = ("id", "url", "title", "importance", "added", "last", "due", "value", "failures")


@click.command(name="sources", short_help="List the catalogue.")
@click.option("--tag", metavar="T", help="Only those with this tag.")
@click.option("--state", type=click.Choice(["active", "paused", "retired"]), help="Only those in this state.")
@click.option("--text", metavar="TEXT", help="Only those with this text in URL or title.")
@click.option("--sort", "order", default="id", show_default=True, metavar="FIELD",
              help=f"One of {', '.join(ORDERS)}; with a leading - the other way round.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help=f"Show at most this many; {SHOWN} in a table.")
@json_option
@store_options
def command(tag: str | None, state: Any, text: str | None, order: str, limit: int | None, as_json: bool) -> None:
    """List the catalogue: each source, how often it brings something, when it was and will be fetched."""
    from recrawl.cli.tables import write_json
    from recrawl.cli.targets import find_tag
    from recrawl.crawl_state import CrawlState

    if order.removeprefix("-") not in ORDERS:
        raise click.UsageError(f"--sort is one of {', '.join(ORDERS)}, with or without a leading -; not {order}")
    config, now = settings(), time.time()
    with opened_store(config) as store:
        tag = find_tag(store, tag)
        most = limit if as_json or limit is not None else SHOWN
        which = {"tag": tag, "state": state, "text": text}
        at = CrawlState.read(store, config, now)
        shown = [_fields(each, now, at.hold_of(each.source)) for each in at.in_order(now, order, most, **which)]
        count = store.count(tag=tag, state=state, text=text)
    if as_json:
        write_json(shown)
    else:
        _show(shown, now, count)


def _fields(each: SourceStatus, now: float, hold: Hold | None) -> dict[str, Any]:
    """In JSON: seconds, Unix seconds, numbers nobody knows null; `hold` is on its host. Headers are never shown."""
    source, progress, found = each.source, each.progress, each.found
    held = progress.is_held(now)
    return {
        **{name: getattr(source, name) for name in ("id", "url", "title", "kind", "state")},
        "health": _health(each, now),
        "note": source.note,
        "tags": source.tags,
        "importance": found.importance,
        "cost": source.cost,
        "half_life_s": found.half_life_s,
        "max_age_s": found.max_age_s,
        "select": source.select,
        "options": source.options,
        "has_headers": bool(source.headers),
        "added": source.added,
        "last": progress.last,
        "due": found.due,
        "visits": progress.visits,
        "failures": progress.failures,
        "held_until": progress.held_until if held else 0.0,
        "held_by": progress.held_by if held else "",
        "held_cause": progress.held_cause if held else "",
        "held_host": hold.host if hold else "",
        "host_held_until": hold.until if hold else 0.0,
        "host_held_by": hold.reason if hold else "",
        "host_held_cause": hold.cause if hold else "",
        **{name: getattr(found, name) for name in ("value", "rate_per_s", "pace_per_day")},
        "captured": progress.captured,
    }


def _health(each: SourceStatus, now: float) -> str:
    """In a word or two: ok, new, paused, retired, failing so often, held for so long."""
    from recrawl.cli.tables import ahead

    more = {"failing": f" ×{each.progress.failures}", "held": f" {ahead(each.progress.held_until, now)}"}
    return each.health + more.get(each.health, "")


def _show(shown: list[dict[str, Any]], now: float, count: int) -> None:
    from rich.text import Text

    from recrawl.cli.console import console
    from recrawl.cli.hold_lines import show_held
    from recrawl.cli.tables import TONES, brief, brief_rate, table
    from recrawl.crawl.reading.plain_text import clean, visible

    out = console()
    if not shown:
        out.print("no sources" if not count else f"{count} sources, none shown")
        return
    rows = []
    for each in shown:
        last, due = each["last"], each["due"]
        name = Text(clean(each["title"], 200) or visible(each["url"]))
        cells = (
            each["kind"],
            brief_rate(each["pace_per_day"] / 86400.0),
            "–" if last is None else brief(each["half_life_s"]),
            "–" if last is None else brief(max(now - last, 0.0)),
            "–" if not math.isfinite(due) else brief(due - now) if due > now else "now",
        )
        rows.append((str(each["id"]), name, *cells, Text(each["health"], TONES.get(each["health"].split()[0], ""))))
    heads = ("id", "source", "kind", "pace", "½-life", "last", "due", "health")
    table(out, heads, rows, elastic=1, right=(0, 3, 4, 5, 6))
    show_held(out, _held(shown), now, HELD_SHOWN)
    if count > len(shown):
        out.print(f"{len(shown)} of {count} sources; --limit shows more, --text and --tag find some", style="dim")


def _held(shown: list[dict[str, Any]]) -> Iterator[Held]:
    """What waits of them because something went wrong, or because a host asked for time."""
    from recrawl.cli.hold_lines import Held
    from recrawl.crawl.hold_causes import ROUTINE

    for each in shown:
        if each["state"] == "active" and each["held_until"] and each["held_cause"] not in ROUTINE:
            yield Held(each["held_until"], f"{each['id']} {each['title'] or each['url']}", each["held_by"])
        if each["state"] == "active" and each["host_held_until"]:
            yield Held(each["host_held_until"], each["held_host"], each["host_held_by"])
