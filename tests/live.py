"""A real crawler over a synthetic web on loopback: for tests that look at both sides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from recrawl.config import Config
from recrawl.config.loading import replaced
from recrawl.crawl.pipeline import Crawler
from recrawl.store.base import Source, Store
from recrawl.store.opening import open_store
from recrawl.synthweb.process import Served
from recrawl.synthweb.server import SynthWeb
from recrawl.wiring import make_crawler

QUICK = {
    "politeness.delay": "20ms",
    "politeness.min_interval": "0s",
    "politeness.backoff": "200ms",
    "fetch.allow_private": True,
    "fetch.timeout": "5s",
    "half_life": "6s",
    "cold_start": 1.0,
}


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
    seconds: float,
    *,
    sources: list[Source] | None = None,
    once: bool = False,
    meanwhile: Callable[[Crawler, Store], Awaitable[None]] | None = None,
) -> Crawler:
    """Crawl for so long, doing something else meanwhile; the crawler, its store closed."""
    store = open_store(config.store)
    try:
        if sources:
            store.add(sources)
        store.claim("a test", time.time())
        crawler = make_crawler(config, store)
        other = None if meanwhile is None else asyncio.create_task(meanwhile(crawler, store))
        await crawler.run(time.time() + seconds, once=once)
        if other is not None:
            await other
        return crawler
    finally:
        store.close()
