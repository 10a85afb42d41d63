"""Finished visits are committed in batches, in order, whatever it takes; very long listings in pieces."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from recrawl import wiring
from recrawl.clock import ManualClock
from recrawl.config import Config, Politeness
from recrawl.crawl import committer as module
from recrawl.crawl import page_changes
from recrawl.crawl.committer import CROWDED, PIECE, Committer
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.transport import Response
from recrawl.crawl.reading.findings import Findings, FoundItem
from recrawl.crawl.stats import Stats
from recrawl.crawl.store_writer import REPAIR_S, StoreWriter
from recrawl.crawl.visits import Intent, Visit
from recrawl.errors import StoreError, StoreTakenError
from recrawl.store.records import Batch, Hold, Robots, Source, item_key
from recrawl.store.sqlite import SqliteStore

NOW = 1_700_000_000.0
CONFIG = Config(politeness=Politeness(delay="0s", min_interval="0s", robots=False))


class Noting(SqliteStore):
    """Notes what is written in one transaction: sources visited, items ahead of their visit; and may refuse."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.written: list[tuple[list[int], int]] = []
        self.batches: list[Batch] = []
        self.errors: list[Exception] = []
        self.threads: set[int] = set()

    def commit(self, batch: Batch) -> None:
        self.threads.add(threading.get_ident())
        if self.errors:
            raise self.errors.pop()
        super().commit(batch)
        self.batches.append(batch)
        self.written.append(([each.crawl.source for each in batch.updates], len(batch.items)))


class Fetched:
    """What a fetcher has learned of hosts meanwhile."""

    def __init__(self) -> None:
        self.holds = [Hold(host="a.example", until=NOW + 60.0)]
        self.robots = [Robots(origin="https://a.example", status=404, body="", fetched=NOW)]

    def drain_holds(self) -> list[Hold]:
        holds, self.holds = self.holds, []
        return holds

    def drain_robots(self) -> list[Robots]:
        robots, self.robots = self.robots, []
        return robots


class Scene:
    """A committer over a real store and a real decider."""

    def __init__(self, store: Noting) -> None:
        self.store, self.clock, self.stats, self.stopping = store, ManualClock(NOW), Stats(), asyncio.Event()
        self.decider = wiring.make_decider(CONFIG, store, HostSlots(CONFIG.politeness, NOW, random.Random(0)), NOW)
        self.writer = StoreWriter(store, self.clock, self.stats, self.stopping)
        self.begun: list[asyncio.Task[None]] = []
        self.foretold, self.concluded = list[int](), list[int]()
        self.committer = Committer(
            self.decider,
            Fetched(),  # type: ignore[arg-type]
            self.writer,
            self.clock,
            batch_s=0.0,
            concluded=self._conclude,
            begin=self._begin,
            foretold=self._foretell,
        )

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self.begun.append(asyncio.create_task(work))
        return self.begun[-1]

    async def _foretell(self, visits: list[Visit]) -> None:
        assert len(self.store.crawls()) == len(self.concluded), "it is not committed yet"
        self.foretold += [visit.intent.source.id for visit in visits]

    def _conclude(self, visits: list[Visit], updates: list[Any]) -> None:
        assert [visit.intent.source.id for visit in visits] == [each.crawl.source for each in updates]
        assert {each.crawl.at for each in updates} <= {crawl.at for crawl in self.store.crawls()}, "it is committed"
        assert {visit.intent.source.id for visit in visits} <= {*self.foretold}
        self.concluded += [visit.intent.source.id for visit in visits]

    def intents(self) -> list[Intent]:
        return sorted(self.decider.choose(self.clock.now(), 100.0), key=lambda intent: intent.source.id)

    async def finish(self, *visits: Visit) -> None:
        """Hand these over together, and wait for the end."""
        for visit in visits:
            self.committer.take(visit)
        self.committer.close()
        await self.committer.run()
        await asyncio.gather(*self.begun)
        self.decider.holds.end_visits([visit.intent for visit in visits], self.clock.now())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Noting]:
    with Noting(tmp_path / "recrawl.db") as opened:
        opened.add([Source(url=f"https://{name}.example/feed", kind="feed") for name in "abc"])
        yield opened


def played(store: Noting, script: Callable[[Scene], Awaitable[None]]) -> Scene:
    async def scene() -> Scene:
        made = Scene(store)
        try:
            await script(made)
        finally:
            made.writer.close()
        return made

    return asyncio.run(scene())


def visited(intent: Intent, findings: Findings, at: float = NOW) -> Visit:
    url = intent.source.url
    keys = [item_key(item.key) for item in findings.items]
    return Visit(intent, at, FetchResult(Response(url, 200, {}, b""), url, requests=1), findings, keys=keys)


def listing(intent: Intent, items: int = 3, first: int = 0) -> Visit:
    found = tuple(FoundItem(key=f"{k}", title=f"t{k}", link=f"https://a.example/{k}") for k in range(first, items))
    return visited(intent, Findings(kind="feed", items=found))


# -- batches


def test_visits_that_end_together_are_committed_together(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        await scene.finish(*map(listing, scene.intents()))

    scene = played(store, script)
    assert store.written == [([1, 2, 3], 0)]
    assert scene.concluded == [1, 2, 3]
    assert len(store.items(limit=100)) == 9


def test_what_was_learned_of_hosts_meanwhile_is_committed_with_them_once(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        first, second, _ = scene.intents()
        await scene.finish(listing(first))
        await scene.finish(listing(second))

    played(store, script)
    assert [(len(batch.holds), len(batch.robots)) for batch in store.batches] == [(1, 1), (0, 0)]


def test_batches_are_committed_one_after_the_other_in_the_order_visits_end(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        running = asyncio.create_task(scene.committer.run())
        for intent in reversed(scene.intents()):
            scene.committer.take(listing(intent))
            while scene.committer.waiting:
                await asyncio.sleep(0)
        scene.committer.close()
        await running

    scene = played(store, script)
    assert [source for sources, _ in store.written for source in sources] == [3, 2, 1]
    assert scene.concluded == [3, 2, 1]


def test_all_is_written_in_the_store_s_own_thread(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        first, second, _ = scene.intents()
        await scene.finish(listing(first), listing(second, CROWDED))

    played(store, script)
    assert len(store.threads) == 1
    assert threading.get_ident() not in store.threads


def test_it_runs_until_it_is_closed_and_nothing_is_left(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        first, second, _ = scene.intents()
        running = asyncio.create_task(scene.committer.run())
        scene.committer.take(listing(first))
        while not scene.concluded:
            await asyncio.sleep(0)
        assert not running.done()
        scene.committer.take(listing(second))
        assert scene.committer.waiting == 1
        scene.committer.close()
        await running
        assert scene.committer.waiting == 0

    assert played(store, script).concluded == [1, 2]


def test_what_is_new_is_told_by_the_store(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        await scene.finish(listing(scene.intents()[0]))
        scene.clock.advance(3600.0)
        again = next(intent for intent in scene.intents() if intent.source.id == 1)
        await scene.finish(visited(again, listing(again, 5).findings or Findings(kind="feed"), scene.clock.now()))

    played(store, script)
    assert [(crawl.outcome, crawl.new) for crawl in store.crawls(source=1)][::-1] == [("first", 3), ("new", 2)]
    assert len(store.items(source=1, limit=100)) == 5


# -- a store that refuses


def test_what_a_store_refuses_is_committed_again_and_nothing_is_dropped(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        await scene.finish(*map(listing, scene.intents()))

    store.errors = [StoreError("full"), StoreError("full")]
    scene = played(store, script)
    assert scene.clock.now() == NOW + 2 * REPAIR_S
    assert store.written == [([1, 2, 3], 0)]
    assert len(store.events(0, 100)) == len(store.items(limit=100)) == 9
    assert scene.concluded == [1, 2, 3]


def test_nobody_is_told_of_what_is_not_committed_and_the_run_ends_with_the_failure(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        with pytest.raises(StoreTakenError, match="somebody else"):
            await scene.finish(*map(listing, scene.intents()))
        assert scene.concluded == []

    store.errors = [StoreTakenError("somebody else has it")]
    played(store, script)
    assert store.crawls() == []


def test_at_the_end_a_store_that_refuses_is_not_waited_for(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        scene.stopping.set()
        with pytest.raises(StoreError, match="full"):
            await scene.finish(*map(listing, scene.intents()))

    store.errors = [StoreError("full")]
    assert played(store, script).concluded == []


# -- very long listings


def test_a_very_long_listing_is_committed_in_pieces_and_its_visit_with_the_last(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        await scene.finish(listing(scene.intents()[0], CROWDED + 1))

    scene = played(store, script)
    assert store.written == [([], PIECE)] * (CROWDED // PIECE) + [([], 1), ([1], 0)]
    assert all(len(batch.events) == len(batch.items) for batch in store.batches)
    assert store.batches[-1].updates[0].items == []
    assert len(store.items(source=1, limit=10_000)) == len(store.events(0, 10_000)) == CROWDED + 1
    (crawl,) = store.crawls(source=1)
    assert (crawl.outcome, crawl.new) == ("first", CROWDED + 1)
    assert scene.concluded == [1]


def test_others_are_committed_between_its_pieces(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        first, second, third = scene.intents()
        running = asyncio.create_task(scene.committer.run())
        scene.committer.take(listing(first, 4 * CROWDED))
        while len(store.written) < 2:
            await asyncio.sleep(0)
        scene.committer.take(listing(second))
        scene.committer.take(listing(third))
        scene.committer.close()
        await running
        await asyncio.gather(*scene.begun)

    played(store, script)
    visits = [sources for sources, _ in store.written if sources]
    assert (visits[-1], sorted(source for sources in visits for source in sources)) == ([1], [1, 2, 3])


def test_a_store_that_refuses_a_piece_is_asked_again_for_that_piece(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        await scene.finish(listing(scene.intents()[0], CROWDED))

    store.errors = [StoreError("full")] * 3
    scene = played(store, script)
    assert scene.committer.failure is None
    assert len(store.items(source=1, limit=10_000)) == len(store.events(0, 10_000)) == CROWDED


def test_what_ends_the_commit_of_a_long_listing_is_kept_for_whoever_runs_it(store: Noting) -> None:
    async def script(scene: Scene) -> None:
        await scene.finish(listing(scene.intents()[0], CROWDED))
        assert isinstance(scene.committer.failure, StoreTakenError)

    store.errors = [StoreTakenError("somebody else has it")]
    assert played(store, script).concluded == []
    assert store.crawls() == []


# -- off the loop


def test_a_page_is_compared_with_what_it_was_off_the_loop(store: Noting, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def difference(old: str, new: str, noise: object = None) -> str:
        threads.append(threading.current_thread() is threading.main_thread())
        return f"{old} -> {new}"

    async def script(scene: Scene) -> None:
        for number in (1, 2):
            page = Findings(kind="page", digest=f"{number}", text=f"visit {number}")
            (intent,) = [each for each in scene.intents() if each.source.kind == "page"]
            await scene.finish(visited(intent, page, scene.clock.now()))
            scene.clock.advance(3600.0)

    monkeypatch.setattr(page_changes, "difference", difference)
    store.remove([1, 2, 3])
    store.add([Source(url="http://a.example/page", kind="page")])
    played(store, script)
    (page,) = store.sources()
    assert store.versions(page.id, limit=10)[-2].diff == "visit 1 -> visit 2"
    assert threads
    assert not any(threads)


def test_an_index_of_very_many_sitemaps_is_worked_out_off_the_loop(
    store: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    outcome_of = module.outcome_of

    def noting(*given: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return outcome_of(*given)

    async def script(scene: Scene) -> None:
        (intent,) = scene.intents()
        children = tuple(f"http://a.example/{k}.xml" for k in range(CROWDED))
        await scene.finish(visited(intent, Findings(kind="sitemap", children=children)))

    monkeypatch.setattr(module, "outcome_of", noting)
    store.remove([1, 2, 3])
    store.add([Source(url="http://a.example/sitemap.xml", kind="sitemap")])
    played(store, script)
    assert threads == [False]
    assert len(store.sources(limit=2)) == 2
