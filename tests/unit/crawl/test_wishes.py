"""An owner asks for a crawl at once, and what is believed after each crawl is written down."""

from __future__ import annotations

import math
import random
from pathlib import Path

import msgspec

from recrawl import wiring
from recrawl.config import Config, Politeness
from recrawl.crawl.courier import Delivery
from recrawl.crawl.decider import Decider
from recrawl.crawl.intents import Visit
from recrawl.crawl.politeness import Slots
from recrawl.store.base import Batch, Crawl, Item, Progress, Settlement, Source
from recrawl.store.sqlite import SqliteStore

NOW = 1_700_000_000.0


def decider_over(store: SqliteStore, now: float) -> Decider:
    config = Config(politeness=Politeness(delay="0s", min_interval="0s"))
    return wiring.make_decider(config, store, Slots(config.politeness, 0.0, random.Random(0)), now)


def filled(path: Path) -> SqliteStore:
    """Three sources visited long ago, the last of them worth most."""
    store = SqliteStore(path / "recrawl.db")
    store.add([Source(url=f"https://{k}.example/feed", importance=10.0**k) for k in range(3)])
    for id in (1, 2, 3):
        items = [Item(source=id, key=k, published=NOW - 3600.0 * k, first_seen=NOW - 1000) for k in range(5)]
        crawl = Crawl(source=id, at=NOW - 1000, outcome="first")
        progress = Progress(source=id, last=NOW - 1000.0, visits=1)
        store.commit(Batch(settlements=[Settlement(crawl=crawl, progress=progress, items=items)]))
    return store


def failed(intent: object, at: float) -> Visit:
    delivery = Delivery(response=None, final_url="https://0.example/feed", requests=1, error="no answer")
    return Visit(intent, at, delivery)  # type: ignore[arg-type]


def test_what_is_asked_for_goes_before_all_others(tmp_path: Path) -> None:
    store = filled(tmp_path)
    decider = decider_over(store, NOW)
    source = store.source(1)
    assert source is not None
    decider.admit([msgspec.structs.replace(source, wanted=NOW)], NOW)
    assert [intent.source.id for intent in decider.choose(NOW + 1, 1.0)] == [1]


def test_without_a_wish_worth_decides(tmp_path: Path) -> None:
    assert [intent.source.id for intent in decider_over(filled(tmp_path), NOW).choose(NOW + 1, 1.0)] != [1]


def test_a_wish_is_granted_once_whatever_came_of_it(tmp_path: Path) -> None:
    store = filled(tmp_path)
    decider = decider_over(store, NOW)
    source = store.source(1)
    assert source is not None
    decider.admit([msgspec.structs.replace(source, wanted=NOW)], NOW)
    (intent,) = decider.choose(NOW + 1, 1.0)
    (settlement,) = decider.settle([failed(intent, NOW + 2)], NOW + 2)
    assert settlement.crawl.outcome == "failed"
    late = NOW + 40 * 86400.0
    assert 1 not in [intent.source.id for intent in decider.choose(late, 1.0)]


def test_a_wish_survives_a_restart(tmp_path: Path) -> None:
    store = filled(tmp_path)
    source = store.source(1)
    assert source is not None
    store.edit([msgspec.structs.replace(source, wanted=NOW)])
    assert [intent.source.id for intent in decider_over(store, NOW).choose(NOW + 1, 1.0)] == [1]


def test_beliefs_are_written_into_the_log(tmp_path: Path) -> None:
    decider = decider_over(filled(tmp_path), NOW)
    (intent,) = decider.choose(NOW + 1, 1.0)
    (settlement,) = decider.settle([failed(intent, NOW + 2)], NOW + 2)
    assert settlement.crawl.value == settlement.progress.value
    assert not math.isnan(settlement.crawl.value)
