"""Signals on their way from the store to the policy."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from recrawl import wiring
from recrawl.config import Config, Politeness
from recrawl.crawl.decider import Decider
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.signals import Told, gather
from recrawl.store.records import Batch, Progress, Signal, Source
from recrawl.store.sqlite import SqliteStore

NOW = 1_700_000_000.0
DAY_S = 86400.0


def told(source: int, at: float, by: str = "told") -> Signal:
    return Signal(id=source, source=source, at=at, came=NOW, by=by)  # type: ignore[arg-type]


def test_of_several_signals_of_a_source_the_latest_counts() -> None:
    found = gather([told(7, NOW - 50.0), told(7, NOW - 9.0), told(8, NOW - 3.0, "websub")], {7: 0, 8: 1}, NOW)
    assert found.at == {0: NOW - 9.0, 1: NOW - 3.0}
    assert found.by_publisher == {1}
    assert len(found.heard) == 3


def test_times_that_cannot_be_are_taken_for_now() -> None:
    found = gather([told(7, NOW + 1e6), told(8, math.nan), told(9, -math.inf)], {7: 0, 8: 1, 9: 2}, NOW)
    assert set(found.at.values()) == {NOW}


def test_signals_of_sources_nobody_knows_yet_wait_on() -> None:
    found = gather([told(7, NOW), told(8, NOW)], {8: 0}, NOW)
    assert [each.source for each in found.heard] == [8]


@pytest.fixture
def decider(tmp_path: Path) -> Iterator[Decider]:
    """A feed and a page that were visited a while ago, at a price at which they are left alone, and a new source."""
    config = Config(politeness=Politeness(delay="0s", min_interval="60s"))
    with SqliteStore(tmp_path / "recrawl.db") as store:
        store.add([Source(url=f"https://{name}.example/") for name in "abc"])
        yield wiring.make_decider(config, store, HostSlots(config.politeness, 0.0, random.Random(0)), NOW)


def visited(decider: Decider, number: int, **more: object) -> Progress:
    progress = Progress(source=decider.roster.source(number).id, last=NOW - DAY_S, visits=5, **more)  # type: ignore
    decider.roster.put_progress(number, progress)
    return progress


def test_the_policy_hears_of_sources_by_its_own_numbers(decider: Decider, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[list[int], float, list[float]]] = []

    def signal(ids: np.ndarray, now: float, at: np.ndarray) -> None:
        heard.append((ids.tolist(), now, at.tolist()))

    visited(decider, 0)
    monkeypatch.setattr(decider.policy, "signal", signal)
    found = gather([told(3, NOW - 5.0), told(1, NOW - 7.0)], decider.roster.numbers, NOW)
    schedules = decider.signal(found, NOW)
    assert heard == [([2, 0], NOW, [NOW - 5.0, NOW - 7.0])]
    assert [each.source for each in schedules] == [1]  # the other was never visited: it has no schedule to store


def test_a_publisher_that_pushes_need_not_be_left_alone_as_it_asked(decider: Decider) -> None:
    for number in (0, 1):
        visited(decider, number, held_until=NOW + 3600.0, held_by="ttl of the feed: 1h", held_cause="publisher")
    decider.signal(gather([told(1, NOW, "websub"), told(2, NOW, "indexnow")], decider.roster.numbers, NOW), NOW)
    assert [decider.roster.progress(number).is_held(NOW) for number in (0, 1)] == [False, True]


def test_a_push_lifts_no_hold_after_failures(decider: Decider) -> None:
    visited(decider, 0, held_until=NOW + 3600.0, held_by="no connection", held_cause="connect", failures=3)
    decider.signal(gather([told(1, NOW, "websub")], decider.roster.numbers, NOW), NOW)
    assert decider.roster.progress(0).is_held(NOW)


def test_nothing_heard_is_nothing_done(decider: Decider) -> None:
    assert decider.signal(Told(), NOW) == []


def test_heard_signals_leave_the_store_with_the_schedule(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "recrawl.db") as store:
        store.add([Source(url="https://a.example/")])
        store.commit(Batch(progress=[Progress(source=1, last=NOW - DAY_S, visits=3)]))
        store.record_signals([Signal(source=1, at=NOW, came=NOW)])
        config = Config(politeness=Politeness(delay="0s", min_interval="0s"))
        decider = wiring.make_decider(config, store, HostSlots(config.politeness, 0.0, random.Random(0)), NOW)
        found = gather(store.signals(), decider.roster.numbers, NOW)
        store.commit(Batch(progress=decider.signal(found, NOW), heard=found.heard))
        assert store.signals() == []
        assert next(store.progress([1])).belief
