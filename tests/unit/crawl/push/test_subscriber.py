"""What visits say of hubs is not lost, whatever happens to the store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from recrawl.clock import ManualClock
from recrawl.config import Push
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.push.subscriber import SWEEP_S, Subscriber
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.request_budget import RequestBudget
from recrawl.crawl.stats import Stats
from recrawl.crawl.store_writer import StoreWriter
from recrawl.errors import StoreError
from recrawl.store.records import Source, Subscription
from recrawl.store.sqlite import SqliteStore

NOW, HUB = 1_700_000_000.0, "https://hub.example/"


class Moody(SqliteStore):
    """Refuses to write subscriptions if it is told to."""

    refuses = False

    def write_subscriptions(self, subscriptions: Sequence[Subscription]) -> None:
        if self.refuses:
            raise StoreError("not now")
        super().write_subscriptions(subscriptions)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Moody]:
    with Moody(tmp_path / "recrawl.db") as opened:
        opened.add([Source(url="https://a.example/"), Source(url="https://b.example/")])
        yield opened


def visit(source: int) -> Any:
    """Of a document that names a hub."""
    return SimpleNamespace(
        intent=SimpleNamespace(source=SimpleNamespace(id=source)),
        fetched=FetchResult(None, f"https://{source}.example/"),
        findings=Findings(kind="feed", hubs=(HUB,)),
    )


def played(store: Moody, script: Callable[[Subscriber, ManualClock], Awaitable[None]]) -> None:
    async def scene() -> None:
        clock = ManualClock(NOW)
        writer = StoreWriter(store, clock, Stats(), asyncio.Event())
        budget, push = RequestBudget(None, clock), Push(callback="https://me.example/")
        fetcher: Any = None  # without a budget nobody is asked
        subscriber = Subscriber(fetcher, writer, budget, clock, push, active=lambda source: source == 1)
        subscriber._share.spend(1)
        try:
            await script(subscriber, clock)
        finally:
            writer.close()

    asyncio.run(scene())


def test_a_hub_is_to_be_asked_before_the_visit_is_stored(store: Moody) -> None:
    async def script(subscriber: Subscriber, clock: ManualClock) -> None:
        await subscriber.saw([visit(1)])
        assert [(each.source, each.hub) for each in store.subscriptions()] == [(1, HUB)]
        await asyncio.gather(subscriber.saw([visit(2)]), subscriber.saw([visit(2)]))
        assert [each.source for each in store.subscriptions(sources=[2])] == [2]

    played(store, script)


def test_a_store_that_refuses_is_asked_again(store: Moody) -> None:
    async def script(subscriber: Subscriber, clock: ManualClock) -> None:
        store.refuses = True
        await subscriber.saw([visit(1)])
        with pytest.raises(StoreError):
            await subscriber.look()
        store.refuses = False
        await subscriber.look()
        assert [each.source for each in store.subscriptions()] == [1]

    played(store, script)


def test_who_takes_over_a_source_leaves_its_hub_when_it_is_wanted_no_more(store: Moody) -> None:
    async def script(subscriber: Subscriber, clock: ManualClock) -> None:
        asked = {"hub": HUB, "topic": "t", "secret": "s", "asked": NOW, "due": NOW + 1e6}
        store.write_subscriptions([Subscription(token=f"{k}", source=k, **asked) for k in (1, 2)])  # type: ignore
        subscriber.came([1, 2])
        store.remove([2])
        clock.advance(SWEEP_S)
        await subscriber.look()
        assert [each.mode for each in store.subscriptions()] == ["subscribe", "unsubscribe"]

    played(store, script)
