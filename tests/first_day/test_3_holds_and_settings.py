"""Whoever changes the setting that caused a hold does not wait for its end; a run that brings nothing says why."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from aiohttp import web

from crawling import HASTY, a_store
from processes import RECRAWL
from recrawl import wiring
from recrawl.clock import SystemClock
from recrawl.config import Config
from recrawl.store.records import Source
from recrawl.store.roles import Store
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


SMALL = """
[politeness]
delay = "10ms"
min_interval = "10ms"
"""


async def recrawl(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """The lines of a run in JSON, by the program itself."""
    command = [*RECRAWL, "run", "--once", "--json", *arguments]
    running = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=asyncio.subprocess.PIPE)
    out, _ = await running.communicate()
    assert running.returncode == 0
    return [json.loads(line) for line in out.splitlines()]


def test_a_run_that_fetches_nothing_says_what_happened_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "recrawl.toml").write_text(SMALL)

    async def scene() -> None:
        async with serving(feed) as base:
            with a_store(tmp_path) as store:
                store.add([Source(url=f"{base}/{number}") for number in range(3)])
            *notes, refused = await recrawl(tmp_path)
            hints = [line["text"] for line in notes if line["type"] == "note"]
            assert len(hints) == 1, "while it runs, once"
            (why,) = refused["why_nothing"]
            assert (why["cause"], why["sources"]) == ("address", 3)
            for words in (*hints, why["text"]):
                assert "127.0.0.1 is a loopback address" in words
                assert "--allow-private" in words
            *_, held = await recrawl(tmp_path)
            (why,) = held["why_nothing"]
            assert (held["crawls"], why["cause"], why["sources"]) == (0, "address", 3)
            assert "3 sources wait until" in why["text"]
            *_, fetched = await recrawl(tmp_path, "--allow-private")
            assert (fetched["crawls"], fetched["refused"], fetched["why_nothing"]) == (3, 0, [])

    asyncio.run(scene())
