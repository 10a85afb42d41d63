"""Edits of the catalogue by others, as a running crawler follows them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from recrawl.clock import ManualClock
from recrawl.crawl.catalogue_watcher import CatalogueWatcher
from recrawl.crawl.roster import Roster
from recrawl.crawl.stats import Stats
from recrawl.crawl.store_writer import StoreWriter
from recrawl.store.records import Batch, Crawl, Hold, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore

NOW = 1_700_000_000.0


class Following:
    """A decider that remembers what it was told."""

    def __init__(self) -> None:
        self.roster = Roster()
        self.rules = SimpleNamespace(log_s=3600.0)
        self.came: list[tuple[list[int], list[int], list[str]]] = []
        self.left: list[int] = []
        self.made: list[int] = []

    def upsert(self, sources: list[Source], now: float, past: list[Progress], holds: list[Hold]) -> None:
        self.came.append(([s.id for s in sources], [p.source for p in past], [h.host for h in holds]))
        for source in sources:
            if source.id not in self.roster.numbers:
                self.roster.add(source)

    def looked_at(self, sources: list[Source], now: float) -> list[int]:
        return []

    def drain_lifted(self) -> list[Progress]:
        return []

    def remove(self, ids: Iterable[int]) -> None:
        self.left += ids

    def requests_made(self, ids: Iterable[int]) -> None:
        self.made += ids


class Scene:
    """A watcher, and what it works with."""

    def __init__(self, store: SqliteStore) -> None:
        self.store, self.decider, self.under_way = store, Following(), set[int]()
        decider: Any = self.decider
        clock = ManualClock(NOW)
        self.writer = StoreWriter(store, clock, Stats(), asyncio.Event())
        self.told, self.newcomers = 0, list[int]()
        self.watcher = CatalogueWatcher(
            decider,
            self.writer,
            clock,
            learning=asyncio.Lock(),
            revision=0,
            under_way=lambda: self.under_way,
            told=self._tell,
            came=self.newcomers.extend,
        )

    def _tell(self) -> None:
        self.told += 1

    async def follow(self) -> list[tuple[list[int], list[int], list[str]]]:
        """What it passes on when it looks now."""
        self.decider.came = []
        await self.watcher.refresh()
        return self.decider.came


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        opened.add([Source(url="https://a.example/"), Source(url="https://b.example/")])
        yield opened


def played(store: SqliteStore, script: Callable[[Scene], Awaitable[None]]) -> None:
    async def scene() -> None:
        made = Scene(store)
        try:
            await script(made)
        finally:
            made.writer.close()

    asyncio.run(scene())


def crawled(store: SqliteStore, id: int, **more: Any) -> None:
    crawl = Crawl(source=id, at=NOW - 10.0, outcome="failed")
    update = VisitUpdate(crawl=crawl, progress=Progress(source=id, **more))
    store.commit(Batch(updates=[update], holds=[Hold(host="c.example", until=NOW + 60.0)]))


def test_an_edit_is_passed_on_once(store: SqliteStore) -> None:
    async def script(scene: Scene) -> None:
        assert [ids for ids, _, _ in await scene.follow()] == [[1, 2]]
        assert await scene.follow() == []
        store.edit([msgspec.structs.replace(store.sources()[1], title="B")])
        assert [ids for ids, _, _ in await scene.follow()] == [[2]]
        store.remove([1])
        await scene.follow()
        assert (scene.decider.left, scene.told) == ([1], 2)

    played(store, script)


def test_those_with_a_past_come_first_with_it_and_with_the_holds_of_hosts(store: SqliteStore) -> None:
    crawled(store, 2, failures=1)

    async def script(scene: Scene) -> None:
        ((ids, past, holds),) = await scene.follow()
        assert (ids, past, holds) == ([2, 1], [2, 1], ["c.example"])

    played(store, script)


def test_one_that_comes_back_during_its_visit_waits_for_the_end_of_it(store: SqliteStore) -> None:
    async def script(scene: Scene) -> None:
        scene.under_way = {1}
        assert [ids for ids, _, _ in await scene.follow()] == [[2]]
        assert await scene.follow() == []
        scene.under_way = set()
        assert [ids for ids, _, _ in await scene.follow()] == [[1]]

    played(store, script)


def test_a_crawl_that_was_asked_for_and_made_in_vain_is_asked_for_no_more(store: SqliteStore) -> None:
    store.edit([msgspec.structs.replace(each, wanted=NOW - 20.0) for each in store.sources()])
    crawled(store, 1, failures=1)

    async def script(scene: Scene) -> None:
        await scene.follow()
        assert scene.decider.made == [1]

    played(store, script)


def test_once_closed_it_looks_no_more(store: SqliteStore) -> None:
    async def script(scene: Scene) -> None:
        await scene.watcher.close()
        assert await scene.follow() == []

    played(store, script)


def test_who_comes_is_told_of_once(store: SqliteStore) -> None:
    async def script(scene: Scene) -> None:
        await scene.follow()
        store.add([Source(url="https://c.example/")])
        store.edit(store.sources(ids=[1]))
        await scene.follow()
        assert scene.newcomers == [1, 2, 3]

    played(store, script)
