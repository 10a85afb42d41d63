"""The whole at a glance: what was found, what is next, what is spent on it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from recrawl.answers import in_order
from recrawl.crawl.politeness import authority_of
from recrawl.store.base import Crawl, Price, Totals
from recrawl.web.desk import LONG_S, SHORT_S, Desk
from recrawl.web.views.catalogue import Row, row

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
    due: list[Row]
    held: int

    @property
    def sources(self) -> int:
        """All of them."""
        return self.active + self.paused + self.retired


def overview(desk: Desk) -> Overview:
    """As of now, some of it a few seconds old."""
    prices = desk.cached.soon("prices", LONG_S, lambda: desk.store.prices(desk.now() - WINDOW_S, limit=8640))
    day = desk.cached.soon("day", LONG_S, lambda: desk.store.totals(desk.now() - WINDOW_S))
    crawls, hosts = desk.cached.soon("hosts", LONG_S, lambda: _by_host(desk))
    count = desk.cached.soon("states", SHORT_S, lambda: _states(desk))
    return Overview(
        active=count["active"],
        paused=count["paused"],
        retired=count["retired"],
        never_fetched=desk.situation().never_fetched,
        crawler=desk.crawler(),
        budget=desk.budget(),
        spend=_spend(desk, prices),
        price=desk.price(),
        day=day,
        per_fetch=day.captured / day.requests if day.requests else math.nan,
        prices=prices,
        hosts=hosts,
        recent=crawls,
        due=desk.cached.soon("due", LONG_S, lambda: _due(desk)),
        held=len(desk.situation().holds),
    )


def _due(desk: Desk) -> list[Row]:
    now = desk.now()
    return [row(each, now) for each in in_order(desk.store, desk.situation(), now, "due", DUE, state="active")]


def _states(desk: Desk) -> dict[str, int]:
    return {state: desk.store.count(state=state) for state in ("active", "paused", "retired")}


def _spend(desk: Desk, prices: list[Price], last_s: float = 300.0) -> float:
    """Requests per second: what the fleet says where there is one, else over the last minutes of the history."""
    board = desk.fleet()
    if board is not None:
        return board.spend
    late = [p for p in prices if p.at >= prices[-1].at - last_s]
    if len(late) < 2 or late[-1].at <= late[0].at:
        return math.nan
    return sum(p.requests for p in late[1:]) / (late[-1].at - late[0].at)


def _by_host(desk: Desk) -> tuple[int, list[HostLine]]:
    """The hosts most visited among the latest crawls."""
    crawls = desk.store.crawls(limit=RECENT_CRAWLS)
    urls = {s.id: s.url for s in desk.store.sources(ids=list({crawl.source for crawl in crawls}))}
    by_host: dict[str, list[Crawl]] = {}
    for crawl in crawls:
        if crawl.source in urls:
            by_host.setdefault(host_of(urls[crawl.source]), []).append(crawl)
    busiest = Counter({host: len(some) for host, some in by_host.items()}).most_common(HOSTS)
    return len(crawls), [_line(host, by_host[host]) for host, _ in busiest]


def _line(host: str, crawls: list[Crawl]) -> HostLine:
    failed = sum(crawl.outcome in ("failed", "refused") for crawl in crawls)
    times = [crawl.elapsed_s for crawl in crawls if crawl.elapsed_s > 0.0]
    return HostLine(host, len(crawls), failed, sum(times) / len(times) if times else math.nan)


def host_of(url: str) -> str:
    """For people to read: host and port; what is no address as it is."""
    return authority_of(url) or url
