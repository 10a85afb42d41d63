"""The whole at a glance: what was found, what is next, what is spent on it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from recrawl.crawl_state import SourceStatus, count_by_state, crawls_by_host
from recrawl.store.records import Crawl, Price, Totals
from recrawl.web.context import LONG_S, SHORT_S, Context

WINDOW_S = 24 * 3600.0
RECENT_CRAWLS = 1000
DUE, HOSTS = 8, 8


@dataclass(frozen=True, slots=True)
class HostLine:
    """One host among the latest crawls."""

    host: str
    crawls: int
    failed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Overview:
    """Rates are per second.

    Parameters
        day: what the last day brought, as `recrawl status` counts it
        spend: requests per second, lately
        per_fetch: interest captured per request over the day
        prices: of the day, oldest first
    """

    active: int
    paused: int
    retired: int
    never_fetched: int
    crawler: str | None
    budget: float
    spend: float
    price: float
    day: Totals
    per_fetch: float
    prices: list[Price]
    hosts: list[HostLine]
    recent: int
    due: list[SourceStatus]
    held: int

    @property
    def sources(self) -> int:
        """All of them."""
        return self.active + self.paused + self.retired


def overview(context: Context) -> Overview:
    """As of now, some of it a few seconds old."""
    prices = context.cached.soon("prices", LONG_S, lambda: context.store.prices(context.now() - WINDOW_S, limit=8640))
    day = context.cached.soon("day", LONG_S, lambda: context.store.totals(context.now() - WINDOW_S))
    crawls, hosts = context.cached.soon("hosts", LONG_S, lambda: _by_host(context))
    count = context.cached.soon("states", SHORT_S, lambda: count_by_state(context.store))
    return Overview(
        active=count["active"],
        paused=count["paused"],
        retired=count["retired"],
        never_fetched=context.state().never_fetched,
        crawler=context.state().crawler,
        budget=context.budget(),
        spend=_spend(context, prices),
        price=context.state().price,
        day=day,
        per_fetch=day.captured / day.requests if day.requests else math.nan,
        prices=prices,
        hosts=hosts,
        recent=crawls,
        due=context.cached.soon(
            "due", LONG_S, lambda: context.state().in_order(context.now(), "due", DUE, state="active")
        ),
        held=len(context.state().holds),
    )


def _spend(context: Context, prices: list[Price], last_s: float = 300.0) -> float:
    """Requests per second: what the fleet says where there is one, else over the last minutes of the history."""
    status = context.fleet()
    if status is not None:
        return status.spend
    late = [p for p in prices if p.at >= prices[-1].at - last_s]
    if len(late) < 2 or late[-1].at <= late[0].at:
        return math.nan
    return sum(p.requests for p in late[1:]) / (late[-1].at - late[0].at)


def _by_host(context: Context) -> tuple[int, list[HostLine]]:
    """The hosts most visited among the latest crawls."""
    crawls = context.store.crawls(limit=RECENT_CRAWLS)
    by_host = crawls_by_host(context.store, crawls)
    busiest = Counter({host: len(some) for host, some in by_host.items()}).most_common(HOSTS)
    return len(crawls), [_line(host, by_host[host]) for host, _ in busiest]


def _line(host: str, crawls: list[Crawl]) -> HostLine:
    failed = sum(crawl.outcome in ("failed", "refused") for crawl in crawls)
    times = [crawl.elapsed_s for crawl in crawls if crawl.elapsed_s > 0.0]
    return HostLine(host, len(crawls), failed, sum(times) / len(times) if times else math.nan)
