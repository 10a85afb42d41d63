"""A site says by IndexNow that a page of it has changed, over real HTTP: the key is seen, and the page is visited."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from recrawl import wiring
from recrawl.clock import SystemClock
from recrawl.config import Config
from recrawl.config.loading import replaced
from recrawl.crawl.push import key_checks
from recrawl.store.opening import open_store
from recrawl.store.records import Source
from recrawl.web.app import make_app
from recrawl.web.server import bound, serve
from servers import serving
from until import soon

KEY = "0123456789abcdef"


def test_a_ping_counts_once_the_key_was_seen_and_a_forged_one_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_checks, "LOOK_S", 0.02)
    asked: list[str] = []

    async def site(request: web.BaseRequest) -> web.Response:
        asked.append(request.path)
        if request.path == f"/{KEY}.txt":
            return web.Response(text=KEY)
        return web.Response(status=404) if request.path != "/page" else web.Response(text="a page")

    async def play() -> None:
        listener = bound("127.0.0.1", 0)
        place = f"http://127.0.0.1:{listener.getsockname()[1]}/indexnow"
        async with contextlib.AsyncExitStack() as stack:
            base = await stack.enter_async_context(serving(site))
            said = {"store": str(tmp_path / "recrawl.db"), "budget": "100/s", "fetch.allow_private": True,
                    "politeness.delay": "5ms", "politeness.min_interval": "1h", "push.indexnow": True}  # fmt: skip
            config, clock = replaced(Config(), said), SystemClock()
            store = stack.enter_context(contextlib.closing(open_store(config.store)))
            mine = stack.enter_context(contextlib.closing(open_store(config.store)))
            store.add([Source(url=f"{base}/page")])
            mine.claim("a test", time.time())
            intervals = dataclasses.replace(wiring.make_intervals(config), listen_s=0.02)
            page = asyncio.create_task(serve(make_app(store, config, clock), listener=listener))
            crawler = wiring.make_crawler(config, mine, clock=clock, intervals=intervals)
            run = asyncio.create_task(crawler.run())
            client = await stack.enter_async_context(aiohttp.ClientSession())

            async def ping(key: str) -> int:
                async with client.get(place, params={"url": f"{base}/page", "key": key}) as answer:
                    return answer.status

            assert await ping("forged-key") == 202
            await soon(lambda: "/forged-key.txt" in asked and not store.proofs())
            assert await ping("forged-key") == 403
            assert crawler.decider.policy.lists(clock.now()) == []
            assert await ping(KEY) == 202
            await soon(lambda: crawler.decider.policy.lists(clock.now()))
            assert await ping(KEY) == 200
            assert asked.count(f"/{KEY}.txt") == 1
            crawler.stop()
            await run
            page.cancel()
            await asyncio.gather(page, return_exceptions=True)

    asyncio.run(play())
