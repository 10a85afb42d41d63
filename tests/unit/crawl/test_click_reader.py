"""Clicks on their way from the store to the policy."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from recrawl import wiring
from recrawl.config import Config, Politeness
from recrawl.crawl import click_reader
from recrawl.crawl.click_reader import ClickReader, gather
from recrawl.crawl.decider import Decider
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.records import Visits
from recrawl.store.records import Batch, Click, Crawl, Item, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore

NOW = 1_700_000_000.0


def decider_over(store: SqliteStore, now: float) -> Decider:
    config = Config(politeness=Politeness(delay="0s", min_interval="0s"))
    return wiring.make_decider(config, store, HostSlots(config.politeness, 0.0, random.Random(0)), now)


def test_clicks_on_one_item_are_put_together() -> None:
    items = {
        1: Item(id=1, source=7, key=1, published=100.0, first_seen=150.0),
        2: Item(id=2, source=8, key=2, published=None, first_seen=150.0),
        3: Item(id=3, source=8, key=3, published=900.0, first_seen=150.0),
    }
    clicks = [
        Click(item=1, at=200.0),
        Click(item=1, at=230.0, count=2),
        Click(item=2, at=160.0),
        Click(item=3, at=9999.0),
        Click(item=1, at=140.0),
        Click(item=99, at=200.0),
        Click(item=2, at=math.nan),
    ]
    opened = gather(clicks, items, now=300.0)
    assert set(opened) == {1, 2, 3}
    assert (opened[1].source, opened[1].born, opened[1].clicks, opened[1].at) == (7, 100.0, 3, pytest.approx(220.0))
    assert (opened[2].born, opened[2].found) == (150.0, 150.0)
    assert (opened[3].born, opened[3].at) == (150.0, 300.0)


def test_what_a_search_showed_counts_as_a_tenth_of_a_click() -> None:
    items = {1: Item(id=1, source=7, key=1, published=100.0, first_seen=150.0)}
    searched = Click(item=1, at=200.0, client="search:me")
    (alone,) = gather([searched], items, now=300.0).values()
    assert alone.clicks == pytest.approx(0.1)
    (both,) = gather([searched, Click(item=1, at=266.0, client="me")], items, now=300.0).values()
    assert (both.clicks, both.at) == (pytest.approx(1.1), pytest.approx(260.0))


def test_every_click_is_heard_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click_reader, "BATCH", 3)
    with SqliteStore(tmp_path / "recrawl.db") as store:
        store.add([Source(url="https://a.example/")])
        items = [Item(source=1, key=k, first_seen=1.0) for k in range(2)]
        crawl = Crawl(source=1, at=1.0, outcome="new")
        store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=1, last=1.0), items=items)]))
        store.record_clicks([Click(item=1, at=5.0 + k, client=f"c{k}") for k in range(5)])
        ear, mark, total = ClickReader(), 0, 0
        for more in (True, False, False):
            heard = ear.listen(store, mark, now=50.0)
            assert heard.more is more
            assert [each.before for each in heard.opened] == ([total] if heard.opened else [])
            mark, total = heard.mark, total + sum(each.clicks for each in heard.opened)
        assert total == 5
        store.record_clicks([Click(item=2, at=9.0, count=4)])
        assert [each.clicks for each in ear.listen(store, mark, now=50.0).opened] == [4]


def test_what_clicks_teach_is_kept_with_how_far_they_were_read(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "recrawl.db") as store:
        store.add([Source(url=f"https://{k}.example/feed") for k in range(3)])
        decider = decider_over(store, NOW)
        numbers, published = np.arange(3), NOW - 600.0 * np.arange(5)
        decider.policy.observe(Visits(numbers, NOW, published=[published] * 3))
        for id in (1, 2, 3):
            items = [Item(source=id, key=k, published=time, first_seen=NOW) for k, time in enumerate(published)]
            crawl, progress = Crawl(source=id, at=NOW, outcome="first"), Progress(source=id, last=NOW, visits=1)
            store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, items=items)]))
            decider.roster.put_progress(id - 1, progress)
        store.record_clicks([Click(item=item.id, at=NOW + 900.0, count=3) for item in store.items(source=2)])
        heard = ClickReader().listen(store, decider.policy.mark, NOW + 1000.0)
        schedules = decider.scheduled(decider.hear(heard, NOW + 1000.0))
        assert [each.source for each in schedules] == [2]
        store.commit(Batch(progress=schedules, shared=decider.policy.shared()))
        believed = decider.policy.beliefs([1])
        (stored,) = store.progress([2])
        assert (stored.value, stored.rate) == (believed.value[0], believed.rate[0])
        assert decider.roster.progress(1).belief == b""
        again = decider_over(store, NOW + 1000.0).policy
        assert again.mark == decider.policy.mark == heard.mark > 0
        assert again.appeal([1])[0] == decider.policy.appeal([1])[0] > 1.2
        assert decider.hear(ClickReader().listen(store, again.mark, NOW + 1001.0), NOW + 1001.0) == []
