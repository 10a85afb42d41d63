from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import pytest

from made_up import NOW
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.store.records import Batch, Crawl, Item, Progress, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from recrawl.web import live
from recrawl.web.context import Context
from recrawl.web.live import FullError, Hub

LONG_S = 120.0


@pytest.fixture
def hub(filled: SqliteStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Hub:
    monkeypatch.setattr(live, "LOOK_S", 0.01)
    return Hub(Context(filled, Config(), clock))


async def until(events: AsyncIterator[str], words: str) -> str:
    async for event in events:
        if words in event:
            return event
    raise AssertionError(words)


def test_what_is_found_is_told(filled: SqliteStore, hub: Hub) -> None:
    def found(key: int) -> None:
        item = Item(source=1, key=key, title="News <b>", link="javascript:x", first_seen=NOW + 1)
        crawl = Crawl(source=1, at=NOW + key, outcome="new", new=1)
        filled.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=1), items=[item])]))

    async def listening() -> list[str]:
        told: list[str] = []

        async def listen() -> None:
            async for event in hub.listen():
                told.append(event)  # noqa: PERF401 - looked at meanwhile

        listener = asyncio.create_task(listen())
        for key in count(5):  # the first look may come after the first of these
            found(key)
            await asyncio.wait([listener], timeout=0.05)
            if any("event: change" in event for event in told):
                break
        await hub.close()
        listener.cancel()
        return told

    told = asyncio.run(asyncio.wait_for(listening(), LONG_S))
    item = next(event for event in told if "event: item" in event)
    assert '"title": "News' in item
    assert '"link": ""' in item


def test_nobody_listening_costs_nothing(hub: Hub) -> None:
    async def listening() -> bool:
        events = hub.listen()
        await until(events, "retry")
        await events.aclose()  # type: ignore[attr-defined]
        task = hub._looking
        assert task is not None
        await asyncio.wait_for(task, LONG_S)
        return task.done()

    assert asyncio.run(listening())


def test_the_number_of_listeners_is_bounded(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_LISTENERS", 2)

    async def listening() -> None:
        for place in ("a", "b"):
            await anext(hub.listen(place))
        with pytest.raises(FullError):
            hub.listen("c")
        await hub.close()

    asyncio.run(listening())


def test_the_number_of_listeners_of_one_place_is_bounded(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_PER_PLACE", 2)

    async def listening() -> None:
        one, _, late = hub.listen("a"), hub.listen("a"), hub.listen("a")
        await anext(one)
        other = hub.listen("a")
        await anext(other)
        with pytest.raises(FullError):
            hub.listen("a")
        assert [event async for event in late] == [], "asked for in time, begun too late"
        await anext(hub.listen("b"))
        await one.aclose()  # type: ignore[attr-defined]
        await anext(hub.listen("a"))
        await hub.close()

    asyncio.run(listening())
