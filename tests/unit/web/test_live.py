from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from made_up import NOW
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.store.base import Batch, Crawl, Item, Progress, Settlement
from recrawl.store.sqlite import SqliteStore
from recrawl.web import live
from recrawl.web.desk import Desk
from recrawl.web.live import FullError, Hub


@pytest.fixture
def hub(filled: SqliteStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Hub:
    monkeypatch.setattr(live, "LOOK_S", 0.01)
    return Hub(Desk(filled, Config(), clock))


async def until(events: AsyncIterator[str], words: str) -> str:
    async for event in events:
        if words in event:
            return event
    raise AssertionError(words)


def test_what_is_found_is_told(filled: SqliteStore, hub: Hub) -> None:
    async def listening() -> tuple[str, str]:
        events = hub.listen()
        await until(events, "retry")
        await asyncio.sleep(0.05)
        item = Item(source=1, key=5, title="News <b>", link="javascript:x", first_seen=NOW + 1)
        crawl = Crawl(source=1, at=NOW + 1, outcome="new", new=1)
        filled.commit(Batch(settlements=[Settlement(crawl=crawl, progress=Progress(source=1), items=[item])]))
        told = await asyncio.wait_for(until(events, "event: item"), 5)
        changed = await asyncio.wait_for(until(events, "event: change"), 5)
        await hub.close()
        return told, changed

    told, _ = asyncio.run(listening())
    assert '"title": "News' in told
    assert '"link": ""' in told


def test_nobody_listening_costs_nothing(hub: Hub) -> None:
    async def listening() -> bool:
        events = hub.listen()
        await until(events, "retry")
        await events.aclose()  # type: ignore[attr-defined]
        task = hub._looking
        assert task is not None
        await asyncio.wait_for(task, 5)
        return task.done()

    assert asyncio.run(listening())


def test_the_number_of_listeners_is_bounded(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_LISTENERS", 2)

    async def listening() -> None:
        hub.listen(), hub.listen()
        with pytest.raises(FullError):
            hub.listen()
        await hub.close()

    asyncio.run(listening())
