"""The files by which sites show that a ping is theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recrawl.clock import ManualClock
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.fetching.transport import Response
from recrawl.crawl.push.index_now import verdict_of
from recrawl.crawl.push.key_checks import KeyChecks
from recrawl.crawl.request_budget import Allotment, RequestBudget
from recrawl.crawl.stats import Stats
from recrawl.crawl.store_writer import StoreWriter
from recrawl.store.records import Batch, Signal, Source
from recrawl.store.sqlite import SqliteStore

FILE, KEY, NOW = "https://a.example/k.txt", "0123456789", 1_700_000_000.0
PROOF = f"{FILE} {KEY}"


class MadeUpFetcher:
    def __init__(self, answer: FetchResult) -> None:
        self.answer, self.asked = answer, list[str]()

    async def visit(self, url: str, **more: Any) -> FetchResult:
        assert more == {"prepaid": 0}  # it is paid for
        self.asked.append(url)
        return self.answer


def answered(status: int = 200, body: str = KEY, url: str = FILE) -> FetchResult:
    return FetchResult(Response(url, status, {}, body.encode()), url, requests=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        opened.add([Source(url="https://a.example/1"), Source(url="https://a.example/2")])
        yield opened


def looked(store: SqliteStore, clock: ManualClock, answer: FetchResult, rounds: int = 1) -> tuple[list[int], list[str]]:
    """Which sources were heard of, and what was fetched, in so many looks a second apart."""
    heard: list[int] = []
    fetcher = MadeUpFetcher(answer)

    async def scene() -> None:
        writer = StoreWriter(store, clock, Stats(), asyncio.Event())
        budget = RequestBudget(Allotment(1.0, 1.0), clock)

        async def learn(signals: list[Signal]) -> int:
            heard.extend(signal.source for signal in signals)
            await writer.commit(Batch(heard=signals))
            return len(signals)

        checks = KeyChecks(fetcher, writer, budget, clock, learn)  # type: ignore[arg-type]
        for _ in range(rounds):
            await checks.look()
            clock.advance(1.0)
        writer.close()

    asyncio.run(scene())
    return heard, fetcher.asked


def pinged(store: SqliteStore, *proofs: str) -> None:
    store.record_signals([Signal(source=k, at=NOW, came=NOW, by="indexnow", proof=p) for p in proofs for k in (1, 2)])


def test_with_the_key_in_the_file_its_signals_count_and_it_is_known_for_a_day(store: SqliteStore) -> None:
    clock = ManualClock(NOW)
    pinged(store, PROOF)
    assert looked(store, clock, answered()) == ([1, 2], [FILE])
    assert store.proofs() == []
    pinged(store, PROOF)
    assert looked(store, clock, answered()) == ([1, 2], [])
    assert verdict_of(store, PROOF, NOW + 86390.0) is True
    assert verdict_of(store, PROOF, NOW + 86410.0) is None


@pytest.mark.parametrize(
    ("answer", "lasts_s"),
    [(answered(404), 600.0), (answered(body="another"), 600.0), (answered(url="https://b.example/k.txt"), 600.0),
     (answered(503), 120.0), (FetchResult(None, FILE, error="no connection"), 120.0)],
)  # fmt: skip
def test_without_it_they_are_dropped_and_that_counts_for_minutes(
    store: SqliteStore, answer: FetchResult, lasts_s: float
) -> None:
    pinged(store, PROOF)
    assert looked(store, ManualClock(NOW), answer) == ([], [FILE])
    assert store.proofs() == []
    assert verdict_of(store, PROOF, NOW + lasts_s - 1.0) is False
    assert verdict_of(store, PROOF, NOW + lasts_s + 1.0) is None


def test_strangers_spend_a_twentieth_of_the_budget_at_most(store: SqliteStore) -> None:
    pinged(store, *(f"{FILE} {KEY}{k}" for k in range(10)))
    _, asked = looked(store, ManualClock(NOW), answered(404), rounds=60)
    assert len(asked) == 3  # at a request per second
