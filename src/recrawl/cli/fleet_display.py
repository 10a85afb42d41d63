"""How a fleet is shown in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

    from recrawl.cluster.source_owner import Owner
    from recrawl.cluster.status import FleetStatus, ShardLine

LINE_S = 10.0
"""Seconds between two plain lines."""


def show(status: FleetStatus, now: float) -> None:
    """Once."""
    from recrawl.cli.console import console

    console().print(_screen(status, now))


@contextmanager
def shown() -> Iterator[Callable[[FleetStatus, float], None]]:
    """Something that draws the fleet again and again: in place in a terminal, as lines elsewhere."""
    if not sys.stdout.isatty():
        yield _Lines().draw
        return
    from rich.live import Live

    with Live(auto_refresh=False) as live:
        yield lambda status, now: live.update(_screen(status, now), refresh=True)


class _Lines:
    def __init__(self) -> None:
        self._last = 0.0

    def draw(self, status: FleetStatus, now: float) -> None:
        if now - self._last >= LINE_S:
            self._last = now
            click.echo(_line(status))


def _line(status: FleetStatus) -> str:
    from recrawl.units import show_rate

    working = sum(shard.state == "working" for shard in status.shards)
    price = "none yet" if status.price is None else f"{status.price:.3g}"
    return (
        f"{working} of {status.wanted} shards work, spend {show_rate(status.spend)} of {show_rate(status.budget)}, "
        f"price {price}, {sum(shard.sources for shard in status.shards)} sources"
    )


def _screen(status: FleetStatus, now: float) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from recrawl.cli.tables import short
    from recrawl.cluster.status import is_up
    from recrawl.crawl.reading.plain_text import clean

    parts: list[RenderableType] = []
    if not is_up(status, now):
        parts.append(Text(f"no fleet works now: this is how it was {short(now - status.at)} ago", style="dark_orange"))
    parts += [Text(f"the fleet: {_line(status)}", style="bold"), _table(status)]
    if not any(shard.sources for shard in status.shards) and any(shard.buckets for shard in status.shards):
        parts.append(Text("it has no sources: add some with recrawl add URL, or recrawl import FILE"))
    if status.trouble:
        parts.append(Text(clean(status.trouble, 300), style="dark_orange"))
    parts.extend(
        Text(f"{shard.name}: {clean(shard.trouble, 300)}", style="dark_orange")
        for shard in status.shards
        if shard.trouble
    )
    return Group(*parts)


def _table(status: FleetStatus) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    grid = Table(box=SIMPLE_HEAD)
    for name in ("shard", "state"):
        grid.add_column(name)
    for name in ("granted", "spends", "price", "lag", "sources", "hosts", "buckets", "heard"):
        grid.add_column(name, justify="right")
    for shard in status.shards:
        grid.add_row(*_cells(shard))
    return grid


def _cells(shard: ShardLine) -> tuple[str, ...]:
    from recrawl.cli.tables import short

    return (
        shard.name,
        shard.state,
        f"{shard.rate:.3g}/s",
        f"{shard.spend:.3g}/s",
        "–" if shard.own_price is None else f"{shard.own_price:.3g}",
        "–" if shard.lag_s is None else short(shard.lag_s),
        str(shard.sources),
        str(shard.hosts),
        str(shard.buckets),
        short(shard.heard_s),
    )


def show_owner(owner: Owner) -> None:
    """Which shard has a source."""
    from recrawl.cli.console import console
    from recrawl.cli.tables import pairs
    from recrawl.crawl.reading.plain_text import clean

    who = clean(owner.shard, 200) or "nobody now"
    rows = [("shard", who), ("domain", f"{clean(owner.domain, 200)}, bucket {owner.bucket}")]
    if owner.shard:
        rows.append(("lease", f"epoch {owner.epoch}, {owner.left_s:.0f} s left"))
    if owner.line is not None and owner.line.own_price is not None:
        rows.append(("its price", f"{owner.line.own_price:.3g}"))
    if owner.price is not None:
        rows.append(("fleet's price", f"{owner.price:.3g}"))
    out = console()
    out.print()
    pairs(out, rows)
