"""An owner asks for a crawl at once, and what is believed after each crawl is written down."""

from __future__ import annotations

import asyncio
import math
import random
from pathlib import Path

import msgspec

from recrawl import wiring
from recrawl.clock import ManualClock
from recrawl.config import Config, Politeness, Retention
from recrawl.crawl.catalogue_watcher import CatalogueWatcher
from recrawl.crawl.decider import Decider
from recrawl.crawl.decider_setup import new_decider
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.stats import Stats
from recrawl.crawl.store_writer import StoreWriter
from recrawl.crawl.visits import Visit
from recrawl.crawl_state import CrawlState
from recrawl.store.records import Batch, Crawl, Item, Keep, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore

NOW = 1_700_000_000.0


def decider_over(store: SqliteStore, now: float) -> Decider:
    config = Config(politeness=Politeness(delay="0s", min_interval="0s"))
    return wiring.make_decider(config, store, HostSlots(config.politeness, 0.0, random.Random(0)), now)


def filled(path: Path) -> SqliteStore:
    """Three sources visited long ago, the last of them worth most."""
    store = SqliteStore(path / "recrawl.db")
    store.add([Source(url=f"https://{k}.example/feed", importance=10.0**k) for k in range(3)])
    for id in (1, 2, 3):
        items = [Item(source=id, key=k, published=NOW - 3600.0 * k, first_seen=NOW - 1000) for k in range(5)]
        crawl = Crawl(source=id, at=NOW - 1000, outcome="first")
        progress = Progress(source=id, last=NOW - 1000.0, visits=1)
        store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, items=items)]))
    return store


def failed(intent: object, at: float) -> Visit:
    fetched = FetchResult(response=None, final_url="https://0.example/feed", requests=1, error="no answer")
    return Visit(intent, at, fetched)  # type: ignore[arg-type]


def test_what_is_asked_for_goes_before_all_others(tmp_path: Path) -> None:
    store = filled(tmp_path)
    decider = decider_over(store, NOW)
    source = store.source(1)
    assert source is not None
    decider.upsert([msgspec.structs.replace(source, wanted=NOW)], NOW)
    assert [intent.source.id for intent in decider.choose(NOW + 1, 1.0)] == [1]


def test_without_a_wish_worth_decides(tmp_path: Path) -> None:
    assert [intent.source.id for intent in decider_over(filled(tmp_path), NOW).choose(NOW + 1, 1.0)] != [1]


def test_a_wish_is_granted_once_whatever_came_of_it(tmp_path: Path) -> None:
    store = filled(tmp_path)
    decider = decider_over(store, NOW)
    source = store.source(1)
    assert source is not None
    decider.upsert([msgspec.structs.replace(source, wanted=NOW)], NOW)
    (intent,) = decider.choose(NOW + 1, 1.0)
    (update,) = decider.learn_from([failed(intent, NOW + 2)], NOW + 2)
    assert update.crawl.outcome == "failed"
    late = NOW + 40 * 86400.0
    assert 1 not in [intent.source.id for intent in decider.choose(late, 1.0)]


def test_a_wish_survives_a_restart(tmp_path: Path) -> None:
    store = filled(tmp_path)
    source = store.source(1)
    assert source is not None
    store.edit([msgspec.structs.replace(source, wanted=NOW)])
    assert [intent.source.id for intent in decider_over(store, NOW).choose(NOW + 1, 1.0)] == [1]


def tried_in_vain(path: Path, wanted: float = NOW, tried: float = NOW + 2) -> SqliteStore:
    """A store in which a crawl of the first source was asked for, and failed; it is held for a day."""
    store = filled(path)
    source = store.source(1)
    assert source is not None
    store.edit([msgspec.structs.replace(source, wanted=wanted)])
    crawl = Crawl(source=1, at=tried, outcome="failed", status=503, error="HTTP status 503")
    (progress,) = store.progress([1])
    progress.failures, progress.held_until, progress.held_by = 1, NOW + 86400.0, "HTTP status 503"
    store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress)]))
    return store


def chosen(decider: Decider, now: float) -> set[int]:
    return {intent.source.id for intent in decider.choose(now, 100.0)}


def test_a_wish_that_was_granted_in_vain_is_granted_over_a_restart(tmp_path: Path) -> None:
    decider = decider_over(tried_in_vain(tmp_path), NOW + 10)
    assert 1 not in chosen(decider, NOW + 11)


def test_a_wish_from_after_the_failure_is_open_over_a_restart(tmp_path: Path) -> None:
    decider = decider_over(tried_in_vain(tmp_path, wanted=NOW + 5), NOW + 10)
    assert 1 in chosen(decider, NOW + 11)


def test_a_wish_in_vain_from_before_the_log_is_not_granted_again(tmp_path: Path) -> None:
    store = tried_in_vain(tmp_path)
    config = Config(retention=Retention(crawls="1h"))
    store.vacuum(Keep.of(config.retention), NOW + 7200.0)
    assert not store.crawls(source=1)
    slots = HostSlots(config.politeness, 0.0, random.Random(0))
    assert 1 not in chosen(wiring.make_decider(config, store, slots, NOW + 7200.0), NOW + 7201.0)
    source = store.source(1)
    assert source is not None
    store.edit([msgspec.structs.replace(source, wanted=NOW + 7200.0)])
    assert 1 in chosen(wiring.make_decider(config, store, slots, NOW + 7202.0), NOW + 7203.0)


def test_a_wish_granted_in_vain_by_another_crawler_is_granted(tmp_path: Path) -> None:
    """A source that comes from a crawler that tried it, as between the shards of a fleet."""
    store, clock = tried_in_vain(tmp_path), ManualClock(NOW + 10)
    config = Config(politeness=Politeness(delay="0s", min_interval="0s"))
    decider = new_decider(config, HostSlots(config.politeness, 0.0, random.Random(0)))
    decider.load([], [], None, NOW)

    async def follow() -> None:
        store_writer = StoreWriter(store, clock, Stats(), asyncio.Event())
        await CatalogueWatcher(
            decider, store_writer, clock, learning=asyncio.Lock(), revision=0, under_way=set, told=lambda: None
        ).refresh()
        store_writer.close()

    asyncio.run(follow())
    assert len(decider) == 3
    assert 1 not in chosen(decider, NOW + 11)


def test_nobody_says_that_a_wish_is_open_which_was_granted_in_vain(tmp_path: Path) -> None:
    store, now = tried_in_vain(tmp_path), NOW + 10
    at = CrawlState.read(store, Config(), now)
    source, (progress,) = store.source(1), store.progress([1])
    assert source is not None
    for found in (at.explained(source, progress, now), at.statuses([source], now)[0].found):
        assert found.due == NOW + 86400.0
        assert "somebody asked" not in found.why
        assert [each.reason for each in found.held_back] == ["HTTP status 503"]


def test_beliefs_are_written_into_the_log(tmp_path: Path) -> None:
    decider = decider_over(filled(tmp_path), NOW)
    (intent,) = decider.choose(NOW + 1, 1.0)
    (update,) = decider.learn_from([failed(intent, NOW + 2)], NOW + 2)
    assert update.crawl.value == update.progress.value
    assert not math.isnan(update.crawl.value)
