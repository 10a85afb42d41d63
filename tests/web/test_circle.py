"""Search, click, and see the cadence change: clicks made on the page, learned by a real crawler, told on the page."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import re
from itertools import count
from pathlib import Path

from recrawl import wiring
from recrawl.clock import SystemClock
from recrawl.config import Config, Fetching, Politeness
from recrawl.crawl.pipeline import Crawler
from recrawl.store.records import Source
from recrawl.store.sqlite import SqliteStore
from recrawl.synthweb.server import SynthWeb
from recrawl.synthweb.world import World
from recrawl.web.app import make_app
from until import soon
from visitor import Visitor

SOURCES = 6


def test_clicks_on_the_page_change_the_cadence_and_the_page_says_so(store: SqliteStore, tmp_path: Path) -> None:
    config = Config(
        budget="6/s", fetch=Fetching(allow_private=True), politeness=Politeness(delay="0s", min_interval="0s")
    )

    async def life() -> None:
        async with SynthWeb(World.make(sources=SOURCES, hosts=2, rate_spread=0.1)) as web:
            store.add([Source(url=url, added=SystemClock().now()) for url in web.urls()])
            at_once = dataclasses.replace(wiring.make_intervals(config), listen_s=0.1)  # clicks are heard
            crawler: Crawler = wiring.make_crawler(config, store, intervals=at_once)
            running = asyncio.create_task(crawler.run())
            await soon(lambda: store.items(source=1, limit=1))
            for _ in range(3):
                await asyncio.to_thread(click_on_the_first)
                clicked = max(click.id for click in store.clicks(limit=10_000))
                await soon(lambda clicked=clicked: crawler.decider.policy.mark >= clicked)  # until that has been heard
            await soon(lambda: math.isfinite(crawler.decider.policy.price))  # what a cadence is worked out from
            crawler.stop()
            await running

    visitor, readers = Visitor(make_app(store, config, SystemClock())), count()

    def click_on_the_first() -> None:
        visitor.address = f"reader {next(readers)}"
        for item in store.items(source=1, limit=30):
            assert visitor.get(f"/go/{item.id}").status == 303

    asyncio.run(life())
    page = Visitor(make_app(store, config, SystemClock())).get("/sources/1").text
    said = re.search(r"Its items draw ([\d.e+]+) times the clicks of an average item", page)
    assert said, "the page says nothing of clicks"
    assert float(said[1]) > 1.0
    cadence = re.search(r"it is fetched every (\S+); without clicks it would be every (\S+)\.", page)
    assert cadence
    assert cadence[1] != cadence[2]
