from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from recrawl.clock import ManualClock
from recrawl.crawl.intervals import Intervals
from recrawl.crawl.maintenance import Maintenance
from recrawl.crawl.roster import Roster
from recrawl.crawl.stats import Stats
from recrawl.store.records import Batch, Progress, Signal, Source


class EnoughError(Exception):
    """The store writer has seen what is to be seen."""


class StoreWriter:
    """Notes when what was committed."""

    def __init__(self, clock: ManualClock, most: int) -> None:
        self.clock, self.most = clock, most
        self.prices: list[float] = []
        self.records: list[float] = []

    async def commit(self, batch: Batch) -> None:
        self.prices.append(self.clock.now())
        if batch.shared is not None:
            self.records.append(self.clock.now())
        if len(self.prices) >= self.most:
            raise EnoughError


def test_what_was_learned_is_written_soon_after_the_start_and_then_at_its_pace():
    clock = ManualClock(0.0)
    store_writer = StoreWriter(clock, 40)
    memory = SimpleNamespace(shared=lambda: b"record")
    decider = SimpleNamespace(roster=Roster(), policy=SimpleNamespace(price=0.3), memory=memory)
    maintenance = Maintenance(
        decider, store_writer, SimpleNamespace(per_second=1.0), clock, Stats(), Intervals(price_s=10.0, record_s=60.0),
        learning=asyncio.Lock(), begin=asyncio.create_task, keep=None, budgets=None, told=lambda: None,
    )  # fmt: skip
    with pytest.raises(EnoughError):
        asyncio.run(maintenance.keep_accounts())
    assert store_writer.records[:3] == [2.0, 6.0, 14.0]
    gaps = [later - earlier for earlier, later in zip(store_writer.records, store_writer.records[1:], strict=False)]
    assert gaps[-1] == gaps[-2] == 60.0
    assert (
        max(later - earlier for earlier, later in zip(store_writer.prices, store_writer.prices[1:], strict=False))
        == 10.0
    )


def test_signals_are_heard_without_writing_the_record_of_the_whole_catalogue():
    batches = []

    async def commit(batch: Batch) -> None:
        batches.append(batch)

    async def scene() -> int:
        decider = SimpleNamespace(roster=Roster(), signal=lambda told, now: [Progress(source=1)])
        decider.roster.add(Source(id=1, url="https://a.example/"))
        maintenance = Maintenance(
            decider, SimpleNamespace(commit=commit), SimpleNamespace(per_second=1.0), ManualClock(0.0), Stats(),
            Intervals(), learning=asyncio.Lock(), begin=asyncio.create_task, keep=None, budgets=None,
            told=lambda: None,
        )  # fmt: skip
        return await maintenance.hear_signals([Signal(id=7, source=1, at=0.0, came=0.0)])

    assert asyncio.run(scene()) == 1
    (batch,) = batches
    assert (batch.progress, [signal.id for signal in batch.heard], batch.shared) == ([Progress(source=1)], [7], None)
