"""Asking whoever crawls, one crawler or a fleet, for another budget while it runs."""

from __future__ import annotations

import msgspec

from recrawl.cluster.status import Wish, is_up, read_status, read_wish, write_wish
from recrawl.config.settings import usual_burst
from recrawl.crawl import live_budget
from recrawl.crawl.live_budget import BudgetNote
from recrawl.errors import ContractError
from recrawl.store.roles import CrawlLog, Notes, Store
from recrawl.units import show_rate


def of_fleet(store: Notes, now: float) -> Wish | None:
    """What is wanted of the fleet that runs; None if there is none."""
    return read_wish(store) if is_up(read_status(store), now) else None


def of_crawler(store: Store) -> BudgetNote | None:
    """The budget of the crawler that runs; None if none does, or it takes no other."""
    note, crawler = live_budget.read(store), store.claimed()
    return note if note is not None and crawler is not None and note.owner in crawler else None


def takes_another(store: Store, now: float) -> bool:
    """Whether somebody crawls who can be asked for another budget."""
    return of_fleet(store, now) is not None or of_crawler(store) is not None


def ask(store: Store, per_second: float, now: float) -> float:
    """Ask for another budget, requests per second; what held before. ContractError if there is nobody to ask."""
    wish = of_fleet(store, now)
    if wish is not None:
        usual = wish.burst == usual_burst(wish.budget)  # one that was asked for stays, as of a crawler
        burst = usual_burst(per_second) if usual else wish.burst
        write_wish(store, msgspec.structs.replace(wish, budget=per_second, burst=burst))
        return wish.budget
    note = of_crawler(store)
    if note is None:
        raise ContractError(_nobody(store, show_rate(per_second)))
    live_budget.ask(store, note, per_second, now)
    return note.per_second


def _nobody(store: CrawlLog, rate: str) -> str:
    crawler = store.claimed()
    if crawler is not None:
        return f"{crawler} crawls, and takes no other budget while it runs: give it one when it is started"
    kept = f'budget = "{rate}" in recrawl.toml'
    return f"no crawler runs: start one with `recrawl run --budget {rate}`, or keep it for all runs: {kept}"
