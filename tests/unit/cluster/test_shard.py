"""One shard, without Ray: a real store and a real web, and a coordinator that says what it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing

import msgspec

from crawling import HASTY, world_of
from postgres import server
from recrawl.clock import SystemClock
from recrawl.cluster.messages import Grant, Report
from recrawl.cluster.placement import bucket_of
from recrawl.cluster.shard import Shard
from recrawl.crawl.fetching.borrowed_turns import Turn, TurnReport
from recrawl.store.postgres import PostgresStore
from recrawl.store.records import Source
from recrawl.synthweb.server import SynthWeb
from until import soon

SOURCES = 12
AT_MOST_S = 120.0


class Telephone:
    """A line on which one answer is given again and again, with a new number each time."""

    def __init__(self, answer: Grant | None) -> None:
        self.answer = answer
        self.reports: list[Report] = []

    @property
    def last(self) -> Report:
        """What was reported last."""
        return self.reports[-1] if self.reports else Report(shard="", incarnation="", left_s=1.0)

    def tell(self, report: bytes) -> bytes:
        self.reports.append(msgspec.msgpack.decode(report, type=Report))
        if self.answer is None:
            return b""
        self.answer = msgspec.structs.replace(self.answer, number=self.answer.number + 1)
        return msgspec.msgpack.encode(self.answer)

    def borrow(self, shard: str, url: str, loan: str, delay_s: float) -> Turn | None:
        return None

    def give_back(self, shard: str, url: str, loan: str, report: TurnReport) -> None:
        pass


def granted(rate: float = 200.0, seconds: float = 10.0, leader: int = 3, members: tuple[str, ...] = ("me",)) -> Grant:
    return Grant(leader=leader, number=0, rate=rate, burst=rate, seconds=seconds, price=0.5, members=members)


Scene = Callable[[Shard, Telephone, SynthWeb, PostgresStore], Awaitable[None]]


def play(answer: Grant | None, scene: Scene) -> list[Report]:
    """A shard over a small web while a scene is played; what it reported."""
    line = Telephone(answer)

    async def run(store: PostgresStore) -> None:
        async with SynthWeb(world_of(["rss"] * SOURCES)) as web:
            added = store.add([Source(url=url) for url in web.urls()])
            placed = [(each.id, url, bucket_of(url)) for each, url in zip(added, web.urls(), strict=True)]
            store.place(placed)
            shard = Shard("me", HASTY, store, line, SystemClock())
            running = asyncio.create_task(shard.run())
            try:
                await scene(shard, line, web, store)
            finally:
                shard.stop()
                await running

    with closing(PostgresStore(server().url())) as store:
        asyncio.run(run(store))
    return line.reports


def test_with_a_grant_it_takes_its_buckets_and_fetches_everything_in_them() -> None:
    async def scene(shard: Shard, line: Telephone, web: SynthWeb, store: PostgresStore) -> None:
        await soon(lambda: {access.source for access in web.log} >= set(range(SOURCES)))
        await soon(lambda: line.last.newcomers == 0 and line.last.crawls >= SOURCES)

    last = play(granted(), scene)[-1]
    assert last.buckets == 1024
    assert last.sources == last.hosts == SOURCES
    assert (last.leader, last.rate) == (3, 200.0)
    assert last.demand > 0.0


def test_without_one_it_fetches_nothing() -> None:
    async def scene(shard: Shard, line: Telephone, web: SynthWeb, store: PostgresStore) -> None:
        await soon(lambda: len(line.reports) >= 3)
        assert web.log == []

    assert {report.trouble for report in play(None, scene)} == {"waiting for the coordinator"}


def test_it_stops_by_itself_when_its_grant_has_run_out() -> None:
    async def scene(shard: Shard, line: Telephone, web: SynthWeb, store: PostgresStore) -> None:
        await soon(lambda: len(web.log) > SOURCES)
        line.answer = None
        await soon(lambda: line.last.left_s == 0.0)
        heard = len(line.reports)
        await soon(lambda: len(line.reports) > heard + 1)  # what was under way has ended
        asked, heard = len(web.log), len(line.reports)
        await soon(lambda: len(line.reports) > heard + 2)
        assert len(web.log) == asked

    play(granted(seconds=2.0), scene)


def test_it_heeds_no_coordinator_that_was_followed_by_another() -> None:
    async def scene(shard: Shard, line: Telephone, web: SynthWeb, store: PostgresStore) -> None:
        await soon(lambda: line.last.leader == 3)
        line.answer = granted(rate=999.0, leader=2)
        heard = len(line.reports)
        await soon(lambda: len(line.reports) > heard + 2)

    assert {report.rate for report in play(granted(), scene)} <= {0.0, 200.0}


def test_it_hands_over_what_is_anothers_and_its_leases_when_it_ends() -> None:
    async def scene(shard: Shard, line: Telephone, web: SynthWeb, store: PostgresStore) -> None:
        await soon(lambda: line.last.buckets == 1024)
        line.answer = granted(members=("me", "other"))
        await soon(lambda: 0 < line.last.buckets < 700)
        assert sum(lease.left_s > 0.0 for lease in store.leases("bucket/")) == line.last.buckets
        shard.stop()
        await soon(lambda: store.live_leases() == 0)

    play(granted(), scene)
