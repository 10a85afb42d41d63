"""`recrawl whatif`: what another budget would buy."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from recrawl.cli.options import json_option, name_of, opened_store, settings, store_options

if TYPE_CHECKING:
    from recrawl.crawl.explaining.whatif import BelievedSources, Prospect
    from recrawl.store.records import Source

MOVERS = 10
HOUR_S = 3600.0


@click.command(name="whatif", short_help="Compare budgets: what each would bring.")
@click.option("--budget", "budgets", multiple=True, required=True, metavar="RATE",
              help="Compare with this budget: 120/min; may be repeated.")  # fmt: skip
@click.option("--tag", metavar="T", help="Only sources with this tag share the budget.")
@click.option("--movers", "count", type=click.IntRange(min=0), default=MOVERS, show_default=True, metavar="N",
              help="How many of the sources that change most to list.")  # fmt: skip
@json_option
@store_options
def command(budgets: tuple[str, ...], tag: str | None, count: int, as_json: bool) -> None:
    """Compare the present budget with others: price, interest captured, delay, and which sources gain.

    The running policy computes this from its present estimates; nothing is fetched. Requests for robots.txt and
    redirects are not counted.
    """
    from recrawl.cli.tables import write_json
    from recrawl.cli.targets import find_tag
    from recrawl.crawl.explaining.whatif import compare
    from recrawl.crawl_state import CrawlState
    from recrawl.units import parse_rate

    asked = [parse_rate("--budget", text) for text in budgets]
    config, now = settings(), time.time()
    with opened_store(config) as store:
        tag = find_tag(store, tag)
        at = CrawlState.read(store, config, now)
        sources, believed = at.believed(store.sources(state="active", tag=tag), now)
        never = store.count(state="active", tag=tag, never_fetched=True)
    prospects = compare(believed, [at.budget, *asked])
    if as_json:
        write_json(as_fields(sources, believed, prospects) | {"never_fetched": never})
    else:
        _show(sources, believed, prospects, count, at.config.policy, never)


def as_fields(sources: Sequence[Source], catalogue: BelievedSources, prospects: Sequence[Prospect]) -> dict[str, Any]:
    """Everything, for programs; the first prospect is that of the present budget."""
    intervals = zip(*(each.interval.tolist() for each in prospects), strict=True)
    unit = HOUR_S if catalogue.interest else math.nan
    captures = zip(*((each.captures * unit).tolist() for each in prospects), strict=True)
    return {
        "sources": len(sources),
        "unknown": int((~catalogue.known).sum()),
        "budgets": [_fields(catalogue, each) for each in prospects],
        "cadence": [
            {"id": source.id, "url": source.url, "interval_s": interval, "captured_per_hour": captured}
            for source, interval, captured in zip(sources, intervals, captures, strict=True)
        ],
    }


def _fields(catalogue: BelievedSources, each: Prospect) -> dict[str, float | None]:
    worth = catalogue.interest
    return {
        "budget_per_s": each.budget,
        "spend_per_s": each.spend,
        "price": each.price,
        "captured_per_hour": each.captured * HOUR_S if worth else None,
        "inflow_per_hour": each.inflow * HOUR_S if worth else None,
        "up_to_date": catalogue.up_to_date(each),
        "median_delay_s": each.delay,
        "never_worth_a_fetch": each.unworthy,
    }


def _show(
    sources: Sequence[Source],
    catalogue: BelievedSources,
    prospects: Sequence[Prospect],
    count: int,
    policy: str,
    never: int,
) -> None:
    from recrawl.cli.console import console
    from recrawl.cli.tables import number, short, table
    from recrawl.config.live_policies import LEARNED
    from recrawl.units import show_rate

    out = console()
    known = int(catalogue.known.sum())
    if not known and policy != LEARNED:
        out.print(f"the policy that runs ({policy}) knows no price, so nobody can say what another budget would change")
        return
    if not known:
        out.print("nothing is known of any source yet: let `recrawl run` fetch them first")
        return
    rows = [
        ("requests", *(show_rate(each.spend) for each in prospects)),
        ("price", *(number(each.price) for each in prospects)),
        *(_captured(prospects) if catalogue.interest else ()),
        ("up to date, on average", *(f"{catalogue.up_to_date(each):.1%}" for each in prospects)),
        ("half is seen within", *(short(each.delay) for each in prospects)),
        ("never worth a fetch", *(f"{each.unworthy} of {known}" for each in prospects)),
    ]
    heads = ("budget", f"{show_rate(prospects[0].budget)} (now)", *(show_rate(each.budget) for each in prospects[1:]))
    table(out, heads, rows, elastic=0, right=range(1, len(heads)))
    if never:
        out.print(f"{never} sources never fetched yet are left out", style="dim")
    if count:
        _show_movers(sources, catalogue, prospects, count)


def _captured(prospects: Sequence[Prospect]) -> list[tuple[str, ...]]:
    from recrawl.cli.tables import number

    first = prospects[0].captured
    return [
        ("captured per hour", *(number(each.captured * HOUR_S) for each in prospects)),
        ("  against now", "", *(f"{each.captured / first - 1:+.1%}" if first else "–" for each in prospects[1:])),
        ("  of all there is", *(f"{each.share:.1%}" if each.inflow else "–" for each in prospects)),
    ]


def _show_movers(
    sources: Sequence[Source], catalogue: BelievedSources, prospects: Sequence[Prospect], count: int
) -> None:
    from rich.text import Text

    from recrawl.cli.console import console
    from recrawl.cli.tables import short, table
    from recrawl.crawl.explaining.whatif import movers

    out, before, after = console(), prospects[0], prospects[-1]
    rows = [
        (name_of(sources[k], 200), f"every {short(before.interval[k])}", f"every {short(after.interval[k])}",
         *((f"{(after.captures[k] - before.captures[k]) * HOUR_S:+.3g}",) if catalogue.interest else ()))
        for k in movers(before, after, count).tolist()
    ]  # fmt: skip
    if rows:
        out.print(Text("\nwhat changes most", style="bold"))
        heads = ("source", "now", "then", *(("captured per hour",) if catalogue.interest else ()))
        table(out, heads, rows, elastic=0, right=range(1, len(heads)))
