"""A running crawler hears of clicks made meanwhile, and what they teach is in its store."""

from __future__ import annotations

import asyncio
import math
import time
from pathlib import Path

import numpy as np

from live import crawl, settings
from recrawl.crawl.pipeline import Crawler
from recrawl.store.opening import open_store
from recrawl.store.records import Click, Source
from recrawl.store.roles import Store
from recrawl.synthweb.server import SynthWeb
from recrawl.synthweb.world import World
from recrawl.wiring import make_policy


def test_clicks_reach_the_schedule_of_a_running_crawler(tmp_path: Path) -> None:
    config = settings(tmp_path / "recrawl.db", "40/s")
    favourite = 2

    async def read(crawler: Crawler, store: Store) -> None:
        """Open everything the favourite source has, and what it has later, until that has been heard and believed."""
        opened: set[int] = set()
        while True:
            items = [item for item in store.items(source=favourite, limit=1000) if item.id not in opened]
            clicks = [Click(item=item.id, at=time.time(), count=2) for item in items]
            assert store.record_clicks(clicks) == len(items)
            opened |= {item.id for item in items}
            appeal = crawler.decider.policy.appeal(np.arange(6))[0] if crawler.decider.policy.mark else np.ones(6)
            if int(np.argmax(appeal)) == favourite - 1 and appeal.max() > 1.0:
                return
            await asyncio.sleep(0.1)  # readers take their time

    async def main() -> Crawler:
        world = World.make(6, 6, seed=4, mix="feeds", law="steady", median_rate=2.0)
        async with SynthWeb(world, speed=3600.0, port=0) as web:
            sources = [Source(url=truth.url, added=time.time()) for truth in web.truths()]
            return await crawl(config, sources=sources, meanwhile=read)

    crawler = asyncio.run(main())
    _, half_life = crawler.decider.policy.appeal(np.arange(6))
    assert math.isfinite(half_life.sum())
    store = open_store(config.store)
    shared, (kept,) = store.shared(), store.progress([favourite])
    store.close()
    again = make_policy(config)
    again.start(1, time.time())
    assert shared is not None
    assert again.load_shared(shared)
    assert again.load_rows([0], [kept.belief], np.array([kept.last]))[0]
    assert again.mark > 0
    assert again.appeal([0])[0][0] > 1.0
