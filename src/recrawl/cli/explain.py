"""`recrawl explain`: why a source is fetched when it is."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import click

from recrawl.cli.options import json_option, opened_store, settings, store_options

if TYPE_CHECKING:
    from recrawl.config import Config
    from recrawl.crawl.explanation import Circumstances, Explanation
    from recrawl.store.base import Progress, Source, Store

CRAWLS = 10
HOUR_S = 3600.0
UNKNOWN = ("value", "rate", "age", "index now", "meets it")
"""Lines that say nothing of a source of which nothing is known."""


@click.command(name="explain", short_help="Say why and when a source is fetched.")
@click.argument("target")
@json_option
@store_options
def command(target: str, as_json: bool) -> None:
    """Say what is believed of a source, what a fetch of it is worth now, when it is due, and why.

    TARGET is an id, a URL, or a part of a URL or title that fits one source only. The JSON has every number needed to
    compute index and due time by hand.
    """
    from recrawl.cli.showing import write_json
    from recrawl.cli.targets import find_source

    config, now = settings(), time.time()
    with opened_store(config) as store:
        found = explained(store, config, find_source(store, target), now)
    if as_json:
        write_json(found)
    else:
        show(found, now)


def explained(store: Store, config: Config, source: Source, now: float) -> Explanation:
    """What there is to say of a source, as whoever crawls it ranks it."""
    from recrawl.cluster.board import common_record
    from recrawl.crawl.explanation import explain
    from recrawl.crawl.settings_note import in_force
    from recrawl.wiring import recall

    config = in_force(store, config)
    progress = next(iter(store.progress([source.id])))
    around = circumstances(store, config, source, progress, now)
    ranking = recall(config, [source], [progress], common_record(store, now), now)
    standing = ranking.standing(progress, now, around.price)
    return explain(source, progress, now, around, standing, store.crawls(source=source.id, limit=CRAWLS))


def circumstances(store: Store, config: Config, source: Source, progress: Progress, now: float) -> Circumstances:
    """What the source shares with the others, from the store and the settings."""
    import random

    from recrawl.cli.economy import price_and_budget
    from recrawl.config import quiet_until
    from recrawl.crawl.explanation import Circumstances
    from recrawl.crawl.pace import first_wait
    from recrawl.crawl.politeness import Slots

    price, budget = price_and_budget(store, config, now)
    key = Slots(config.politeness, now, random.Random(0)).key_of(source.url)
    hold = next((each for each in store.holds(now) if each.host == key), None)
    waiting = 0
    if progress.last is None:
        active = {each.id for each in store.sources(state="active")}
        waiting = sum(each.last is None and each.source in active for each in store.progress())
    return Circumstances(
        price=price,
        half_life_s=config.half_life_s,
        max_age_s=config.max_age_s,
        min_interval_s=config.politeness.min_interval_s,
        host_held_until=hold.until if hold else 0.0,
        host_held_by=hold.reason if hold else "",
        quiet_until=quiet_until(config.politeness.quiet, now),
        first_wait_s=first_wait(waiting, budget, config.newcomers_share),
        objective=config.objective,
    )


def show(found: Explanation, now: float) -> None:
    """In a terminal."""
    from rich.text import Text

    from recrawl.cli.console import console
    from recrawl.cli.showing import ago, ahead, number, pairs
    from recrawl.crawl.explanation import reasons_in_words
    from recrawl.crawl.text import clean, visible
    from recrawl.units import show_duration

    out = console()
    out.print(Text(clean(found.title, 200) or visible(found.url), style="bold"))
    if found.title:
        out.print(Text(visible(found.url), style="dim"))
    out.print(Text(f"\n{clean(found.why, 1000)}\n"))
    due = "never" if math.isinf(found.due) else "not known" if math.isnan(found.due) else ahead(found.due, now)
    rows = [
        ("pace", f"{found.pace}; half-life of its news {show_duration(found.half_life_s)}"),
        ("value", number(found.value) + _between(found.value_low, found.value_high)),
        ("rate", number(found.rate_per_s * HOUR_S) + " per hour"
                 + _between(found.rate_low * HOUR_S, found.rate_high * HOUR_S)),
        ("importance", f"{number(found.importance)}, cost {number(found.cost)}"),
        ("age", f"{ago(found.last, now)} since the last of {found.visits} fetches"),
        *reasons_in_words(found),
        ("index now", number(found.index) + _ripe(found)),
        ("price", number(found.price)),
        ("meets it", _at_age(found.crossing_age_s)),
        ("due", f"{due}; at the latest every {show_duration(found.max_age_s)}"),
        ("captured", f"{number(found.captured)} so far"),
        *((("failing", f"{found.failures} times in a row"),) if found.failures else ()),
        *(("held back", f"{clean(each.reason, 300)} ({_for(each.until - now)})") for each in found.held_back),
        *((("note", clean(found.note, 500)),) if found.note else ()),
    ]  # fmt: skip
    unknown = math.isnan(found.value)
    pairs(out, [row for row in rows if not (unknown and row[0] in UNKNOWN)])
    _show_crawls(found, now)


def _between(low: float, high: float) -> str:
    """A 90 % interval in words, where there is any doubt."""
    from recrawl.cli.showing import number

    return f"  (90 %: {number(low)} to {number(high)})" if low < high else ""


def _at_age(seconds: float) -> str:
    from recrawl.cli.showing import short

    return "never" if math.isinf(seconds) else "–" if math.isnan(seconds) else f"at an age of {short(seconds)}"


def _ripe(found: Explanation) -> str:
    """What it is worth once ripe, where that comes to an end; no more than that, where every hour is alike."""
    from recrawl.cli.showing import number
    from recrawl.crawl.explanation import BOUNDED

    if not math.isfinite(found.ceiling):
        return ""
    return (
        f", {number(found.ceiling)} at most" if found.form in BOUNDED else f", about {number(found.ceiling)} once ripe"
    )


def _for(seconds: float) -> str:
    from recrawl.cli.showing import short

    return f"for {short(seconds)}" if seconds < math.inf else "until somebody resumes it"


def _show_crawls(found: Explanation, now: float) -> None:
    from recrawl.cli.console import console
    from recrawl.cli.showing import ago, number, table
    from recrawl.crawl.text import clean

    if not found.crawls:
        return
    out = console()
    out.print()
    rows = [
        (ago(each.at, now), each.outcome, str(each.status or "–"), str(each.new), number(each.captured),
         number(each.index), number(each.price), clean(each.error, 200))
        for each in found.crawls
    ]  # fmt: skip
    heads = ("ago", "outcome", "status", "new", "captured", "index", "price", "error")
    table(out, heads, rows, elastic=7, right=(0, 2, 3, 4, 5, 6))
