"""Holds lifted by hand, where somebody crawls and where nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recrawl.clock import ManualClock
from recrawl.crawl.hold_release import KEPT, NOTE, Release, Releases, last_release, release, released_since
from recrawl.crawl.roster import Roster
from recrawl.crawl.stats import Stats
from recrawl.crawl.store_writer import StoreWriter
from recrawl.store.records import Batch, Hold, Progress, Robots, Source
from recrawl.store.sqlite import SqliteStore
from until import soon

NOW = 1_700_000_000.0
HELD = Progress(source=1, held_until=NOW + 500.0, held_by="forbidden", held_cause="robots", failures=3)
HOLD = Hold(host="a.example", until=NOW + 300.0, reason="asked to wait")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        opened.add([Source(url="https://a.example/feed")])
        rules = Robots(origin="https://a.example", fetched=NOW, expires=NOW + 900.0, status=200)
        opened.commit(Batch(progress=[HELD], holds=[HOLD], robots=[rules]))
        yield opened


def released(store: SqliteStore, *, crawled: bool) -> None:
    (source,), (progress,) = store.sources(), store.progress()
    release(store, [(source, progress)], store.holds(NOW), NOW, crawled=crawled)


def test_where_nobody_crawls_holds_are_lifted_in_the_store_and_robots_txt_is_read_anew(store: SqliteStore) -> None:
    released(store, crawled=False)
    (progress,) = store.progress()
    assert (progress.is_held(NOW), progress.failures, store.holds(NOW)) == (False, 0, [])
    rules = store.robots("https://a.example")
    assert rules is not None
    assert rules.expires == 0.0


def test_whoever_crawls_is_left_a_note_and_writes_itself(store: SqliteStore) -> None:
    released(store, crawled=True)
    assert next(iter(store.progress())).is_held(NOW)
    (told,) = released_since(store, 0)
    assert told == Release(number=1, sources=[1], hosts=["a.example"], rules=["https://a.example"])


def test_releases_are_numbered_and_the_last_few_remembered(store: SqliteStore) -> None:
    for _ in range(KEPT + 5):
        released(store, crawled=True)
    assert last_release(store) == KEPT + 5
    assert [each.number for each in released_since(store, 0)] == list(range(6, KEPT + 6))
    assert released_since(store, KEPT + 5) == []


def test_a_note_of_another_version_says_nothing(store: SqliteStore) -> None:
    store.write_note(NOTE, b'{"other": 1}')
    assert (last_release(store), released_since(store, 0)) == (0, [])


class Crawling:
    """Decider and fetcher of a running crawler, which remember what they were told to lift."""

    def __init__(self) -> None:
        self.roster = Roster()
        self.lifted: list[tuple[list[int], list[str]]] = []
        self.forgotten: list[str] = []

    def release(self, sources: list[int], hosts: list[str], now: float) -> list[Progress]:
        self.lifted.append((sources, hosts))
        return [Progress(source=id) for id in sources]

    def forget_rules(self, origin: str) -> None:
        self.forgotten.append(origin)

    def drain_holds(self) -> list[Hold]:
        return [Hold(host="a.example", until=0.0)]

    def drain_robots(self) -> list[Robots]:
        return []


def test_a_running_crawler_lifts_what_was_released_since_it_began_once(store: SqliteStore) -> None:
    released(store, crawled=True)

    async def scene() -> None:
        crawling: Any = Crawling()
        clock, told = ManualClock(NOW), []
        writer = StoreWriter(store, clock, Stats(), asyncio.Event())
        releases = Releases(
            crawling, crawling, writer, clock, learning=asyncio.Lock(), seen=1, told=lambda: told.append(clock.now())
        )
        watching = asyncio.create_task(releases.watch(1.0))
        await soon(lambda: clock.now() > NOW + 3.0)
        assert crawling.lifted == []
        released(store, crawled=True)
        await soon(lambda: not store.holds(NOW))
        later = clock.now()
        await soon(lambda: clock.now() > later + 3.0)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        writer.close()
        assert (crawling.lifted, crawling.forgotten) == ([([1], ["a.example"])], ["https://a.example"])
        assert len(told) == 1

    asyncio.run(scene())
    assert not next(iter(store.progress())).is_held(NOW)
