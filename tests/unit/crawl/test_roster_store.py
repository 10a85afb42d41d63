"""What a roster will ask the store for is read beforehand, though the store refuses and others write meanwhile."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from recrawl import wiring
from recrawl.clock import ManualClock
from recrawl.config import Config, Politeness
from recrawl.crawl.catalogue_watcher import CatalogueWatcher
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.hold_release import Releases, release
from recrawl.crawl.intervals import Intervals
from recrawl.crawl.maintenance import Maintenance
from recrawl.crawl.roster_store import RosterStore
from recrawl.crawl.stats import Stats
from recrawl.crawl.store_writer import StoreWriter
from recrawl.errors import StoreError
from recrawl.store.records import Batch, Progress, Signal, Source
from recrawl.store.sqlite import SqliteStore
from until import soon

NOW = 1_700_000_000.0
CONFIG = Config(politeness=Politeness(delay="0s", min_interval="0s", robots=False))


class Refusing(SqliteStore):
    """Refuses to be read so many times; does something after a read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.refusals, self.reads = 0, 0
        self.then: Callable[[], None] = lambda: None

    def progress(self, ids: Sequence[int] | None = None) -> Iterator[Progress]:
        self.reads += 1
        if self.refusals > 0:
            self.refusals -= 1
            raise StoreError("not now")
        found = [*super().progress(ids)]
        then, self.then = self.then, lambda: None
        then()
        return iter(found)


class Scene:
    """A decider over a store, as a running crawler has them."""

    def __init__(self, store: Refusing) -> None:
        self.store, self.clock = store, ManualClock(NOW)
        self.decider = wiring.make_decider(CONFIG, store, HostSlots(CONFIG.politeness, NOW, random.Random(0)), NOW)
        self.roster = self.decider.roster
        self.writer = StoreWriter(store, self.clock, Stats(), asyncio.Event())
        self.roster_store = RosterStore(self.roster, self.writer)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Refusing]:
    with Refusing(tmp_path / "recrawl.db") as opened:
        opened.add([Source(url=f"https://{name}.example/feed", kind="feed") for name in "ab"])
        held = {"held_until": NOW + 500.0, "held_by": "asked to wait", "held_cause": "backoff"}
        opened.commit(Batch(progress=[Progress(source=k, last=NOW - 9.0, etag="old", **held) for k in (1, 2)]))
        yield opened


def played(store: Refusing, script: Callable[[Scene], Awaitable[None]]) -> None:
    async def scene() -> None:
        made = Scene(store)
        try:
            await script(made)
        finally:
            made.writer.close()

    asyncio.run(scene())


def test_what_is_at_hand_is_read_once_however_often_the_store_refuses(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        store.refusals, store.reads = 2, 0
        async with scene.roster_store.at_hand(lines=[0], progress=[0, 1]):
            assert store.reads == 3
            assert [each.etag for each in scene.roster.progresses([1, 0])] == ["old", "old"]
            assert scene.roster.source(0).url == "https://a.example/feed"
            assert store.reads == 3
        scene.roster.progress(0)
        assert store.reads == 4

    played(store, script)


def test_what_was_written_while_it_was_read_is_read_again(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        newer = Progress(source=1, last=NOW, etag="new")

        def overtake() -> None:
            scene.roster.put_progress(0, newer)
            store.commit(Batch(progress=[newer]))
            scene.roster.stored([1], scene.roster.turn)

        store.then = overtake
        async with scene.roster_store.at_hand(progress=[0, 1]):
            assert [each.etag for each in scene.roster.progresses([0, 1])] == ["new", "old"]

    played(store, script)


def test_progress_that_was_committed_takes_no_more_room(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        freed = scene.decider.release([1, 2], [], NOW)
        assert all(map(scene.roster.has_unstored_progress, (0, 1)))
        await scene.roster_store.commit(Batch(progress=freed))
        assert not any(map(scene.roster.has_unstored_progress, (0, 1)))
        assert not any(each.is_held(NOW) for each in scene.roster.progresses([0, 1]))

    played(store, script)


def maintained(scene: Scene) -> Maintenance:
    budget: Any = SimpleNamespace(per_second=1.0)
    return Maintenance(
        scene.decider, scene.writer, budget, scene.clock, Stats(), Intervals(), learning=asyncio.Lock(),
        begin=asyncio.create_task, keep=None, budgets=None, told=lambda: None,
    )  # fmt: skip


def test_a_signal_is_learned_from_though_the_store_refuses_to_be_read(store: Refusing) -> None:
    store.record_signals([Signal(source=1, at=NOW, came=NOW)])

    async def script(scene: Scene) -> None:
        store.refusals = 1
        assert await maintained(scene).hear_signals(store.signals()) == 1
        assert store.signals() == []

    played(store, script)


def test_an_edit_is_followed_though_the_store_refuses_to_be_read(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        watcher = CatalogueWatcher(
            scene.decider,
            scene.writer,
            scene.clock,
            learning=asyncio.Lock(),
            revision=store.revision(),
            under_way=set,
            told=lambda: None,
        )
        edited = [msgspec.structs.replace(line, url=line.url.replace(".example", ".test")) for line in store.sources()]
        store.edit(edited)
        store.refusals = 1
        await watcher.refresh()
        assert {*scene.roster.urls} == {line.url for line in edited}
        assert [scene.roster.progress(number).etag for number in scene.roster.numbers_of([1, 2])] == ["old", "old"]

    played(store, script)


def test_what_was_released_is_lifted_though_the_store_refuses_to_be_read(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        fetcher: Any = SimpleNamespace(drain_holds=list, drain_robots=list)
        releases = Releases(
            scene.decider, fetcher, scene.writer, scene.clock, learning=asyncio.Lock(), seen=0, told=lambda: None
        )
        held = [(source, progress) for source, progress in zip(store.sources(), store.progress(), strict=True)]
        release(store, held, [], NOW, crawled=True)
        store.refusals = 1
        watching = asyncio.create_task(releases.watch(1.0))
        await soon(lambda: store.refusals == 0 and not any(each.is_held(NOW) for each in SqliteStore.progress(store)))
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    played(store, script)


def test_who_asked_for_a_crawl_has_it_answered_though_the_store_refuses_to_be_read(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        wanted = [msgspec.structs.replace(line, wanted=NOW + 1.0) for line in store.sources()]
        store.edit(wanted)
        scene.decider.upsert(wanted, NOW + 1.0)
        refused, read = [StoreError("not now")], SqliteStore.sources

        def sources(**choice: Any) -> list[Source]:
            if refused:
                raise refused.pop()
            return read(store, **choice)

        store.sources = sources  # type: ignore[method-assign]
        assert scene.decider.schedules.is_requested(0)
        with pytest.raises(StoreError):
            scene.decider.requests_made([1])
        assert scene.decider.schedules.is_requested(0), "nothing was done"
        scene.decider.requests_made([1])
        assert not scene.decider.schedules.is_requested(0)

    played(store, script)


def test_an_edit_that_could_not_be_read_for_changes_nothing(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        moved = [msgspec.structs.replace(line, url=line.url.replace(".example", ".test")) for line in store.sources()]
        store.refusals = 1
        with pytest.raises(StoreError):
            scene.decider.upsert(moved, NOW)
        assert {*scene.roster.urls} == {"https://a.example/feed", "https://b.example/feed"}
        scene.decider.upsert(moved, NOW)
        assert {*scene.roster.urls} == {line.url for line in moved}

    played(store, script)


def test_why_sources_wait_is_read_of_many_at_once(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        store.reads = 0
        assert [wait.cause for wait in scene.decider.holds.waits(NOW)] == ["backoff", "backoff"]
        assert store.reads == 1

    played(store, script)


def test_what_was_chosen_and_cannot_be_read_may_be_chosen_again(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        now = NOW + 1000.0
        numbers = scene.decider.chosen(now, 10.0)
        assert sorted(numbers) == [0, 1]
        assert scene.roster.visited_ids() == {1, 2}
        assert scene.decider.chosen(now, 10.0) == []
        scene.decider.pass_over(numbers)
        scene.decider.remove([2])
        numbers = scene.decider.chosen(now, 10.0)
        async with scene.roster_store.chosen_at_hand(numbers):
            assert [(each.source.id, each.progress.etag) for each in scene.decider.intents(numbers, now)] == [
                (1, "old")
            ]

    played(store, script)


def test_what_was_removed_while_it_was_read_is_not_visited(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        now = NOW + 1000.0
        numbers = scene.decider.chosen(now, 10.0)
        scene.decider.remove([1])
        assert [each.source.id for each in scene.decider.intents(numbers, now)] == [2]
        assert scene.roster.visited_ids() == {2}

    played(store, script)
