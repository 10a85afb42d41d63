"""One failing URL does not starve its host: it backs off alone, and the others go on in their host's own time."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from aiohttp import web

from crawling import HASTY, a_store
from recrawl import wiring
from recrawl.clock import SystemClock
from recrawl.config import Config, Politeness
from recrawl.crawl.pipeline import Crawler
from recrawl.store.records import Source
from servers import serving

FEEDS, ROUNDS, LONGEST_S = 10, 4, 30.0
DELAY_S = 0.02


class Host:
    """Ten feeds on one host, the first of which always fails in some way; who was asked when."""

    def __init__(self, status: int, headers: dict[str, str]) -> None:
        self.status, self.headers = status, headers
        self.seen: Counter[str] = Counter()
        self.starts: list[float] = []
        self.crawler: Crawler | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.starts.append(time.monotonic())
        self.seen[request.path] += 1
        if self.crawler is not None and self.others_had_their_turns():
            self.crawler.stop()
        if request.path == "/robots.txt":
            return web.Response(status=404)
        if request.path == "/0":
            return web.Response(status=self.status, headers=self.headers)
        return web.Response(text=f"<rss><channel><title>{request.path}</title></channel></rss>")

    def others_had_their_turns(self) -> bool:
        return all(self.seen[f"/{number}"] >= ROUNDS for number in range(1, FEEDS))


def crawled(folder: Path, host: Host, config: Config) -> None:
    async def scene() -> None:
        async with serving(host.answer) as base:
            with a_store(folder) as store:
                # The one that fails is worth most: whenever it may be asked, it comes first.
                store.add([Source(url=f"{base}/{n}", importance=1.0 if n else 100.0) for n in range(FEEDS)])
                clock = SystemClock()
                host.crawler = wiring.make_crawler(config, store, clock=clock)
                await host.crawler.run(clock.now() + LONGEST_S)

    asyncio.run(scene())


def settings(**more: str) -> Config:
    return Config(
        budget="300/s",
        half_life="10s",
        fetch=HASTY.fetch,
        politeness=Politeness(delay=f"{DELAY_S}s", min_interval="100ms", **more),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("status", [500, 502, 503])
def test_nine_feeds_go_on_being_fetched_beside_one_that_always_fails(tmp_path: Path, status: int) -> None:
    host = Host(status, {})
    crawled(tmp_path, host, settings())
    assert host.others_had_their_turns(), host.seen
    assert host.seen["/0"] == 1, "it waits a minute for its second turn"
    assert min(later - earlier for earlier, later in pairwise(host.starts)) >= 0.9 * DELAY_S


@pytest.mark.parametrize(
    ("status", "headers"),
    [(429, {}), (503, {"Retry-After": "1"}), (429, {"Retry-After": "1"})],
    ids=["429", "503 with Retry-After", "429 with Retry-After"],
)
def test_after_a_hold_of_the_host_the_others_go_first(tmp_path: Path, status: int, headers: dict[str, str]) -> None:
    host = Host(status, headers)
    crawled(tmp_path, host, settings(backoff="1s"))
    assert host.others_had_their_turns(), host.seen
