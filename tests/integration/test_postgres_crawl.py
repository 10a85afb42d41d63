"""The live program over a store in PostgreSQL."""

from __future__ import annotations

import asyncio

import postgres
from live import crawl, settings, sources_of
from recrawl.store.base import Store
from recrawl.store.opening import open_store
from recrawl.synthweb.server import SynthWeb
from recrawl.synthweb.world import World


def run(url: str, seconds: float, seed: int = 3) -> list[str]:
    """Crawl a small web; the paths it was asked for."""

    async def main() -> list[str]:
        async with SynthWeb(World.make(20, 5, seed=seed, mix="mixed"), speed=3600.0, port=0) as web:
            await crawl(settings(url, "40/s"), seconds, sources=sources_of(web))  # type: ignore[arg-type]
            return [str(entry) for entry in web.log]

    return asyncio.run(main())


def crawled(store: Store) -> tuple[int, int]:
    return store.totals(0.0).crawls, sum(progress.visits for progress in store.progress())


def test_a_crawl_is_kept_and_gone_on_with() -> None:
    url = postgres.server().url()
    assert run(url, 3.0)
    with open_store(url) as store:
        crawls, visits = crawled(store)
        assert crawls > 20
        assert visits > 20
        assert store.claimed() is None
        assert store.items(limit=1)
        assert store.prices(0.0)
        assert store.shared() is not None
    run(url, 2.0)
    with open_store(url) as store:
        assert crawled(store)[0] > crawls
