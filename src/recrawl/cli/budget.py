"""`recrawl budget`: what may be spent, and another budget for whoever crawls."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from recrawl.cli.options import opened_store, set_by, settings, store_options

if TYPE_CHECKING:
    from recrawl.config import Config
    from recrawl.store.roles import Store


@click.command(name="budget", short_help="Show the budget, or give the running crawler another.")
@click.argument("rate", required=False)
@store_options
def command(rate: str | None) -> None:
    """Give the running crawler another budget: 120/min, 5/s, 20000/day. Without RATE: show the present one.

    It holds from the next second until that run ends; the next run begins with the budget of the settings, or of its
    own --budget. It works for a fleet too.
    """
    from recrawl.cluster import budget_requests
    from recrawl.units import parse_rate, show_rate

    wanted = None if rate is None else parse_rate("RATE", rate)
    config, now = settings(), time.time()
    with opened_store(config) as store:
        if wanted is None:
            _show(store, config, now)
            return
        before = budget_requests.ask(store, wanted, now)
        fleet = budget_requests.of_fleet(store, now) is not None
    click.echo(f"{show_rate(wanted)} from now on, instead of {show_rate(before)}")
    if fleet:
        click.echo("the fleet shares it out: `recrawl cluster status` shows the progress")
    else:
        click.echo(f"until this run ends: the next begins with {_usual(config)}")


def _show(store: Store, config: Config, now: float) -> None:
    from recrawl.cli.tables import short
    from recrawl.cluster import budget_requests
    from recrawl.units import show_rate

    wish, note, crawler = budget_requests.of_fleet(store, now), budget_requests.of_crawler(store), store.claimed()
    if wish is not None:
        click.echo(f"{show_rate(wish.budget)}, of the fleet that runs")
    elif note is None:
        click.echo(_usual(config))
        click.echo("no crawler runs" if crawler is None else f"{crawler} crawls with a budget of its own")
    elif note.wanted is None:
        click.echo(f"{show_rate(note.begun)}, as the crawler was started with")
    else:
        click.echo(f"{show_rate(note.wanted)}, asked for {short(now - note.at)} ago")
        click.echo(f"the run began with {show_rate(note.begun)}; the next begins with {_usual(config)}")


def _usual(config: Config) -> str:
    """The budget of the settings, and the file that says so."""
    from recrawl.units import show_rate

    return f"{show_rate(config.budget_per_s)} ({set_by('budget') or 'the default'})"
