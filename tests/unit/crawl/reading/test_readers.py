"""Reading never holds up the loop, and no document takes the reader with it."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import time
from typing import Any

import msgspec
import pytest

from recrawl.crawl import visitor
from recrawl.crawl.reading import readers as module
from recrawl.crawl.reading.findings import Findings, FoundItem, UnreadableError
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.readers import Document, Readers
from recrawl.store.records import item_key

NOW = 1.79e9


def document(body: bytes) -> Document:
    return Document(url="https://example.org/feed", body=body, now=NOW)


def feed(entries: int) -> bytes:
    items = "".join(f"<item><guid>{k}</guid><title>Title {k}</title></item>" for k in range(entries))
    return f"<rss><channel><title>T</title><ttl>5</ttl>{items}</channel></rss>".encode()


async def longest_stall(stop: asyncio.Event) -> float:
    """The most processor time this thread took in one turn of the loop: what others do on the machine is not in it."""
    longest = 0.0
    while not stop.is_set():
        before = time.thread_time()
        await asyncio.sleep(0)
        longest = max(longest, time.thread_time() - before)
    return longest


def test_small_documents_need_no_process() -> None:
    async def run() -> None:
        readers = Readers()
        assert len((await readers.read(document(feed(3)))).items) == 3
        assert readers.processes == ()
        await readers.close()

    asyncio.run(run())


def test_many_small_elements_make_a_large_document() -> None:
    async def run() -> None:
        readers = Readers()
        try:
            assert len((await readers.read(document(feed(3000)))).items) == 3000
            assert len(readers.processes) == 1
        finally:
            await readers.close()

    asyncio.run(run())


@pytest.mark.parametrize(("size", "limit"), [(100, "10 s"), (5_000_000, "20 s"), (10_000_000, "30 s")])
def test_small_documents_have_less_time_than_large_ones(monkeypatch: pytest.MonkeyPatch, size: int, limit: str) -> None:
    async def late(waited: asyncio.Future[object], timeout: float) -> None:
        raise TimeoutError

    async def run() -> None:
        readers = Readers(large=1)
        monkeypatch.setattr(asyncio, "wait_for", late)
        try:
            with pytest.raises(UnreadableError, match=f"took more than {limit}"):
                await readers.read(document(b" " * size))
        finally:
            await readers.close()

    asyncio.run(run())


def test_what_only_a_slow_reader_can_read_is_read_elsewhere() -> None:
    async def run() -> None:
        readers = Readers()
        try:
            found = await readers.read(document(b"<rss><channel><item><title>One</item><item><title>Two</channel>"))
            assert found.kind == "feed"
            assert len(readers.processes) == 1
        finally:
            await readers.close()

    asyncio.run(run())


def test_large_documents_are_read_elsewhere_and_say_the_same() -> None:
    async def run() -> tuple[Findings, Findings]:
        here, elsewhere = Readers(), Readers(large=1)
        body = feed(2500)
        try:
            return await here.read(document(body)), await elsewhere.read(document(body))
        finally:
            await here.close()
            await elsewhere.close()

    one, other = asyncio.run(run())
    assert one == other


def test_complaints_come_back_as_complaints() -> None:
    async def run() -> None:
        readers = Readers(large=1)
        try:
            with pytest.raises(UnreadableError, match="declares entities"):
                await readers.read(document(b"<!DOCTYPE rss [<!ENTITY a 'b'>]><rss/>"))
            assert (await readers.read(document(feed(1)))).kind == "feed"
        finally:
            await readers.close()

    asyncio.run(run())


def test_one_that_takes_too_long_is_ended_and_the_next_is_read() -> None:
    async def run() -> None:
        readers = Readers(large=1, timeout_s=0.05)
        try:
            with pytest.raises(UnreadableError, match=r"more than 0\.05 s"):
                await readers.read(document(feed(50_000)))
            readers.timeout_s = 30.0
            assert len((await readers.read(document(feed(5)))).items) == 5
        finally:
            await readers.close()

    asyncio.run(run())


def test_the_loop_does_not_complain_of_one_that_was_ended() -> None:
    complaints: list[dict[str, object]] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
        readers = Readers(large=1, timeout_s=0.05)
        try:
            with pytest.raises(UnreadableError):
                await readers.read(document(feed(50_000)))
            gc.collect()
        finally:
            await readers.close()

    asyncio.run(run())
    assert complaints == []


def test_a_reader_that_dies_is_replaced() -> None:
    async def run() -> None:
        readers = Readers(large=1)
        try:
            await readers.read(document(feed(1)))
            (process,) = readers.processes
            os.kill(process, signal.SIGKILL)
            for _ in range(2):
                try:
                    await readers.read(document(feed(1)))
                except UnreadableError:
                    continue
            assert (await readers.read(document(feed(1)))).kind == "feed"
            assert readers.processes != (process,)
        finally:
            await readers.close()

    asyncio.run(run())


def test_a_reader_may_take_so_much_memory_and_no_more() -> None:
    async def run() -> None:
        readers = Readers(large=1)
        try:
            await readers.read(document(feed(1)))
            (process,) = readers.processes
            assert resource.prlimit(process, resource.RLIMIT_AS) == (module.MEMORY, module.MEMORY)
        finally:
            await readers.close()

    asyncio.run(run())


def test_a_cancelled_reading_leaves_the_reader_usable() -> None:
    async def run() -> None:
        readers = Readers(large=1)
        try:
            reading = asyncio.create_task(readers.read(document(feed(50_000))))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            assert len((await readers.read(document(feed(5)))).items) == 5
        finally:
            await readers.close()

    asyncio.run(run())


def test_two_at_once_with_one_process_are_both_read() -> None:
    async def run() -> None:
        readers = Readers(large=1)
        try:
            found = await asyncio.gather(*(readers.read(document(feed(k + 1))) for k in range(3)))
            assert [len(each.items) for each in found] == [1, 2, 3]
        finally:
            await readers.close()

    asyncio.run(run())


def test_after_closing_no_process_is_left() -> None:
    async def run() -> int:
        readers = Readers(large=1)
        await readers.read(document(feed(1)))
        (process,) = readers.processes
        await readers.close()
        await readers.close()
        return process

    process = asyncio.run(run())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_slices_are_put_together_in_order_with_the_loop_let_in() -> None:
    async def run() -> list[int]:
        turns: list[int] = []

        async def count() -> None:
            while True:
                turns.append(len(turns))
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        found = await module._put_together(module._answered(document(feed(10 * module.SLICE))))
        counting.cancel()
        assert [item.key for item in found.items] == [str(k) for k in range(10 * module.SLICE)]
        return turns

    assert len(asyncio.run(run())) >= 10


def test_a_large_feed_does_not_hold_up_the_loop() -> None:
    async def run() -> float:
        readers = Readers(large=1)
        try:
            await readers.read(document(feed(1)))
            body, stop = feed(50_000), asyncio.Event()
            watching = asyncio.create_task(longest_stall(stop))
            started = time.perf_counter()
            assert len((await readers.read(document(body))).items) == 50_000
            elapsed = time.perf_counter() - started
            stop.set()
            return await watching / elapsed
        finally:
            await readers.close()

    assert asyncio.run(run()) < 0.5


def test_long_listings_are_keyed_with_the_loop_let_in() -> None:
    items = tuple(FoundItem(key=str(k)) for k in range(5 * module.SLICE))

    async def run() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        assert await visitor._keys(items) == [item_key(item.key) for item in items]
        counting.cancel()
        return turns

    assert asyncio.run(run()) >= 4


@pytest.mark.parametrize("rule", [
    {"ignore_text": (r"(a+)+$",)}, {"keep_text": (r"(a+)+$",)}, {"number": r"text:(a+)+$"}, {"matching": (r"(a+)+$",)},
])  # fmt: skip
def test_a_pattern_that_takes_for_ever_ends_with_its_document(rule: dict[str, Any]) -> None:
    counts = WhatCounts(**rule)
    endless = Document(url="https://example.org/", body=b"a" * 60 + b"!", now=NOW, kind="page", counts=counts)

    async def scene() -> str:
        readers = Readers(timeout_s=2.0)
        try:
            with pytest.raises(UnreadableError, match=r"took more than 2 s, perhaps for what is .* by a pattern"):
                await readers.read(endless)
            harmless = msgspec.structs.replace(endless, body=b"b", counts=WhatCounts())
            return (await readers.read(harmless)).text
        finally:
            await readers.close()

    assert asyncio.run(scene()) == "b"
