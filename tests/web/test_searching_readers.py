"""Searches teach interest: readers of known taste ask the web page itself, and the crawler listens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

searches = pytest.importorskip("benchmarks.searches", reason="benchmarks are not beside the tests")
HOURS = 36


def test_searches_at_the_web_page_find_readers_taste_sooner_than_a_click_on_twenty_items() -> None:
    """One world, 20 searches an hour; `python -m benchmarks.searches` has the intervals, and what it captures more."""
    clicks, searching = (searches.lived(1, name, HOURS, 20) for name in ("clicks", "searches"))
    assert searching[2] > 500 > clicks[2] > 0, "requests to the page"
    assert searching[0] >= 0.4
    assert searching[0] >= clicks[0] + 0.1


def test_the_page_answers_readers_and_what_it_shows_first_is_kept(tmp_path: Path) -> None:
    feeds = searches.Feeds.made(3, 5)
    with searches.SqliteStore(tmp_path / "recrawl.db") as store:
        world = searches.World(feeds, store, clicks=False, searches=True)
        world.crawl(searches.NOW + 1.0, counts=False)
        (number,) = np.flatnonzero(world.last > -np.inf)
        shown = store.items(source=int(number) + 1)
        assert world.browser.get(f"/items?q=topic{feeds.topic[number]}&kind=item", 1) == 200
        assert store.click_totals(int(number) + 1).searches == min(len(shown), 3)
        assert world.browser.get(f"/go/{shown[0].id}", 1) == 303
        assert store.click_totals(int(number) + 1).clicks == 1
        world.browser.loop.close()
