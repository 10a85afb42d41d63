"""The fleet: what it spends, at what price, and how each shard does, from the status it keeps in the store."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass

from recrawl.cluster.status import FleetStatus, ShardLine, Wish, is_up
from recrawl.units import show_rate
from recrawl.web.context import Context

MOST_LINES = 200
"""Shards listed on the page; the API has all of them."""
SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "day": 86400.0}
TROUBLED = ("silent", "waiting")
LOOPBACK = ("127.", "localhost", "[::1]")
"""Where the Ray of a fleet on one machine is."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """A status, and what to make of it.

    Parameters
        up: whether its coordinator was alive a moment ago
        wanted: shards asked for last; 0 if the fleet was to end
        age_s: how old the status is
        unit, unit_s: in which rates are told, and its length, chosen so that the budget reads well
        lines: by name; those in trouble first where not all are listed
        troubled: shards that are silent or waiting
        command: that starts it again
    """

    status: FleetStatus
    up: bool
    wanted: int
    age_s: float
    unit: str
    unit_s: float
    lines: list[ShardLine]
    troubled: list[ShardLine]
    command: str

    @property
    def granted(self) -> float:
        """Requests per second that shards may send now, all together."""
        return math.fsum(line.rate for line in self.status.shards)

    @property
    def working(self) -> int:
        """Shards at work."""
        return sum(line.state not in TROUBLED for line in self.status.shards)

    @property
    def ending(self) -> bool:
        """Whether somebody asked it to end, or it has."""
        return self.wanted == 0 or self.status.ended

    def total(self, name: str) -> float:
        """The sum of a column over all shards."""
        return math.fsum(getattr(line, name) for line in self.status.shards)


def fleet(context: Context) -> Fleet | None:
    """As of its last status; None where there never was a fleet."""
    status = context.fleet_status()
    if status is None:
        return None
    wish, now = context.wish(), context.now()
    unit = show_rate(status.budget).rpartition("/")[2]
    lines = sorted(status.shards, key=lambda line: _by_number(line.name))
    troubled = [line for line in lines if line.state in TROUBLED]
    if len(lines) > MOST_LINES:
        lines = sorted(lines, key=lambda line: line.state not in TROUBLED)
    return Fleet(
        status=status,
        up=is_up(status, now),
        wanted=status.wanted if wish is None else wish.shards,
        age_s=max(now - status.at, 0.0),
        unit=unit,
        unit_s=SECONDS[unit],
        lines=lines[:MOST_LINES],
        troubled=troubled,
        command=command(context, status, wish),
    )


def command(context: Context, status: FleetStatus | None = None, wish: Wish | None = None) -> str:
    """What starts a fleet on this store: as the last one was, where there was one."""
    asked = (
        (wish.shards if wish else 0) or (status.wanted if status else 0) or len(status.shards if status else ()) or 4
    )
    budget = wish.budget if wish else status.budget if status else context.budget()
    ours = wish is None or wish.address.removeprefix("ray://").startswith(LOOPBACK)
    where = "--local" if ours or wish is None else f"--address {shlex.quote(wish.address or 'auto')}"
    return f"recrawl cluster up {where} --shards {asked} --store {_store(context)} --budget {show_rate(budget)}"


def _store(context: Context) -> str:
    store = context.config.store
    return shlex.quote(store) if store.startswith("postgres") else "postgresql://…"


def _by_number(name: str) -> tuple[object, ...]:
    """So that shard 10 comes after shard 9."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name))
