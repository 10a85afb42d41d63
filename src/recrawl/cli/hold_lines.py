"""Holds as commands show them: what waits, for how long, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console

    from recrawl.store.records import Hold

TITLE = "held (recrawl release TARGET lifts it)"


class Held(NamedTuple):
    """A line: until when, the source (its id and name) or host, and why."""

    until: float
    who: str
    why: str


def host_fields(hold: Hold) -> dict[str, Any]:
    """A hold of a host in JSON."""
    return {name: getattr(hold, name) for name in ("host", "until", "reason", "failures", "cause")}


def show_held(out: Console, held: Iterable[Held], now: float, most: int) -> None:
    """As a table, those that end soonest first; nothing where there is none."""
    from rich.text import Text

    from recrawl.cli.tables import short, table
    from recrawl.crawl.reading.plain_text import clean, told

    rows = sorted(set(held))
    if not rows:
        return
    out.print(Text(f"\n{TITLE}", style="bold"))
    lines = [(short(each.until - now), clean(each.who, 28), told(each.why, 2000)) for each in rows[:most]]
    table(out, ("for", "source or host", "why"), lines, elastic=2, right=(0,), wrap=True)
    if len(rows) > most:
        out.print(f"and {len(rows) - most} more; --json has them all", style="dim")
