"""The real crawler on a synthetic web of a test's making: one process, real sockets, a store in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from recrawl import wiring
from recrawl.clock import SystemClock
from recrawl.config import Config, Fetching, Outlets, Politeness
from recrawl.crawl.fetching.address_guard import refusal
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.crawl.fetching.transport import Transport
from recrawl.crawl.pipeline import Crawler
from recrawl.store.records import Crawl, Item, Source
from recrawl.store.roles import Store
from recrawl.store.sqlite import SqliteStore
from recrawl.synthweb import ledger
from recrawl.synthweb.faults import Rule
from recrawl.synthweb.ledger import SeenRequest
from recrawl.synthweb.server import SynthWeb
from recrawl.synthweb.world import FILES, Kind, Robots, SynthSource, World, law_named
from until import soon

HASTY = Config(
    budget="300/s",
    half_life="10s",
    fetch=Fetching(allow_private=True, timeout="5s", idle_timeout="3s", max_size="1MB"),
    politeness=Politeness(delay="100ms", min_interval="300ms", backoff="500ms", max_backoff="1s"),
)
"""Everything in seconds, so that a test sees many rounds."""
LONGEST_S = 60.0
"""However slow the machine."""
SOON_S = 0.02
"""What the web may see a request early or late by: it has its own moments of reading."""


def only_this_machine(address: str) -> str:
    """The rule for addresses with one exception: where the synthetic web is."""
    return "" if address == "127.0.0.1" else refusal(address)


def world_of(kinds: Sequence[Kind], rate: float = 0.8, robots: Robots | None = None) -> World:
    """A source per host, publishing so often per virtual hour (a second, at the default speed)."""
    sources = [
        SynthSource(number=k, host=k, kind=kind, path=f"/s{k}/{FILES[kind]}", law=law_named("steady", rate),
                    window=1 if kind == "page" else 20, validators="none")
        for k, kind in enumerate(kinds)
    ]  # fmt: skip
    return World(sources, len(kinds), seed=7, robots=robots)


@dataclass
class Account:
    """What a run left behind: the crawl log and the catalogue by source number, and what the web saw."""

    web: SynthWeb
    config: Config
    crawls: dict[int, list[Crawl]] = field(default_factory=dict)
    sources: dict[int, Source] = field(default_factory=dict)
    items: dict[int, list[Item]] = field(default_factory=dict)
    robots: dict[str, Robots] = field(default_factory=dict)
    elapsed_s: float = 0.0

    @property
    def log(self) -> list[SeenRequest]:
        return self.web.log

    def said(self, number: int) -> set[str]:
        """What the crawl log says of a source: outcomes, with the words where there are some."""
        return {f"{crawl.outcome}: {crawl.error}" if crawl.error else crawl.outcome for crawl in self.crawls[number]}

    def seen(self, number: int) -> list[SeenRequest]:
        """What the web saw of a source's host."""
        return [access for access in self.log if access.host == self.web.netlocs[number]]

    def broken_rules(self) -> dict[str, list[Any]]:
        """Every rule of conduct that the web saw broken; all lists are empty for a polite crawler."""
        politeness = self.config.politeness
        found: dict[str, list[Any]] = {
            "budget": ledger.budget_violations(
                self.log, self.config.budget_per_s, self.config.burst_requests, tolerance=5.0
            ),
            "delay": ledger.delay_violations(self.log, politeness.delay_s, tolerance_s=SOON_S),
            "hold": ledger.hold_violations(self.log, tolerance_s=SOON_S),
            "robots": ledger.robots_violations(self.log, self.robots),
        }
        return {name: broken for name, broken in found.items() if broken}


@contextmanager
def a_store(folder: Path) -> Iterator[Store]:
    with closing(SqliteStore(folder / "recrawl.db")) as store:
        yield store


async def crawl(
    web: SynthWeb,
    store: Store,
    config: Config = HASTY,
    *,
    seconds: float = 0.0,
    enough: Callable[[SynthWeb], bool] | None = None,
    once: bool = False,
    headers: Mapping[int, Mapping[str, str]] | None = None,
    transport: Transport | None = None,
    urls: Sequence[str] | None = None,
) -> Account:
    """Let the crawler run over all sources of a web that is up.

    For so many seconds and, on a machine that is slow, until the web has seen enough; or once over all sources.
    """
    given = dict(headers or {})
    listed = list(urls or web.urls())
    added = store.add([Source(url=url, headers=dict(given.get(k, {}))) for k, url in enumerate(listed)])
    clock = SystemClock()
    transport = transport or HttpTransport(config.fetch, clock, refusal=only_this_machine)
    crawler = wiring.make_crawler(config, store, clock=clock, transport=transport)
    began = asyncio.get_running_loop().time()
    ending = asyncio.create_task(_end(crawler, web, seconds, enough)) if not once else None
    await crawler.run(clock.now() + LONGEST_S, once=once)
    if ending is not None:
        await ending
    account = Account(web, config, elapsed_s=asyncio.get_running_loop().time() - began)
    account.robots = dict(zip(web.netlocs, web.world.robots, strict=True))
    for number, each in enumerate(added):
        source = store.source(each.id)
        assert source is not None
        account.sources[number] = source
        account.crawls[number] = store.crawls(source=each.id, limit=1000)
        account.items[number] = store.items(source=each.id, limit=1000)
    return account


async def _end(crawler: Crawler, web: SynthWeb, seconds: float, enough: Callable[[SynthWeb], bool] | None) -> None:
    await asyncio.sleep(seconds)  # so long it crawls
    await soon(lambda: enough is None or enough(web) or crawler.stopping, again_s=0.1)
    crawler.stop()


def crawled(world: World, folder: Path, rules: Sequence[Rule] = (), config: Config = HASTY, **more: Any) -> Account:
    """A web with faults, crawled for a while; rules name their host by its number."""

    async def scene() -> Account:
        async with SynthWeb(world) as web:
            web.faults.set([msgspec.structs.replace(rule, host=web.netlocs[int(rule.host)]) for rule in rules])
            with a_store(folder) as store:
                return await crawl(web, store, config, **more)

    return asyncio.run(scene())


def with_settings(config: Config = HASTY, *, fetch: Mapping[str, Any] | None = None, **more: Any) -> Config:
    """These settings with some changed."""
    fetching = msgspec.structs.replace(config.fetch, **(fetch or {}))
    return msgspec.structs.replace(config, fetch=fetching, **more)


__all__ = [
    "HASTY",
    "Account",
    "Outlets",
    "a_store",
    "crawl",
    "crawled",
    "only_this_machine",
    "with_settings",
    "world_of",
]
