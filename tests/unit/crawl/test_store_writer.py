"""The store off the loop: in a thread of its own, one thing after the other, and as often as it takes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import structlog

from recrawl.clock import ManualClock
from recrawl.crawl.stats import Stats
from recrawl.crawl.store_writer import REPAIR_S, StoreWriter
from recrawl.errors import StoreError, StoreTakenError
from recrawl.store.records import Batch, Price
from recrawl.store.roles import Store
from recrawl.store.sqlite import SqliteStore

NOW = 1_700_000_000.0
Answer = TypeVar("Answer")


class Refusing(SqliteStore):
    """Refuses to write so many times."""

    refusals = 0
    error: Exception = StoreError("the disk is full")

    def commit(self, batch: Batch) -> None:
        if self.refusals:
            self.refusals -= 1
            raise self.error
        super().commit(batch)


class Scene:
    """A writer, and what it works with."""

    def __init__(self, store: Refusing) -> None:
        self.store, self.clock, self.stats, self.stopping = store, ManualClock(NOW), Stats(), asyncio.Event()
        self.writer = StoreWriter(store, self.clock, self.stats, self.stopping)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Refusing]:
    with Refusing(tmp_path / "recrawl.db") as opened:
        yield opened


def played(store: Refusing, script: Callable[[Scene], Awaitable[Answer]]) -> Answer:
    async def scene() -> Answer:
        made = Scene(store)
        try:
            return await script(made)
        finally:
            made.writer.close()

    return asyncio.run(scene())


def batch(at: float) -> Batch:
    return Batch(price=Price(at=at, price=1.0, budget=1.0, requests=1, captured=0.0))


def written(store: Store) -> list[float]:
    return [each.at for each in store.prices(0.0)]


def test_it_works_in_one_thread_which_is_not_the_loop_s(store: Refusing) -> None:
    async def script(scene: Scene) -> list[int]:
        return await asyncio.gather(*(scene.writer.ask(lambda _: threading.get_ident()) for _ in range(10)))

    threads = set(played(store, script))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_one_thing_is_done_after_the_other_in_the_order_asked_for(store: Refusing) -> None:
    order: list[int] = []

    async def script(scene: Scene) -> None:
        await asyncio.gather(*(scene.writer.ask(lambda _, k=k: order.append(k)) for k in range(20)))  # type: ignore[misc]

    played(store, script)
    assert order == [*range(20)]


def test_it_gives_back_what_the_store_answers(store: Refusing) -> None:
    async def script(scene: Scene) -> tuple[int, int]:
        return await scene.writer.ask(lambda opened: 1), await scene.writer.persist(lambda opened: 2)

    assert played(store, script) == (1, 2)


def test_a_store_that_refuses_is_asked_again_until_it_writes(store: Refusing) -> None:
    async def script(scene: Scene) -> float:
        await scene.writer.commit(batch(NOW))
        return scene.clock.now()

    store.refusals = 5
    assert played(store, script) == NOW + 5 * REPAIR_S
    assert written(store) == [NOW]


def test_meanwhile_it_says_so_and_afterwards_it_does_not(store: Refusing) -> None:
    seen: list[tuple[bool, str]] = []

    async def script(scene: Scene) -> None:
        def write(opened: Store) -> None:
            seen.append((scene.writer.refused, scene.stats.trouble))
            opened.commit(batch(NOW))

        await scene.writer.persist(write)
        seen.append((scene.writer.refused, scene.stats.trouble))

    store.refusals = 2
    played(store, script)
    assert seen == [(False, ""), (True, "the disk is full"), (True, "the disk is full"), (False, "")]


def test_trouble_is_over_when_everybody_who_waits_has_written(store: Refusing) -> None:
    async def script(scene: Scene) -> list[tuple[bool, str]]:
        seen = []

        async def write(at: float) -> None:
            await scene.writer.commit(batch(at))
            seen.append((scene.writer.refused, scene.stats.trouble))

        await asyncio.gather(write(NOW), write(NOW + 1.0))
        return seen

    store.refusals = 3
    first, last = played(store, script)
    assert first == (True, "the disk is full")
    assert last == (False, "")
    assert sorted(written(store)) == [NOW, NOW + 1.0]


def test_it_complains_ever_more_rarely_and_says_when_it_is_over(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        await scene.writer.commit(batch(NOW))

    store.refusals = 9
    with structlog.testing.capture_logs() as logs:
        played(store, script)
    assert [line["log_level"] for line in logs] == ["error"] * 4 + ["info"], "the 1st, 2nd, 4th and 8th time"
    assert logs[0]["reason"] == "the disk is full"


def test_at_the_end_a_store_that_refuses_is_not_asked_again(store: Refusing) -> None:
    async def script(scene: Scene) -> None:
        scene.stopping.set()
        await scene.writer.commit(batch(NOW))

    store.refusals = 2
    with pytest.raises(StoreError, match="the disk is full"):
        played(store, script)
    assert store.refusals == 1


@pytest.mark.parametrize("error", [StoreTakenError("somebody else has it"), ValueError("no batch")])
def test_what_asking_again_does_not_mend_is_raised_at_once(store: Refusing, error: Exception) -> None:
    async def script(scene: Scene) -> None:
        await scene.writer.commit(batch(NOW))

    store.refusals, store.error = 2, error
    with pytest.raises(type(error), match=str(error)):
        played(store, script)
    assert store.refusals == 1


def test_whoever_only_asks_is_told_of_a_refusal_at_once(store: Refusing) -> None:
    async def script(scene: Scene) -> tuple[bool, str]:
        with pytest.raises(StoreError, match="the disk is full"):
            await scene.writer.ask(lambda opened: opened.commit(batch(NOW)))
        return scene.writer.refused, scene.stats.trouble

    store.refusals = 1
    assert played(store, script) == (False, "")


def test_what_has_begun_is_ended_before_it_closes(store: Refusing) -> None:
    async def scene() -> None:
        made = Scene(store)
        writing = asyncio.create_task(made.writer.commit(batch(NOW)))
        await asyncio.sleep(0)
        made.writer.close()
        await writing

    asyncio.run(scene())
    assert written(store) == [NOW]


def test_something_long_keeps_nobody_waiting_and_is_told_to_stop(store: Refusing) -> None:
    stopped, begun = threading.Event(), threading.Event()

    def long_work(_: Store, stop: Callable[[], bool]) -> None:
        begun.set()
        while not stop():
            pass
        stopped.set()

    async def script(scene: Scene) -> None:
        task = asyncio.create_task(scene.writer.ask_beside(long_work))
        await asyncio.to_thread(begun.wait, 30.0)
        await scene.writer.commit(batch(NOW))
        assert not stopped.is_set()
        task.cancel()
        assert await asyncio.to_thread(stopped.wait, 30.0)

    played(store, script)
    assert written(store) == [NOW]
