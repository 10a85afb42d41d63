"""Clicks on their way from the store to the policy."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from recrawl.crawl import feedback
from recrawl.crawl.feedback import Ear, gather
from recrawl.store.base import Batch, Click, Crawl, Item, Progress, Settlement, Source
from recrawl.store.sqlite import SqliteStore


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


def test_every_click_is_heard_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback, "BATCH", 3)
    with SqliteStore(tmp_path / "recrawl.db") as store:
        store.add([Source(url="https://a.example/")])
        items = [Item(source=1, key=k, first_seen=1.0) for k in range(2)]
        crawl = Crawl(source=1, at=1.0, outcome="new")
        store.commit(Batch(settlements=[Settlement(crawl=crawl, progress=Progress(source=1, last=1.0), items=items)]))
        store.record_clicks([Click(item=1, at=5.0 + k, client=f"c{k}") for k in range(5)])
        ear, mark, total = Ear(), 0, 0
        for more in (True, False, False):
            heard = ear.listen(store, mark, now=50.0)
            assert heard.more is more
            assert [each.before for each in heard.opened] == ([total] if heard.opened else [])
            mark, total = heard.mark, total + sum(each.clicks for each in heard.opened)
        assert total == 5
        store.record_clicks([Click(item=2, at=9.0, count=4)])
        assert [each.clicks for each in ear.listen(store, mark, now=50.0).opened] == [4]
