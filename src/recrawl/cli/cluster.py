"""`recrawl cluster`: a fleet of crawlers over one PostgreSQL store.

Only `up` talks to Ray. The others read what the fleet keeps in the store, and write there what is wanted of it.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recrawl.cli.options import json_option, opened_store, settings, store_options
from recrawl.cli.suggestions import Suggesting
from recrawl.errors import ConfigError, StoreError, require
from recrawl.redaction import without_password

if TYPE_CHECKING:
    from recrawl.cluster.status import FleetStatus
    from recrawl.config import Config
    from recrawl.store.postgres import PostgresStore
    from recrawl.store.roles import Notes

START_S = 180.0
"""Until the shards work: the first time on a machine they compile."""
STOP_S = 60.0
LOOK_S = 1.0
AWAY_S = 300.0
"""For so long whoever started a fleet waits for its coordinator, or the store, to come back."""


@click.group(name="cluster", cls=Suggesting, short_help="A fleet of crawlers over one PostgreSQL store.")
def command() -> None:
    """A fleet: many crawlers on one or more machines that share a store, a budget and one price."""


@command.command(name="up", short_help="Start a fleet.")
@click.option("--shards", type=click.IntRange(1, 10_000), default=os.cpu_count() or 1, show_default="cores here",
              help="How many crawlers.")  # fmt: skip
@click.option("--local", is_flag=True, help="On this machine only, with its own Ray, which ends with this command.")
@click.option("--address", show_default="auto", metavar="ADDRESS",
              help="The Ray to start on: auto finds the one here; HOST:PORT or ray://HOST:PORT.")  # fmt: skip
@click.option("--budget", help="Requests the whole fleet may send: 600/min, 50/s.")
@click.option("--burst", type=click.FloatRange(min=0.0, min_open=True), help="Requests that may be saved up.")
@click.option("--allow-private", is_flag=True, default=None, help="Fetch from private networks and this machine too.")
@click.option("--for", "duration", metavar="TIME", help="End the fleet after this time: 10m, 2h.")
@click.option("--follow", is_flag=True, help="Stay and show the fleet; Ctrl-C leaves it running.")
@store_options
def up(
    shards: int,
    local: bool,
    address: str | None,
    budget: str | None,
    burst: float | None,
    allow_private: bool | None,
    duration: str | None,
    follow: bool,
) -> None:
    """Start a fleet over the store of --store, which must be in PostgreSQL.

    With --local it stays in the foreground, shows the fleet, and Ctrl-C ends it, once visits in progress are finished.
    On a running Ray the fleet is started and left running; use `recrawl cluster status`, `scale` and `down`. Ray runs
    whatever reaches its ports: keep it on a private network (docs/fleet.md).
    """
    from recrawl.units import parse_duration

    config = _travelling(settings({"budget": budget, "burst": burst, "fetch.allow_private": allow_private}))
    seconds = None if duration is None else parse_duration("--for", duration)
    ends = local or seconds is not None
    if local and address is not None:
        raise click.UsageError("--local starts a Ray of its own: leave out --address, or --local")
    with _opened(config) as store:
        _refuse_company(config, store)
        with _on_ray(local, address or "auto", shards) as where:
            _begin(config, store, shards, where)
            try:
                _await_work(config, store, shards)
                if ends or follow:
                    _follow(store, seconds, AWAY_S)
            except KeyboardInterrupt:
                click.echo("ending the fleet: finishing its visits" if ends else "the fleet goes on", err=True)
            if ends:
                _end(store)


@command.command(name="status", short_help="Show the state of the fleet.")
@click.option("--follow", is_flag=True, help="Stay and show it again every second.")
@json_option
@store_options
def status(follow: bool, as_json: bool) -> None:
    """Show price and spend, and what each shard has, spends and lacks. Only reads the store."""
    from recrawl.cli.fleet_display import show
    from recrawl.cli.tables import write_json
    from recrawl.cluster.status import is_up

    config = settings()
    with _opened(config) as store:
        status = _last_status(store)
        if as_json:
            write_json({"up": is_up(status, time.time()), **_plain(status)})
        elif follow:
            _follow(store, None)
        else:
            show(status, time.time())


@command.command(name="scale", short_help="Change the number of shards, or the budget.")
@click.argument("shards", type=click.IntRange(1, 10_000), required=False)
@click.option("--budget", help="Requests the whole fleet may send from now on.")
@click.option("--burst", type=click.FloatRange(min=0.0, min_open=True),
              help="Requests that may be saved up; by default in proportion to the budget.")  # fmt: skip
@store_options
def scale(shards: int | None, budget: str | None, burst: float | None) -> None:
    """Ask the running fleet for SHARDS shards: domains move with everything known about them."""
    import msgspec

    from recrawl.cluster.status import read_wish, write_wish
    from recrawl.units import parse_rate

    if shards is None and budget is None and burst is None:
        raise click.UsageError("say how many shards, or which --budget")
    config = settings()
    with _opened(config) as store:
        _last_status(store, alive=True)
        wish = read_wish(store)
        assert wish is not None
        changes: dict[str, Any] = {} if shards is None else {"shards": shards}
        if budget is not None:
            rate = parse_rate("--budget", budget)
            changes |= {"budget": rate, "burst": max(1.0, wish.burst * rate / wish.budget)}
        if burst is not None:
            changes["burst"] = burst
        write_wish(store, msgspec.structs.replace(wish, **changes))
    click.echo("requested; `recrawl cluster status` shows the progress")


@command.command(name="down", short_help="End the fleet.")
@store_options
def down() -> None:
    """End the fleet: visits in progress are finished and stored first."""
    config = settings()
    with _opened(config) as store:
        _last_status(store, alive=True)
        _end(store)


@command.command(name="explain", short_help="Say which shard has a source, and why and when it is fetched.")
@click.argument("target")
@json_option
@store_options
def explain(target: str, as_json: bool) -> None:
    """Say which shard has a source, under which lease, and everything that `recrawl explain` says about it."""
    from recrawl.cli.explain import looked_at, show
    from recrawl.cli.fleet_display import show_owner
    from recrawl.cli.tables import write_json
    from recrawl.cli.targets import find_source

    config = settings()
    with _opened(config) as store:
        from recrawl.cluster.source_owner import owner_of

        source = find_source(store, target)
        owner = owner_of(store, source, _last_status(store))
        found = looked_at(store, config, source)
    if as_json:
        write_json({"owner": owner, "explanation": found})
        return
    show(found, time.time())
    show_owner(owner)


# -- parts


@contextmanager
def _opened(config: Config) -> Iterator[PostgresStore]:
    require("psycopg", "a fleet", "cluster")
    from recrawl.store.postgres import PostgresStore

    if not config.store.startswith(("postgresql://", "postgres://")):
        raise ConfigError(
            f"a fleet needs a store in PostgreSQL, not {without_password(config.store)}: "
            "recrawl store copy FROM postgresql://USER@HOST/DATABASE, then name it with --store"
        )
    with opened_store(config) as store:
        assert isinstance(store, PostgresStore)
        yield store


@contextmanager
def _on_ray(local: bool, address: str, shards: int) -> Iterator[str]:
    from recrawl.cluster import ray_actors

    click.echo("starting Ray on this machine …" if local else f"joining Ray at {address} …", err=True)
    where = ray_actors.start_here(shards) if local else ray_actors.connect(address)
    # A service manager's way to press Ctrl-C; only now, because Ray puts up a handler of its own when it begins.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield where
    finally:
        ray_actors.disconnect()


def _refuse_company(config: Config, store: PostgresStore) -> None:
    """Before anything is started: nobody else may crawl the store."""
    from recrawl.cluster.status import is_up, read_status

    if claimed := store.claimed():
        raise StoreError(f"{config.store} is being crawled by {claimed}: stop that one first")
    if is_up(read_status(store), time.time()):
        raise StoreError(f"a fleet works on {config.store} already: `recrawl cluster scale`, or `recrawl cluster down`")


def _begin(config: Config, store: Notes, shards: int, where: str) -> None:
    from recrawl.cluster import ray_actors
    from recrawl.cluster.status import Wish, write_wish

    wish = Wish(shards=shards, budget=config.budget_per_s, burst=config.burst_requests, address=where)
    write_wish(store, wish)
    ray_actors.start_coordinator(config)


def _travelling(config: Config) -> Config:
    """The settings as they are understood in other folders: events are written wherever the coordinator runs."""
    import msgspec

    events = config.outlets.events
    if events == "-":
        raise ConfigError("a fleet has no standard output: name a file in outlets.events, or use a webhook")
    whole = str(Path(events).absolute()) if events else events
    return msgspec.structs.replace(config, outlets=msgspec.structs.replace(config.outlets, events=whole))


def _await_work(config: Config, store: Notes, shards: int) -> None:
    """Until every shard has something, or as long as that may take; then the status says what is missing."""
    from recrawl.cluster import ray_actors
    from recrawl.cluster.status import read_status

    began = time.time()
    click.echo(f"starting {shards} shards (the first time on a machine code is compiled beside them) …", err=True)

    def working() -> bool:
        ray_actors.start_coordinator(config)  # the one that is there may be a fleet's that has just ended
        status = read_status(store)
        return status is not None and status.at > began and sum(s.state == "working" for s in status.shards) >= shards

    if not _until(working, START_S):
        click.echo("not every shard works yet: `recrawl cluster status` says more", err=True)


def _end(store: Notes) -> None:
    import msgspec

    from recrawl.cluster.status import is_up, read_status, read_wish, write_wish

    wish = read_wish(store)
    if wish is not None:
        write_wish(store, msgspec.structs.replace(wish, shards=0))
    if _until(lambda: not is_up(read_status(store), time.time()), STOP_S):
        click.echo("the fleet has ended")
    else:
        click.echo("the fleet is still ending: `recrawl cluster status` shows the progress")


def _until(happened: Callable[[], bool], at_most_s: float) -> bool:
    last = time.monotonic() + at_most_s
    while not happened():
        if time.monotonic() > last:
            return False
        time.sleep(LOOK_S / 2)
    return True


def _follow(store: Notes, seconds: float | None, patience_s: float = 0.0) -> None:
    """Show the fleet until it ends or nothing is heard of it for `patience_s`, or for so many seconds."""
    from recrawl.cli.fleet_display import shown
    from recrawl.cluster.status import STALE_S, read_status

    last = math.inf if seconds is None else time.monotonic() + seconds
    status: FleetStatus | None = None
    with shown() as draw:
        while time.monotonic() < last:
            try:
                status = read_status(store)
            except StoreError:
                if status is None or not patience_s:
                    raise
            if status is None or status.ended or time.time() - status.at > max(STALE_S, patience_s):
                click.echo("the fleet has ended", err=True)
                return
            draw(status, time.time())
            time.sleep(LOOK_S)


def _last_status(store: Notes, *, alive: bool = False) -> FleetStatus:
    from recrawl.cluster.status import is_up, read_status

    status = read_status(store)
    if status is None:
        raise StoreError("no fleet has ever worked on this store: start one with `recrawl cluster up`")
    if alive and not is_up(status, time.time()):
        raise StoreError("no fleet works on this store now: start one with `recrawl cluster up`")
    return status


def _plain(status: FleetStatus) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(status)
    return plain
