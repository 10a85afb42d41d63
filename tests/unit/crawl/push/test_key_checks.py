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


def looked(
    store: SqliteStore, clock: ManualClock, answer: FetchResult, rounds: int = 1, step_s: float = 1.0
) -> tuple[list[int], list[str]]:
    """Which sources were heard of, and what was fetched, in so many looks."""
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
            clock.advance(step_s)
        writer.close()

    asyncio.run(scene())
    return heard, fetcher.asked


def pinged(store: SqliteStore, *proofs: str, at: float = NOW) -> None:
    store.record_signals([Signal(source=k, at=at, came=at, by="indexnow", proof=p) for p in proofs for k in (1, 2)])


def test_with_the_key_in_the_file_its_signals_count_and_it_is_known_for_a_day(store: SqliteStore) -> None:
    clock = ManualClock(NOW)
    pinged(store, PROOF)
    assert looked(store, clock, answered()) == ([1, 2], [FILE])
    assert store.proofs() == []
    pinged(store, PROOF)
    assert looked(store, clock, answered()) == ([1, 2], [])
    assert good(store, NOW + 86390.0) is True
    assert good(store, NOW + 86410.0) is None


def good(store: SqliteStore, now: float) -> bool | None:
    verdict = verdict_of(store, PROOF, now)
    return None if verdict is None else verdict.good


@pytest.mark.parametrize(
    "answer", [answered(404), answered(body="another"), answered(url="https://b.example/k.txt"),
               answered(url="https://a.example/found?q=0123456789")],
)  # fmt: skip
def test_without_it_they_are_dropped_and_that_counts_for_minutes(store: SqliteStore, answer: FetchResult) -> None:
    pinged(store, PROOF)
    assert looked(store, ManualClock(NOW), answer) == ([], [FILE])
    assert store.proofs() == []
    assert good(store, NOW + 599.0) is False
    assert good(store, NOW + 601.0) is None


@pytest.mark.parametrize("answer", [answered(503), answered(429), answered(403),
                                    FetchResult(None, FILE, error="no connection")])  # fmt: skip
def test_a_site_that_does_not_say_is_asked_ever_more_seldom_and_signals_wait_their_hour(
    store: SqliteStore, answer: FetchResult
) -> None:
    clock = ManualClock(NOW)
    pinged(store, PROOF)
    heard, asked = looked(store, clock, answer, rounds=60, step_s=60.0)
    assert (heard, good(store, clock.now())) == ([], None)
    assert len(asked) == 6  # after 0, 1, 3, 7, 15 and 31 minutes
    assert len(store.signals(proof=PROOF)) == 2
    clock.advance(1.0)
    assert looked(store, clock, answer) == ([], [])
    assert store.proofs() == []


def test_what_was_right_is_looked_at_again_before_it_ends_and_counts_meanwhile(store: SqliteStore) -> None:
    clock = ManualClock(NOW)
    pinged(store, PROOF)
    looked(store, clock, answered())
    clock.advance(80_000.0)
    pinged(store, PROOF, at=clock.now())
    assert looked(store, clock, answered(503)) == ([1, 2], [FILE])
    pinged(store, PROOF, at=clock.now())
    assert looked(store, clock, answered()) == ([1, 2], [FILE])
    assert good(store, NOW + 160_000.0) is True


def test_strangers_spend_a_twentieth_of_the_budget_at_most(store: SqliteStore) -> None:
    pinged(store, *(f"https://{k}.example/k.txt {KEY}" for k in range(10)))
    _, asked = looked(store, ManualClock(NOW), answered(404), rounds=60)
    assert len(asked) == 3  # at a request per second
