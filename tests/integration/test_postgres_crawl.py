"""The live program over a store in PostgreSQL."""

from __future__ import annotations

import asyncio

import postgres
from live import crawl, settings, sources_of
from recrawl.crawl.pipeline import Crawler
from recrawl.store.opening import open_store
from recrawl.store.roles import Store
from recrawl.synthweb.server import SynthWeb
from recrawl.synthweb.world import World
from until import soon


def run(url: str, crawls: int, seed: int = 3) -> list[str]:
    """Crawl a small web so often; the paths it was asked for."""

    async def main() -> list[str]:
        async with SynthWeb(World.make(20, 5, seed=seed, mix="mixed"), speed=3600.0, port=0) as web:
            config = settings(url, "40/s")  # type: ignore[arg-type]
            await crawl(config, enough=lambda crawler, _: crawler.stats.crawls >= crawls, sources=sources_of(web))
            return [str(entry) for entry in web.log]

    return asyncio.run(main())


def crawled(store: Store) -> tuple[int, int]:
    return store.totals(0.0).crawls, sum(progress.visits for progress in store.progress())


def test_a_crawl_is_kept_and_gone_on_with() -> None:
    url = postgres.server().url()
    assert run(url, 60)
    with open_store(url) as store:
        crawls, visits = crawled(store)
        assert crawls > 20
        assert visits > 20
        assert store.claimed() is None
        assert store.items(limit=1)
        assert store.prices(0.0)
        assert store.shared() is not None
    run(url, 20)
    with open_store(url) as store:
        assert crawled(store)[0] > crawls


def test_a_server_that_goes_and_comes_back_loses_and_doubles_nothing() -> None:
    server = postgres.new_server()
    url = server.url()
    before: list[int] = []

    async def outage(crawler: Crawler, store: Store) -> None:
        await soon(lambda: crawler.stats.crawls >= 20)
        before.append(store.totals(0.0).crawls)
        server.stop()
        await soon(lambda: crawler.stats.trouble)
        server.start()
        await soon(lambda: not crawler.stats.trouble)
        after = crawler.stats.crawls
        await soon(lambda: crawler.stats.crawls >= after + 20)

    async def main() -> Crawler:
        async with SynthWeb(World.make(20, 5, seed=3, mix="mixed"), speed=3600.0, port=0) as web:
            config = settings(url, "20/s")  # type: ignore[arg-type]
            return await crawl(config, sources=sources_of(web), meanwhile=outage)

    stats = asyncio.run(main()).stats
    with open_store(url) as store:
        crawls = store.crawls(limit=10**5)
        assert len(crawls) > before[0]
        assert len({(crawl.source, crawl.at) for crawl in crawls}) == len(crawls)
        assert (len(crawls), sum(crawl.requests for crawl in crawls)) == (stats.crawls, stats.requests)
        assert sum(price.requests for price in store.prices(0.0)) == stats.requests
    server.remove()
