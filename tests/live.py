"""A real crawler over a synthetic web on loopback: for tests that look at both sides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from recrawl.config import Config
from recrawl.config.loading import replaced
from recrawl.crawl.pipeline import Crawler
from recrawl.store.opening import open_store
from recrawl.store.records import Source
from recrawl.store.roles import Store
from recrawl.synthweb.process import Served
from recrawl.synthweb.server import SynthWeb
from recrawl.wiring import make_crawler
from until import soon

QUICK = {
    "politeness.delay": "20ms",
    "politeness.min_interval": "0s",
    "politeness.backoff": "200ms",
    "fetch.allow_private": True,
    "fetch.timeout": "5s",
    "half_life": "6s",
    "cold_start": 1.0,
}


HANGS_S = 300.0
"""Whatever takes so long does not happen, however slow the machine."""


def settings(store: Path, budget: str, overrides: Mapping[str, object] | None = None) -> Config:
    """Settings for a short life on loopback."""
    return replaced(Config(), {"store": str(store), "budget": budget, **QUICK, **(overrides or {})})


def sources_of(web: SynthWeb | Served) -> list[Source]:
    """The web's sources as its reader would add them."""
    return [
        Source(url=truth.url, importance=truth.interest, half_life=truth.half_life_s, added=time.time())
        for truth in web.truths()
    ]


async def crawl(
    config: Config,
    *,
    enough: Callable[[Crawler, Store], bool] | None = None,
    meanwhile: Callable[[Crawler, Store], Awaitable[None]] | None = None,
    sources: list[Source] | None = None,
    once: bool = False,
) -> Crawler:
    """Crawl until something else that is done meanwhile is over and there is enough; the crawler, its store closed.

    How long that takes is the machine's affair: a test that crawls for so many seconds and then looks what there is
    fails on a slow one.
    """
    store = open_store(config.store)

    async def end(crawler: Crawler) -> None:
        if meanwhile is not None:
            await meanwhile(crawler, store)
        if enough is not None:
            await soon(lambda: enough(crawler, store), again_s=0.05)
        crawler.stop()

    try:
        if sources:
            store.add(sources)
        store.claim("a test", time.time())
        crawler = make_crawler(config, store)
        ending = None if once else asyncio.create_task(end(crawler))
        await crawler.run(time.time() + HANGS_S, once=once)
        if ending is not None:
            done, _ = await asyncio.wait([ending], timeout=1.0)
            ending.cancel()
            assert done, f"it did not come to that within {HANGS_S:g} s"
            await ending
        return crawler
    finally:
        store.close()
