"""Whoever changes the setting that caused a hold does not wait for its end."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiohttp import web

from crawling import HASTY, a_store
from recrawl import wiring
from recrawl.clock import SystemClock
from recrawl.config import Config
from recrawl.store.base import Source, Store
from servers import serving


async def feed(request: web.Request) -> web.StreamResponse:
    if request.path == "/robots.txt":
        return web.Response(status=404)
    return web.Response(text="<rss><channel><title>News</title></channel></rss>")


async def run_once(store: Store, config: Config) -> None:
    await wiring.make_crawler(config, store, clock=SystemClock()).run(once=True)


def test_sources_refused_for_a_private_address_are_fetched_as_soon_as_it_is_allowed(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(feed) as base:
            with a_store(tmp_path) as store:
                (added,) = store.add([Source(url=f"{base}/feed")])
                await run_once(store, Config(politeness=HASTY.politeness))
                (refused,) = store.progress([added.id])
                assert "loopback" in refused.held_by
                assert refused.held_until > SystemClock().now()
                await run_once(store, Config(politeness=HASTY.politeness, fetch=HASTY.fetch))
                assert [crawl.outcome for crawl in store.crawls()] == ["first", "refused"]
                (fetched,) = store.progress([added.id])
                assert (fetched.held_until, fetched.failures) == (0.0, 0)

    asyncio.run(scene())
