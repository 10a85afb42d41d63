"""The whole round of WebSub, over real HTTP: a hub, the crawler that subscribes, the web page that is called back."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

import postgres
from recrawl import wiring
from recrawl.cli.explain import looked_at
from recrawl.clock import SystemClock
from recrawl.config import Config
from recrawl.config.loading import replaced
from recrawl.crawl.push import subscriber, subscriptions
from recrawl.crawl.push.subscriptions import PATH
from recrawl.store.opening import open_store
from recrawl.store.records import Source, Subscription
from recrawl.store.roles import Store
from recrawl.web.app import make_app
from recrawl.web.safety.access import make_access
from recrawl.web.server import bound, serve
from until import soon
from websub import Hub, a_hub

HOUR_S = 3600


@pytest.fixture(autouse=True)
def in_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriber, "LOOK_S", 0.02)
    monkeypatch.setattr(subscriber, "SWEEP_S", 0.05)
    monkeypatch.setattr(subscriptions, "SETTLED_S", 0.2)
    monkeypatch.setattr(subscriptions, "SOONEST_S", 0.1)


@dataclass
class Scene:
    """A crawler and the page beside it, each with a store of its own on the same file."""

    hub: Hub
    store: Store
    config: Config

    @property
    def subscription(self) -> Subscription:
        (found,) = self.store.subscriptions()
        return found

    @property
    def titles(self) -> set[str]:
        return {item.title for item in self.store.items()}

    async def subscribed(self) -> None:
        await soon(lambda: self.hub.subscribers and self.subscription.until > 0.0)


@contextlib.asynccontextmanager
async def crawling(folder: Path, hub: Hub, place: str = "") -> AsyncIterator[Scene]:
    listener = bound("127.0.0.1", 0)
    said = {
        "store": place or str(folder / "recrawl.db"),
        "budget": "200/s",
        "fetch.allow_private": True,
        "politeness.delay": "5ms",
        "politeness.min_interval": "0s",
        "push.callback": f"http://127.0.0.1:{listener.getsockname()[1]}/",
    }
    config, clock = replaced(Config(), said), SystemClock()
    with contextlib.closing(open_store(config.store)) as store, contextlib.closing(open_store(config.store)) as mine:
        store.add([Source(url=hub.topic)])
        mine.claim("a test", time.time())
        intervals = dataclasses.replace(wiring.make_intervals(config), listen_s=0.02, watch_s=0.05)
        access = make_access("127.0.0.1", config.store, {}, push=config.push)
        page = asyncio.create_task(serve(make_app(store, config, clock, access=access), listener=listener))
        crawler = wiring.make_crawler(config, mine, clock=clock, intervals=intervals)
        run = asyncio.create_task(crawler.run())
        try:
            yield Scene(hub, store, config)
        finally:
            crawler.stop()
            await run
            page.cancel()
            await asyncio.gather(page, return_exceptions=True)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_push_brings_the_crawler_though_the_feed_asked_to_be_left_alone(tmp_path: Path, kind: str) -> None:
    place = postgres.server().url() if kind == "postgres" else ""

    async def play() -> None:
        async with a_hub(items=["first"], max_age_s=HOUR_S) as hub, crawling(tmp_path, hub, place) as scene:
            await scene.subscribed()
            (asked,) = hub.asked
            assert asked["hub.topic"] == hub.topic
            assert asked["hub.lease_seconds"] == "864000"
            assert hub.verified == [("subscribe", hub.topic)]
            before = hub.fetched
            assert await hub.publish("second") == [202]
            await soon(lambda: "second" in scene.titles)
            assert hub.fetched == before + 1
            assert scene.subscription.delivered > 0.0
            shown = looked_at(scene.store, scene.config, scene.store.sources()[0])
            assert shown.hub.startswith(f"{hub.base}/hub tells of changes for 16m")

    asyncio.run(play())


def test_what_is_signed_with_another_secret_is_taken_and_means_nothing(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_hub(items=["first"], max_age_s=HOUR_S) as hub, crawling(tmp_path, hub) as scene:
            await scene.subscribed()
            before = hub.fetched
            assert await hub.publish("second", secret="guessed") == [202]
            async with aiohttp.ClientSession() as client:
                async with client.post(scene.config.push.callback + PATH[1:] + "x" * 43) as answer:
                    assert answer.status == 410
                async with client.post(next(iter(hub.subscribers)), data=b"unsigned") as answer:
                    assert answer.status == 202
            assert scene.store.signals() == []
            assert scene.subscription.delivered == 0.0
            assert hub.fetched == before

    asyncio.run(play())


@pytest.mark.parametrize("method", ["sha1", "sha384", "sha512"])
def test_hubs_sign_as_they_like(tmp_path: Path, method: str) -> None:
    async def play() -> None:
        async with a_hub(items=["first"], method=method, max_age_s=HOUR_S) as hub, crawling(tmp_path, hub) as scene:
            await scene.subscribed()
            await hub.publish("second")
            await soon(lambda: "second" in scene.titles)

    asyncio.run(play())


def test_a_lease_is_renewed_before_it_ends(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_hub(items=["first"], grants_s=1, max_age_s=HOUR_S) as hub, crawling(tmp_path, hub) as scene:
            await scene.subscribed()
            first = scene.subscription
            await soon(lambda: scene.subscription.confirmed > first.confirmed)
            again = scene.subscription
            assert again.asked < first.until
            assert (again.token, again.secret, again.tries) == (first.token, first.secret, 0)
            assert len(hub.asked) == 2

    asyncio.run(play())


def test_no_item_is_lost_with_a_hub_that_dies(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_hub(items=["first"]) as hub, crawling(tmp_path, hub) as scene:
            await scene.subscribed()
            await hub.publish("pushed")
            await soon(lambda: "pushed" in scene.titles)
            hub.status = 503
            for k in range(3):
                await hub.publish(f"silent {k}", quiet=True)
                await soon(lambda: f"silent {k}" in scene.titles)  # noqa: B023 - it is over before the next

    asyncio.run(play())


def test_a_hub_that_is_down_is_asked_again_later(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_hub(items=["first"], status=503) as hub, crawling(tmp_path, hub) as scene:
            await soon(lambda: scene.store.subscriptions() and scene.subscription.note)
            kept = scene.subscription
            assert kept.note == "the hub was asked in vain: HTTP status 503"
            assert kept.due == pytest.approx(kept.asked + 60.0)
            assert len(hub.asked) == 1

    asyncio.run(play())


@pytest.mark.parametrize("refusal", [{"status": 410}, {"status": 403}, {"denies": True}])
def test_a_hub_that_refuses_is_left_alone_for_a_week(tmp_path: Path, refusal: dict[str, object]) -> None:
    async def play() -> None:
        async with a_hub(items=["first"], **refusal) as hub, crawling(tmp_path, hub) as scene:
            await soon(lambda: scene.store.subscriptions() and scene.subscription.note)
            kept = scene.subscription
            assert kept.until == 0.0
            assert kept.due > time.time() + 6.9 * 86400.0
            assert kept.note in (f"the hub was asked in vain: HTTP status {hub.status}", "the hub refuses: not for you")

    asyncio.run(play())


@pytest.mark.parametrize("gone", ["removed", "paused"])
def test_the_hub_is_told_when_a_source_is_wanted_no_more(tmp_path: Path, gone: str) -> None:
    async def play() -> None:
        async with a_hub(items=["first"]) as hub, crawling(tmp_path, hub) as scene:
            await scene.subscribed()
            if gone == "removed":
                scene.store.remove([1])
            else:
                source = scene.store.source(1)
                assert source is not None
                source.state = "paused"
                scene.store.edit([source])
            await soon(lambda: hub.verified == [("subscribe", hub.topic), ("unsubscribe", hub.topic)])
            await soon(lambda: not scene.store.subscriptions())
            assert not hub.subscribers

    asyncio.run(play())


def test_another_hub_takes_the_place_of_the_first(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_hub(items=["first"]) as old, a_hub() as new, crawling(tmp_path, old) as scene:
            await scene.subscribed()
            old.document = lambda: Hub.document(old).replace(f"{old.base}/hub", f"{new.base}/hub")  # type: ignore
            await soon(lambda: old.verified[-1:] == [("unsubscribe", old.topic)] and new.subscribers)
            await soon(lambda: len(scene.store.subscriptions()) == 1)
            assert scene.subscription.hub == f"{new.base}/hub"
            assert not old.subscribers

    asyncio.run(play())


def test_a_feed_that_breaks_off_leaves_no_hub(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_hub(items=["first"]) as hub, crawling(tmp_path, hub) as scene:
            await scene.subscribed()
            whole = hub.document()
            hub.document = lambda: whole.replace('rel="hub"', 'rel="hu').replace("</feed>", "")  # type: ignore
            fetched = hub.fetched
            await soon(lambda: hub.fetched > fetched + 20)
            assert scene.subscription.mode == "subscribe"
            assert len(hub.asked) == 1

    asyncio.run(play())


def test_a_source_that_names_another_hub_at_every_visit_is_not_followed_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "SETTLED_S", 3600.0)

    async def play() -> None:
        async with a_hub(items=["first"]) as hub, crawling(tmp_path, hub) as scene:
            plain, visits = hub.document, iter(range(10**6))
            hub.document = lambda: plain().replace("/hub", f"/hub?{next(visits)}")  # type: ignore
            await scene.subscribed()
            fetched = hub.fetched
            await soon(lambda: hub.fetched > fetched + 20)
            assert len(hub.asked) == 1

    asyncio.run(play())


def test_a_question_nobody_asked_for_is_refused(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_hub(items=["first"]) as hub, crawling(tmp_path, hub) as scene:
            await scene.subscribed()
            callback = next(iter(hub.subscribers))
            for more in ({"hub.mode": "unsubscribe"}, {"hub.topic": "http://other.example/"}, {"hub.challenge": ""}):
                asked = {"hub.mode": "subscribe", "hub.topic": hub.topic, "hub.challenge": "x"} | more
                assert (await hub._get(callback, asked))[0] == 404
            assert scene.subscription.until > 0.0

    asyncio.run(play())
