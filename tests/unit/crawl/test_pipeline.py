"""The running crawler at its seams: what it may spend, what is under way, sources that come and go, and its end."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from recrawl import wiring
from recrawl.clock import SystemClock
from recrawl.config import Config, Politeness
from recrawl.crawl import catalogue_watcher, pipeline, store_writer
from recrawl.crawl.fetching.transport import Request, Response
from recrawl.crawl.outlets import Outlets
from recrawl.crawl.pipeline import Crawler
from recrawl.crawl.reading.readers import Readers
from recrawl.errors import StoreError
from recrawl.store.records import Batch, Click, Crawl, Progress, Signal, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from until import soon

LONG_S = 60.0
CONFIG = Config(
    budget="100/s",
    politeness=Politeness(delay="0s", min_interval="0s", robots=False, parallel_per_host=4),
)


def feed(items: int) -> bytes:
    listed = "".join(f"<item><guid>{k}</guid><title>t{k}</title></item>" for k in range(items))
    return f"<rss version='2.0'><channel><title>T</title>{listed}</channel></rss>".encode()


class Web:
    """Answers with a feed, once it is let to."""

    def __init__(self, items: int = 3) -> None:
        self.asked: list[str] = []
        self.answers = asyncio.Event()
        self.answers.set()
        self._body = feed(items)

    async def fetch(self, request: Request) -> Response:
        self.asked.append(request.url)
        await self.answers.wait()
        return Response(request.url, 200, {"content-type": "application/rss+xml"}, self._body)

    async def close(self) -> None:
        pass


class Shifting(SqliteStore):
    """A store part of which may be somebody else's for a while."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._away: dict[int, int] = {}
        self._moves = 0
        self._back: dict[int, int] = {}

    def send_away(self, id: int) -> None:
        self._moves += 1
        self._away[id] = self.revision()

    def bring_back(self, id: int) -> None:
        self._moves += 1
        del self._away[id]
        self._back[id] = self.revision()

    def revision(self) -> int:
        return super().revision() + self._moves

    def removed(self, since_revision: int) -> list[int]:
        return [id for id, at in self._away.items() if at > since_revision]

    def sources(self, *, ids: Sequence[int] | None = None, since_revision: int = 0, **more: Any) -> list[Source]:
        found = super().sources(ids=ids, **more)
        changed = {each.id for each in found if self._back.get(each.id, each.revision) > since_revision}
        return [each for each in found if each.id in changed and each.id not in self._away]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Shifting]:
    with Shifting(tmp_path / "recrawl.db") as store:
        store.add([Source(url=f"http://{name}.example/feed", kind="feed") for name in "ab"])
        yield store


class CountedClock(SystemClock):
    """Counts how often it was slept by: a crawler that finds nothing to do looks again after a sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.sleeps = 0

    async def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        await super().sleep(min(seconds, 0.01))

    async def rounds(self, count: int = 20) -> None:
        """Let a crawler look so often whether there is something to do."""
        enough = self.sleeps + count
        await soon(lambda: self.sleeps >= enough)


@asynccontextmanager
async def running(
    store: SqliteStore, web: Web, clock: SystemClock | None = None, **more: Any
) -> AsyncIterator[Crawler]:
    clock = clock or SystemClock()
    intervals = dataclasses.replace(wiring.make_intervals(CONFIG), watch_s=LONG_S, listen_s=0.01)
    nobody = Outlets(store, [], clock)
    crawler = wiring.make_crawler(
        CONFIG, store, clock=clock, transport=web, intervals=intervals, outlets=nobody, sweeps=False, **more
    )
    run = asyncio.create_task(crawler.run())
    try:
        yield crawler
    finally:
        web.answers.set()
        crawler.stop()
        await run


# -- what it may spend


def test_nothing_is_asked_before_an_allotment_nor_after_it_has_run_out(store: Shifting) -> None:
    async def scene() -> None:
        web, clock = Web(), CountedClock()
        async with running(store, web, clock, allotted=True) as crawler:
            await clock.rounds()
            assert web.asked == []
            assert crawler.request_budget.allotment.per_second == 0.0
            assert (crawler.decider.dearest, len(crawler.decider.hosts)) == (1.0, 2)
            crawler.allot(200.0, 5.0, clock.now() + LONG_S)
            await soon(lambda: len(web.asked) >= 10)
            assert crawler.request_budget.allotment.per_second == 200.0
            crawler.allot(200.0, 5.0, -math.inf)
            asked = len(web.asked)
            await clock.rounds()
            assert len(web.asked) == asked
            assert crawler.request_budget.allotment.per_second == 0.0
            crawler.allot(200.0, 5.0, clock.now() + LONG_S)
            await soon(lambda: len(web.asked) >= asked + 10)

    asyncio.run(scene())


# -- what is under way


def test_a_visit_is_under_way_until_it_is_committed(store: Shifting) -> None:
    async def scene() -> None:
        web = Web()
        web.answers.clear()
        async with running(store, web) as crawler:
            await soon(lambda: len(web.asked) == 2)
            assert crawler.under_way() == {1, 2}
            crawler.allot(0.0, 0.0, -math.inf)  # nothing new meanwhile
            web.answers.set()
            await soon(lambda: not crawler.under_way())
            assert {crawl.source for crawl in store.crawls()} == {1, 2}

    asyncio.run(scene())


def test_visits_given_up_at_the_end_are_not_under_way(store: Shifting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "GRACE_S", 0.01)

    async def scene() -> None:
        web = Web()
        web.answers.clear()
        async with running(store, web) as crawler:
            await soon(lambda: len(web.asked) == 2)
            crawler.stop()
            await soon(lambda: not crawler.under_way())
        assert store.crawls() == []

    asyncio.run(scene())


class Broken(BaseException):
    """Nothing that a visit is prepared for."""


async def broken(*_: object) -> NoReturn:
    raise Broken


class FirstApart(Web):
    """Its first answer is let out apart."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.others = asyncio.Event(), asyncio.Event()

    async def fetch(self, request: Request) -> Response:
        self.answers = self.others if self.asked else self.first
        return await super().fetch(request)


def test_a_visit_that_breaks_after_its_requests_frees_its_host_once(
    store: Shifting, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_a_time = CONFIG.politeness.parallel_per_host

    async def scene() -> None:
        web, clock = FirstApart(), CountedClock()
        store.remove([1, 2])
        store.add([Source(url=f"http://c.example/{k}", kind="feed") for k in range(3 * at_a_time)])
        monkeypatch.setattr(Readers, "read", broken)
        async with running(store, web, clock) as crawler:
            await soon(lambda: len(web.asked) == at_a_time)
            web.first.set()
            await soon(lambda: len(web.asked) == at_a_time + 1)
            await clock.rounds(100)
            assert crawler.in_flight == at_a_time

    asyncio.run(scene())


# -- sources that come and go


def test_a_source_that_leaves_is_not_visited_and_goes_on_when_it_comes_back(store: Shifting) -> None:
    async def scene() -> None:
        web = Web()
        async with running(store, web) as crawler:
            await soon(lambda: {crawl.source for crawl in store.crawls()} == {1, 2})
            store.send_away(1)
            await crawler.refresh()
            await soon(lambda: 1 not in crawler.under_way())
            (before,) = store.progress([1])
            asked = web.asked.count("http://a.example/feed")
            await soon(lambda: len(web.asked) > asked + 20)
            assert web.asked.count("http://a.example/feed") == asked
            store.bring_back(1)
            await crawler.refresh()
            await soon(lambda: web.asked.count("http://a.example/feed") > asked)
            await soon(lambda: next(iter(store.progress([1]))).visits > before.visits)
        assert [crawl.outcome for crawl in store.crawls(source=1, limit=1000)].count("first") == 1

    asyncio.run(scene())


def test_many_that_come_at_once_are_taken_in_by_portions(store: Shifting, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose sources come in different portions counts as visited if any of them was."""
    monkeypatch.setattr(catalogue_watcher, "PORTION", 2)

    async def scene() -> None:
        async with running(store, Web(), allotted=True) as crawler:
            store.add([Source(url=f"http://c.example/{k}", kind="feed") for k in range(9)])
            last = store.sources()[-1].id
            crawl = Crawl(source=last, at=1000.0, outcome="unchanged")
            store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=last, last=1000.0))]))
            before = SystemClock().now()
            await crawler.refresh()
            assert len(crawler.decider) == 11
            assert len(crawler.decider.hosts) == 3
            assert crawler.decider.slots.free_at("c.example") >= before

    asyncio.run(scene())


def test_sources_whose_past_could_not_be_read_are_taken_in_the_next_time(
    store: Shifting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with running(store, Web(), allotted=True) as crawler:
            (new,) = store.add([Source(url="http://c.example/", kind="feed")])
            with monkeypatch.context() as away:
                away.setattr(store, "progress", _away)
                with pytest.raises(StoreError):
                    await crawler.refresh()
            await crawler.refresh()
            assert new.id in crawler.decider.roster.numbers

    asyncio.run(scene())


def test_whoever_looks_for_edits_while_it_ends_is_not_in_its_way(store: Shifting) -> None:
    async def scene() -> None:
        ended = asyncio.Event()

        async def look() -> None:
            while not ended.is_set():
                store.add([Source(url=f"http://c.example/{len(store.sources())}", kind="feed")])
                await crawler.refresh()
                await asyncio.sleep(0)

        async with running(store, Web(), allotted=True) as crawler:
            looking = asyncio.create_task(look())
            await soon(lambda: len(crawler.decider) > 3)
        ended.set()
        await looking
        known = len(crawler.decider)
        store.add([Source(url="http://d.example/", kind="feed")])
        await crawler.refresh()
        assert len(crawler.decider) == known

    asyncio.run(scene())


def _away(*_: object) -> NoReturn:
    raise StoreError("the server went away")


def test_a_source_that_comes_back_during_its_visit_waits_for_the_end_of_it(store: Shifting) -> None:
    async def scene() -> None:
        web = Web()
        web.answers.clear()
        async with running(store, web) as crawler:
            await soon(lambda: len(web.asked) == 2)
            store.send_away(1)
            await crawler.refresh()
            store.bring_back(1)
            await crawler.refresh()
            assert 1 not in crawler.decider.roster.numbers
            web.answers.set()
            await soon(lambda: 1 not in crawler.under_way())
            await crawler.refresh()
            assert 1 in crawler.decider.roster.numbers
            await soon(lambda: next(iter(store.progress([1]))).visits > 1)
        assert [crawl.outcome for crawl in store.crawls(source=1, limit=1000)].count("first") == 1

    asyncio.run(scene())


# -- what is written


class Refusing(Shifting):
    """Refuses to write what clicks taught, the first time; whoever wants to hear of it is told."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.refused = threading.Event()
        self.written: list[tuple[str, int, float | None]] = []

    def commit(self, batch: Batch) -> None:
        if batch.progress and not self.refused.is_set():
            self.refused.set()
            raise StoreError("not now")
        super().commit(batch)
        self.written += [("clicks", each.source, each.last) for each in batch.progress]
        self.written += [("visit", each.progress.source, each.progress.last) for each in batch.updates]


def test_what_is_written_later_was_learned_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clicks are heard while visits go on, and the store refuses to write what they taught at first."""
    monkeypatch.setattr(store_writer, "REPAIR_S", 0.3)

    async def scene(store: Refusing) -> None:
        async with running(store, Web()):
            await soon(lambda: bool(store.items(source=1)))
            store.record_clicks([Click(item=item.id, at=item.first_seen + 0.001) for item in store.items(source=1)])
            await soon(store.refused.is_set)
            await soon(lambda: any(what == "clicks" for what, _, _ in store.written))

    with Refusing(tmp_path / "recrawl.db") as store:
        store.add([Source(url="http://a.example/feed", kind="feed")])
        asyncio.run(scene(store))
        times = [last for _, id, last in store.written if id == 1 and last is not None]
        assert times == sorted(times)


class Noting(Shifting):
    """Tells of the first piece of a long listing."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.began = threading.Event()

    def commit(self, batch: Batch) -> None:
        super().commit(batch)
        if batch.items:
            self.began.set()


def test_a_stop_amid_a_very_long_listing_leaves_it_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "GRACE_S", 0.0)

    async def scene(store: Noting) -> None:
        async with running(store, Web(items=3000)) as crawler:
            await soon(store.began.is_set)
            crawler.stop()

    with Noting(tmp_path / "recrawl.db") as store:
        store.add([Source(url="http://a.example/feed", kind="feed")])
        asyncio.run(scene(store))
        assert len(store.items(source=1, limit=10_000)) == 3000
        (first, *_) = store.crawls(source=1)[::-1]
        assert (first.outcome, first.new) == ("first", 3000)


# -- what others say


def test_a_running_crawler_hears_that_a_source_has_changed(store: Shifting) -> None:
    async def scene() -> None:
        async with running(store, Web()) as crawler:
            await soon(lambda: len(crawler.decider.roster.numbers) == 2 and store.totals(0.0).crawls >= 2)
            assert store.record_signals([Signal(source=1, at=1.0, came=1.0), Signal(source=1, at=2.0, came=2.0)]) == 1
            await soon(lambda: not store.signals())
            assert len(crawler.decider.policy.lists(crawler._clock.now())) == 1

    asyncio.run(scene())
