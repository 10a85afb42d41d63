"""`recrawl explain`: why a source is fetched when it is."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import click

from recrawl.cli.options import json_option, opened_store, settings, store_options

if TYPE_CHECKING:
    from recrawl.config import Config
    from recrawl.crawl.explaining.explanation import Explanation
    from recrawl.store.records import Source
    from recrawl.store.roles import Store

HOUR_S = 3600.0
ERROR = 2000
"""Characters of an error: they are shown whole, however a server fills them."""
UNKNOWN = ("value", "rate", "age", "index now", "price", "meets it", "captured")
"""Lines that say nothing of a source of which nothing is known."""
RANKED = ("index now", "price", "meets it")
"""Lines that say when it is fetched, and nothing of one that is not."""


@click.command(name="explain", short_help="Say why and when a source is fetched.")
@click.argument("target")
@json_option
@store_options
def command(target: str, as_json: bool) -> None:
    """Show the estimates for a source, what a fetch of it is worth now, when it is due, and why.

    TARGET is an id, a URL, or a part of a URL or title that fits one source only. The JSON has every number needed to
    compute index and due time by hand.
    """
    from recrawl.cli.tables import write_json
    from recrawl.cli.targets import find_source

    config = settings()
    with opened_store(config) as store:
        found = looked_at(store, config, find_source(store, target))
    now = time.time()
    if as_json:
        write_json(found)
    else:
        show(found, now)


def looked_at(store: Store, config: Config, source: Source, now: float | None = None) -> Explanation:
    """What there is to say of a source, as whoever crawls it ranks it."""
    from recrawl.crawl_state import CrawlState

    now = time.time() if now is None else now  # not before what is imported here: that takes a while
    progress = next(iter(store.progress([source.id])))
    return CrawlState.read(store, config, now).explained(source, progress, now)


def show(found: Explanation, now: float) -> None:
    """In a terminal."""
    from rich.text import Text

    from recrawl.cli.console import console
    from recrawl.cli.tables import ago, ahead, number, pairs
    from recrawl.crawl.explaining.ranking import reasons_in_words
    from recrawl.crawl.reading.plain_text import clean, told, visible
    from recrawl.units import show_duration

    out = console()
    out.print(Text(clean(found.title, 200) or visible(found.url), style="bold"))
    if found.title:
        out.print(Text(visible(found.url), style="dim"))
    out.print(Text(f"\n{told(found.why, 2 * ERROR)}\n"))
    for said in (found.as_list, found.named_by):
        if said is not None:
            out.print(Text(f"{told(said.words, 2 * ERROR)}\n"))
    for each in found.restless:
        out.print(Text(f"{told(each.words, 2 * ERROR)}; --no-restless makes it count\n"))
    if found.rendering is not None:
        out.print(Text(f"{told(found.rendering.words, 2 * ERROR)}\n"))
    due = "never" if math.isinf(found.due) else "not known" if math.isnan(found.due) else ahead(found.due, now)
    unknown, fetched = found.last is None, found.state == "active"
    left_out = (UNKNOWN if unknown else ()) + (() if fetched else RANKED)
    failing = "once" if found.failures == 1 else f"{found.failures} times in a row"
    rows = [
        ("pace", found.pace if unknown else f"{found.pace}; half-life of its news {show_duration(found.half_life_s)}"),
        ("value", number(found.value) + _between(found.value_low, found.value_high)),
        ("rate", number(found.rate_per_s * HOUR_S) + " per hour"
                 + _between(found.rate_low * HOUR_S, found.rate_high * HOUR_S)),
        ("importance", f"{number(found.importance)}, cost {number(found.cost)}"),
        ("age", f"{ago(found.last, now)} since the last of {found.visits} fetches"),
        *(reasons_in_words(found.reasons) if fetched else ()),
        ("index now", number(found.index) + _ripe(found)),
        ("price", number(found.price)),
        ("meets it", _at_age(found.crossing_age_s)),
        ("due", due if unknown or not fetched else f"{due}; at the latest every {show_duration(found.max_age_s)}"),
        ("captured", f"{number(found.captured)} so far"),
        *((("failing", failing),) if found.failures else ()),
        *(("held back", f"{told(each.reason, ERROR)} ({_for(each.until - now)})") for each in found.held_back),
        *((("hub", told(found.hub, ERROR)),) if found.hub else ()),
        *((("number", told(found.number, ERROR)),) if found.number else ()),
        *(("counts if", told(each, ERROR)) for each in found.when),
        *((("last state", told(f"no change: {found.last_state}", ERROR)),) if found.last_state else ()),
        *((("note", told(found.note, ERROR)),) if found.note else ()),
    ]  # fmt: skip
    pairs(out, [row for row in rows if row[0] not in left_out])
    _show_crawls(found, now)


def _between(low: float, high: float) -> str:
    """A 90 % interval in words, where there is any doubt."""
    from recrawl.cli.tables import number

    return f"  (90 %: {number(low)} to {number(high)})" if low < high else ""


def _at_age(seconds: float) -> str:
    from recrawl.cli.tables import short

    return "never" if math.isinf(seconds) else "–" if math.isnan(seconds) else f"at an age of {short(seconds)}"


def _ripe(found: Explanation) -> str:
    """What it is worth once ripe, where that comes to an end; no more than that, where every hour is alike."""
    from recrawl.cli.tables import number
    from recrawl.crawl.explaining.explanation import BOUNDED

    if not math.isfinite(found.ceiling):
        return ""
    return (
        f", {number(found.ceiling)} at most" if found.form in BOUNDED else f", about {number(found.ceiling)} once ripe"
    )


def _for(seconds: float) -> str:
    from recrawl.cli.tables import short

    return f"for {short(seconds)}" if seconds < math.inf else "until somebody resumes it"


def _show_crawls(found: Explanation, now: float) -> None:
    from recrawl.cli.console import console
    from recrawl.cli.tables import ago, number, table
    from recrawl.crawl.reading.plain_text import told

    if not found.crawls:
        return
    out = console()
    out.print()
    rows = [
        (ago(each.at, now), each.outcome, str(each.status or "–"), str(each.new), number(each.captured),
         number(each.index), number(each.price), told(each.error, ERROR))
        for each in found.crawls
    ]  # fmt: skip
    heads = ("ago", "outcome", "status", "new", "captured", "index", "price", "error")
    table(out, heads, rows, elastic=7, right=(0, 2, 3, 4, 5, 6), wrap=True)
