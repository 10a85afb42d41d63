"""`recrawl budget`: what may be spent, and another budget for the crawler that runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from recrawl.cli.options import opened_store, settings, store_options

if TYPE_CHECKING:
    from recrawl.config import Config
    from recrawl.crawl.budget_note import BudgetNote
    from recrawl.store.base import Store


@click.command(name="budget", short_help="Show the budget, or give the running crawler another.")
@click.argument("rate", required=False)
@store_options
def command(rate: str | None) -> None:
    """Give the running crawler another budget: 120/min, 5/s, 20000/day. Without RATE: show what holds, and why.

    It holds from the next second until that run ends; the next run begins with the budget of the settings, or of its
    own --budget.
    """
    from recrawl.units import parse_rate, show_rate

    wanted = None if rate is None else parse_rate("RATE", rate)
    config = settings()
    with opened_store(config) as store:
        if _fleet(store, wanted):
            return
        note = _running(store)
        if wanted is None:
            _show(store, config, note)
            return
        if note is None:
            from recrawl.errors import ContractError

            raise ContractError(_nobody(store, show_rate(wanted)))
        from recrawl.crawl.budget_note import ask

        ask(store, note, wanted, time.time())
    click.echo(f"{show_rate(wanted)} from now on, instead of {show_rate(note.per_second)}")
    click.echo(f"until this run ends: the next begins with {show_rate(config.budget_per_s)} {_by(config)}")


def _running(store: Store) -> BudgetNote | None:
    """The note of the crawler that runs, if it takes another budget."""
    from recrawl.crawl.budget_note import read

    note, crawler = read(store), store.claimed()
    return note if note is not None and crawler is not None and note.owner in crawler else None


def _nobody(store: Store, rate: str) -> str:
    crawler = store.claimed()
    if crawler is not None:
        return f"{crawler} crawls, and takes no other budget while it runs: give it one when it is started"
    kept = f'budget = "{rate}" in recrawl.toml'
    return f"no crawler runs: start one with `recrawl run --budget {rate}`, or keep it for all runs: {kept}"


def _show(store: Store, config: Config, note: BudgetNote | None) -> None:
    from recrawl.cli.showing import short
    from recrawl.units import show_rate

    usual = f"{show_rate(config.budget_per_s)} {_by(config)}"
    if note is None:
        crawler = store.claimed()
        click.echo(usual)
        click.echo("no crawler runs" if crawler is None else f"{crawler} crawls with a budget of its own")
    elif note.wanted is None:
        click.echo(f"{show_rate(note.begun)}, as the crawler was started with")
    else:
        click.echo(f"{show_rate(note.wanted)}, asked for {short(time.time() - note.at)} ago by `recrawl budget`")
        click.echo(f"the run began with {show_rate(note.begun)}; the next begins with {usual}")


def _by(config: Config) -> str:
    from recrawl.config import Config as Settings

    return "(the default)" if config.budget == Settings().budget else "(by the settings)"


def _fleet(store: Store, wanted: float | None) -> bool:
    """Whether a fleet runs; it is shown its budget, or asked for another."""
    import msgspec

    from recrawl.cluster.board import is_up, read_board, read_wish, write_wish
    from recrawl.units import show_rate

    board = read_board(store)
    wish = read_wish(store) if is_up(board, time.time()) else None
    if wish is None:
        return False
    if wanted is None:
        click.echo(f"{show_rate(wish.budget)}, of the fleet that runs")
    else:
        burst = max(1.0, wish.burst * wanted / wish.budget)
        write_wish(store, msgspec.structs.replace(wish, budget=wanted, burst=burst))
        click.echo(f"{show_rate(wanted)} for the fleet from now on; `recrawl cluster status` shows how it goes")
    return True
