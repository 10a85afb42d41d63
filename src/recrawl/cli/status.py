"""`recrawl status`: how it goes."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from recrawl.cli.options import json_option, opened_store, settings, store_options

if TYPE_CHECKING:
    from rich.console import Console

    from recrawl.config import Config
    from recrawl.crawl_state import SourceStatus
    from recrawl.store.discovery import LeftOut
    from recrawl.store.records import Crawl, Totals
    from recrawl.store.roles import Catalogue, Notes, Store

HOUR_S, DAY_S = 3600.0, 86400.0
HELD = 1000
"""Sources that wait, of which at most so many are named."""
LOOKED_AT, SHOWN = 5000, 5
"""Crawls of the last day from which hosts are judged, and how many lines each list has."""


@click.command(name="status", short_help="Show the state of the crawl: sources, price, spend, finds, trouble.")
@json_option
@store_options
def command(as_json: bool) -> None:
    """Show the state of the crawl: sources, budget and price, results of the last hour and day, and trouble."""
    from recrawl.cli.tables import write_json

    config = settings()
    with opened_store(config) as store:
        found = figures(store, config)
    now = found["now"]
    if as_json:
        write_json(found)
    else:
        _show(found, now)


def figures(store: Store, config: Config, now: float | None = None) -> dict[str, Any]:
    """Everything `recrawl status` says, in numbers."""
    from recrawl.cli.hold_lines import host_fields
    from recrawl.crawl_state import CrawlState

    now = time.time() if now is None else now
    at = CrawlState.read(store, config, now)
    soonest = at.in_order(now, "due", SHOWN, state="active")
    return {
        "now": now,
        "store": config.store,
        "crawler": at.crawler,
        "last_crawl": max((crawl.at for crawl in store.crawls(limit=1)), default=None),
        "quiet_until": _quiet_until(at.config, now),
        "sources": _counts(store, at.never_fetched),
        "held_sources": _held_sources(store, now),
        "policy": at.config.policy,
        "budget_per_s": at.budget,
        "price": at.price,
        "hour": store.totals(now - HOUR_S),
        "day": store.totals(now - DAY_S),
        **_hosts(store, store.crawls(since=now - DAY_S, limit=LOOKED_AT)),
        "discovery": _discovery(store, at.config),
        "holds": [host_fields(hold) for hold in at.holds.values()],
        "next": [_next(each) for each in soonest if each.found.due < math.inf],
    }


def _discovery(store: Notes, config: Config) -> dict[str, Any]:
    """The bounds on sources that were found, and what was left out because of them, the latest first."""
    from recrawl.store.discovery import NOTE, left_out

    bounds = config.discovery
    return {"per_site": bounds.per_site, "in_all": bounds.in_all, "left_out": left_out(store.note(NOTE))[::-1]}


def _quiet_until(config: Config, now: float) -> float | None:
    """When the quiet hours of the settings end, if it is within them."""
    from recrawl.config import quiet_until

    end = quiet_until(config.politeness.quiet, now)
    return end if end > now else None


def _counts(store: Store, never_fetched: int) -> dict[str, int]:
    from recrawl.crawl_state import count_by_state

    failing = sum(progress.failures > 0 for progress in store.progress())
    return {**count_by_state(store), "never_fetched": never_fetched, "failing": failing}


def _held_sources(store: Store, now: float) -> list[dict[str, Any]]:
    """Active sources that wait because something went wrong, those that may be fetched soonest first."""
    from recrawl.crawl.hold_causes import ROUTINE

    waiting = [each for each in store.progress() if each.is_held(now) and each.held_cause not in ROUTINE]
    waiting.sort(key=lambda each: each.held_until)
    known = {each.id: each for each in store.sources(ids=[each.source for each in waiting[:HELD]])} if waiting else {}
    return [
        {"id": source.id, "url": source.url, "title": source.title, "until": each.held_until, "reason": each.held_by,
         "cause": each.held_cause, "failures": each.failures}
        for each in waiting[:HELD] if (source := known.get(each.source)) and source.state == "active"
    ]  # fmt: skip


def _next(each: SourceStatus) -> dict[str, Any]:
    return {"id": each.source.id, "url": each.source.url, "title": each.source.title, "due": each.found.due}


def _hosts(store: Catalogue, crawls: Sequence[Crawl]) -> dict[str, Any]:
    """The slowest hosts and those that fail, by the crawls of the last day."""
    from recrawl.crawl_state import crawls_by_host

    rows = [_host_row(name, each) for name, each in crawls_by_host(store, crawls).items()]
    slow = sorted(rows, key=lambda row: -row["mean_s"])[:SHOWN]
    failing = sorted((row for row in rows if row["failed"]), key=lambda row: -row["failed"])[:SHOWN]
    return {"slowest_hosts": slow, "failing_hosts": failing}


def _host_row(name: str, crawls: Sequence[Crawl]) -> dict[str, Any]:
    failed = [crawl for crawl in crawls if crawl.outcome in ("failed", "refused")]
    return {
        "host": name,
        "crawls": len(crawls),
        "mean_s": sum(crawl.elapsed_s for crawl in crawls) / len(crawls),
        "failed": len(failed),
        "error": failed[0].error if failed else "",
    }


def _show(found: dict[str, Any], now: float) -> None:
    from recrawl.cli.console import console
    from recrawl.cli.tables import ago, ahead, number, pairs, table
    from recrawl.crawl.reading.plain_text import visible
    from recrawl.crawl_state import STATES
    from recrawl.units import show_rate

    out = console()
    counts = found["sources"]
    states = ", ".join(f"{counts[name]} {name}" for name in STATES if counts[name])
    also = [f"{counts[key]} {word}" for key, word in (("never_fetched", "never fetched"), ("failing", "failing"))
            if counts[key]]  # fmt: skip
    quiet = f"; quiet hours for {ahead(found['quiet_until'], now)} more" if found["quiet_until"] else ""
    price = "none yet" if found["price"] != found["price"] else number(found["price"])
    pairs(
        out,
        [
            ("store", visible(found["store"])),
            ("crawler", visible(found["crawler"] or "none is running") + quiet),
            ("last fetch", "none yet" if found["last_crawl"] is None else f"{ago(found['last_crawl'], now)} ago"),
            ("sources", (states or "none: add some with recrawl add URL") + (f" ({', '.join(also)})" if also else "")),
            ("policy", visible(found["policy"])),
            ("budget", show_rate(found["budget_per_s"])),
            ("price", price),
        ],
    )
    rows = [_total_row(name, found[name]) for name in ("hour", "day")]
    heads = ("", "requests", "fetches", "new", "changed", "failed", "captured", "per request")
    out.print()
    table(out, heads, rows, elastic=0, right=range(1, 8))
    _lists(out, found, now)


def _total_row(name: str, totals: Totals) -> tuple[str, ...]:
    from recrawl.cli.tables import number

    counts = (str(getattr(totals, key)) for key in ("requests", "crawls", "new", "changed", "failed"))
    return (f"last {name}", *counts, number(totals.captured), number(totals.captured / max(totals.requests, 1)))


def _lists(out: Console, found: dict[str, Any], now: float) -> None:
    """What is next, and what is in trouble; each list with its heading, where there is anything in it."""
    from rich.text import Text

    from recrawl.cli.hold_lines import Held, show_held
    from recrawl.cli.tables import ahead, table
    from recrawl.crawl.reading.plain_text import clean, told, visible

    left_out = found["discovery"]["left_out"]
    for title, heads, rows in (
        ("next", ("due", "source"), [(ahead(each["due"], now), clean(each["title"], 200) or visible(each["url"]))
                                     for each in found["next"]]),
        ("slowest hosts", ("mean", "host"), [(f"{each['mean_s']:.2f}s", clean(each["host"], 200))
                                             for each in found["slowest_hosts"]]),
        ("failing", ("failed", "host", "why"), [(f"{each['failed']} of {each['crawls']}", clean(each["host"], 40),
                                                 told(each["error"], 2000)) for each in found["failing_hosts"]]),
        (f"sites with more than may be found: {len(left_out)}", ("left out", "site", "why"),
         [(str(each.left_out), clean(each.site, 40), _why_left_out(each)) for each in left_out[:SHOWN]]),
    ):  # fmt: skip
        if rows:
            out.print(Text(f"\n{title}", style="bold"))
            table(out, heads, rows, elastic=len(heads) - 1, right=(0,), wrap=heads[-1] == "why")

    hosts = [Held(each["until"], each["host"], each["reason"]) for each in found["holds"]]
    own = [Held(each["until"], f"{each['id']} {each['title'] or each['url']}", each["reason"])
           for each in found["held_sources"]]  # fmt: skip
    show_held(out, [*hosts, *own], now, 2 * SHOWN)


def _why_left_out(each: LeftOut) -> str:
    reached = f"{each.found} found there" if each.bound == "per_site" else "as many found in all as may be"
    return f"{reached}: for more, raise discovery.{each.bound}"
