"""What lists and pushes state of pages, and what is taken for news in it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from recrawl.learning.list_visits import ListVisits
from recrawl.learning.lists import SIGNAL_MEMORY_DAYS, Lists
from recrawl.learning.rates import rate_grid
from recrawl.learning.signal_batches import ALONE, LEAST_SIZE

HOUR, DAY = 3600.0, 86400.0
NOW = 20_000 * DAY
RATES = rate_grid((1e-9, 1e-3), 5)
NAN, NEVER = np.nan, -np.inf
HIDDEN = 0.99
"""Of a list nobody has judged."""


def evidence(ids: np.ndarray) -> np.ndarray:
    return np.zeros((len(ids), len(RATES)), np.float32)


class Site:
    """Six pages, last visited at `last`, and one list of all of them."""

    def __init__(self, last: float = NOW) -> None:
        self.lists = Lists(NOW, RATES)
        self.lists.grow(7)
        self.row = self.lists.row(99, 6)
        self.last = np.full(6, last)

    def says(self, now: float, *lastmod: float) -> list[int]:
        """The list states these of the first pages; which it names anew."""
        ids, stated = np.arange(len(lastmod)), np.array(lastmod, np.float64)
        return self.lists.read(self.row, now, ids, stated, self.last[: len(ids)], evidence).tolist()

    def pushed(self, now: float, *ids: int, at: float | None = None) -> list[int]:
        chosen = np.array(ids)
        times = np.full(len(ids), now if at is None else at)
        return self.lists.push(7, now, chosen, times, self.last[chosen], evidence).tolist()

    def visit(self, now: float, *ids: int) -> None:
        chosen = np.array(ids)
        self.lists.answered(self.lists.sources.rings(chosen)[1], now)
        self.last[chosen] = now

    def of(self, name: str, page: int = 0) -> float:
        sources = self.lists.sources
        return float(getattr(sources, name)[sources.place[page]])


def test_a_later_time_than_before_names_a_page_once() -> None:
    site = Site()
    assert site.says(NOW + HOUR, NOW - DAY, NOW - DAY) == []
    assert site.says(NOW + 2 * HOUR, NOW + HOUR, NOW - DAY) == [0]
    assert site.says(NOW + 3 * HOUR, NOW + HOUR, NOW - DAY) == []
    assert (site.of("pending"), site.of("pending", 1)) == (1, 0)
    assert site.says(NOW + 4 * HOUR, NOW + 3 * HOUR, NOW - DAY) == [0]
    assert site.of("pending") == 2
    site.visit(NOW + 5 * HOUR, 0)
    assert site.of("pending") == 0
    assert site.says(NOW + 6 * HOUR, NOW + 3 * HOUR, NOW - DAY) == []


def test_an_earlier_time_than_before_is_no_news_and_is_not_remembered() -> None:
    site = Site()
    site.says(NOW + HOUR, NOW - HOUR)
    assert site.says(NOW + 2 * HOUR, NOW - DAY) == []
    assert site.says(NOW + 3 * HOUR, NOW - HOUR) == []
    assert site.of("stated") == NOW - HOUR


def test_the_first_word_is_news_of_a_page_visited_before_that_time_and_of_no_other() -> None:
    site = Site(last=NOW)
    site.last[2] = NEVER
    assert site.says(NOW + 2 * HOUR, NOW - HOUR, NOW + HOUR, NOW + HOUR, NAN) == [1]


def test_a_change_that_was_fetched_since_is_no_news() -> None:
    site = Site()
    site.says(NOW + HOUR, NOW - DAY)
    site.visit(NOW + 3 * HOUR, 0)
    assert site.says(NOW + 4 * HOUR, NOW + 2 * HOUR) == []
    assert site.of("count") == pytest.approx(2.0, abs=0.01)


def test_a_list_that_states_days_may_mean_any_hour_of_the_day() -> None:
    """Visited at noon: that it was modified the same day is news. Stated to the second, midnight is past."""
    noon, midnight = NOW + 12 * HOUR, NOW
    for others, expected in [(NOW - 3 * DAY, [0]), (NOW - 3 * DAY + 1.0, [])]:
        site = Site(last=noon)
        site.says(noon + HOUR, NOW - 5 * DAY, others)
        assert site.says(noon + 6 * HOUR, midnight, others) == expected


def test_one_day_to_come_does_not_make_times_of_days() -> None:
    """Tomorrow in one time zone: the list states days as before, and what was modified today is news."""
    noon = NOW + 12 * HOUR
    site = Site(last=noon)
    site.says(noon + HOUR, NOW - 5 * DAY, NOW - 3 * DAY)
    assert site.says(noon + 6 * HOUR, NOW, NOW + DAY) == [0, 1]


def test_a_time_to_come_is_news_once_and_not_at_every_reading() -> None:
    site = Site()
    site.says(NOW + HOUR, NOW - DAY)
    assert site.says(NOW + 2 * HOUR, NOW + 1000 * DAY) == [0]
    assert site.of("signalled") == NOW + 2 * HOUR
    assert [site.says(NOW + k * HOUR, NOW + 1000 * DAY) for k in range(3, 30)] == [[]] * 27
    assert site.of("pending") == 1


def test_a_clock_that_is_ahead_names_each_change_once() -> None:
    """The list's clock is eight hours fast; a page changes every day."""
    site, named = Site(), 0
    site.says(NOW + HOUR, NOW - DAY)
    for hour in range(2, 24 * 10):
        changed = NOW + hour // 24 * DAY
        named += len(site.says(NOW + hour * HOUR, changed + 8 * HOUR if hour >= 24 else NOW - DAY))
    assert named == 9


def test_after_a_time_to_come_was_mended_changes_are_news_again() -> None:
    site = Site()
    site.says(NOW + HOUR, NOW + 1000 * DAY)
    assert site.says(NOW + 2 * HOUR, NOW - DAY) == []
    assert site.says(NOW + 4 * HOUR, NOW + 3 * HOUR) == [0]
    assert site.says(NOW + 5 * HOUR, NOW + 3 * HOUR) == []


def test_a_page_of_which_no_time_is_stated_is_named_by_nobody_and_tells_nothing() -> None:
    site = Site()
    assert [site.says(NOW + k * HOUR, NAN, NOW - DAY) for k in range(1, 4)] == [[]] * 3
    places = site.lists.sources.places(np.arange(2))
    assert site.lists.sources.says(places).tolist() == [False, True]
    assert site.lists.hidden(places)[0] == 1.0
    assert site.of("time") == 0.0
    told = ListVisits(site.lists).told(places, NOW + 5 * HOUR, np.full(2, NOW))
    assert told.covered.tolist() == [0.0, 3 * HOUR]
    np.testing.assert_allclose(told.since_read, [5 * HOUR, 2 * HOUR])


def test_a_page_that_vanishes_from_a_list_waits_as_before_and_its_time_stands_still_until_it_is_back() -> None:
    site = Site()
    site.says(NOW + HOUR, NOW - DAY, NOW - DAY)
    site.says(NOW + 2 * HOUR, NOW - DAY, NOW + HOUR)
    time = site.of("time", 1)
    assert site.says(NOW + 30 * HOUR, NOW - DAY) == [1], "something else is believed of it"
    assert site.lists.places_of(site.row)[0].tolist() == [0]
    assert (site.of("time", 1), site.of("pending", 1)) == (time, 1)
    assert site.lists.hidden(site.lists.sources.places(np.arange(2))).tolist() == [pytest.approx(HIDDEN, abs=0.01), 1.0]
    assert site.says(NOW + 40 * HOUR, NOW - DAY, NOW + 20 * HOUR) == [1]
    assert site.of("time", 1) == pytest.approx(time + 20 * HOUR, rel=0.01)
    assert site.lists.places_of(site.row)[0].tolist() == [0, 1]


def test_a_list_that_cannot_be_read_three_times_tells_nothing_until_it_can() -> None:
    site = Site()
    site.says(NOW + HOUR, NOW - DAY)
    places = site.lists.sources.places(np.arange(1))
    before = site.lists.hidden(places)[0]
    assert [site.lists.failed(site.row) for _ in range(4)] == [False, False, True, False]
    assert before < site.lists.hidden(places)[0] == 1.0
    site.lists.same(site.row, NOW + 2 * HOUR)
    assert site.lists.hidden(places)[0] == before


def test_a_list_read_again_unchanged_is_silence_of_all_its_pages() -> None:
    by_same, by_read = Site(), Site()
    for site in (by_same, by_read):
        site.says(NOW + HOUR, NOW - DAY, NAN, NOW + 0.5 * HOUR)
    by_same.lists.same(by_same.row, NOW + 9 * HOUR)
    by_read.says(NOW + 9 * HOUR, NOW - DAY, NAN, NOW + 0.5 * HOUR)
    for name in ("count", "time", "counted_to", "stated", "pending"):
        assert [by_same.of(name, k) for k in (0, 2)] == [by_read.of(name, k) for k in (0, 2)]
    assert by_same.lists.rows.read[by_same.row] == by_read.lists.rows.read[by_read.row] == NOW + 9 * HOUR
    assert by_same.lists.rows.reads[by_same.row] == by_read.lists.rows.reads[by_read.row] == 2


@pytest.mark.parametrize("hours", [6, 24, 24 * 7])
def test_how_often_a_list_names_a_page_does_not_depend_on_how_often_it_is_read(hours: int) -> None:
    """A page changes about once a day, for two years; of several changes between two readings the latest is shown.

    Then it is silent for three memories.
    """
    changes = NOW - DAY + np.cumsum(np.random.default_rng(0).exponential(DAY, 740))
    site = Site()
    for hour in range(0, 24 * 720, hours):
        now = NOW + hour * HOUR
        site.says(now, changes[changes <= now].max(initial=NOW - DAY))
    assert site.of("count") / site.of("time") == pytest.approx(1 / DAY, rel=0.2)
    for _ in range(3):
        site.lists.same(site.row, float(site.lists.rows.read[site.row]) + SIGNAL_MEMORY_DAYS * DAY)
    assert site.of("count") / site.of("time") < 0.15 / DAY


def test_a_push_is_news_and_silence_since_it_counts() -> None:
    site = Site()
    assert site.pushed(NOW + HOUR, 0) == [0]
    assert (site.of("count"), site.of("time")) == (0.0, 0.0)
    assert site.pushed(NOW + HOUR, 0) == []
    assert site.pushed(NOW + 25 * HOUR, 0) == [0]
    assert site.of("count") == 1.0
    assert site.of("time") == pytest.approx(DAY)
    site.lists.pass_silence(site.lists.by_key[7], NOW + 49 * HOUR)
    assert site.of("time") == pytest.approx(2 * DAY, rel=0.01)
    assert site.of("pending") == 2


def test_pushes_cover_a_page_from_the_first_one_on_and_at_every_moment() -> None:
    site = Site(last=NOW)
    site.pushed(NOW + 10 * HOUR, 0)
    told = ListVisits(site.lists).told(site.lists.sources.places(np.array([0])), NOW + 12 * HOUR, np.array([NOW]))
    assert told.covered.tolist() == [2 * HOUR]
    assert told.since_read.tolist() == [10 * HOUR]


def test_a_push_about_a_change_that_was_fetched_is_no_news() -> None:
    site = Site(last=NOW)
    assert site.pushed(NOW + HOUR, 0, at=NOW - HOUR) == []
    assert site.pushed(NOW + 2 * HOUR, 0, at=NOW + 1000 * DAY) == [0]
    assert site.of("signalled") == NOW + 2 * HOUR


def test_a_row_that_was_met_with_its_pages_first_is_one_of_pushes_once_it_pushes() -> None:
    """After a restart of which the common part was lost: pushes are heard at every moment, not when they were read."""
    site = Site(last=NOW)
    site.lists.row(7)
    site.pushed(NOW + HOUR, 0)
    assert site.lists.rows.pushed[site.lists.by_key[7]]
    told = ListVisits(site.lists).told(site.lists.sources.places(np.array([0])), NOW + 5 * HOUR, np.array([NOW]))
    assert told.covered.tolist() == [4 * HOUR]


def test_many_named_at_one_moment_are_a_batch_and_few_are_not() -> None:
    lists = Lists(NOW, RATES)
    lists.grow(40)
    row, ids = lists.row(1, 39), np.arange(30)
    lists.read(row, NOW + HOUR, ids, np.full(30, NOW - DAY), np.full(30, NOW), evidence)
    stated = np.full(30, NOW - DAY)
    stated[: LEAST_SIZE - 1] = NOW + HOUR
    stated[10 : 10 + LEAST_SIZE] = NOW + 2 * HOUR + np.arange(LEAST_SIZE)
    lists.read(row, NOW + 3 * HOUR, ids, stated, np.full(30, NOW), evidence)
    places = lists.sources.places(ids)
    assert lists.sources.pending[places].tolist() == [1] * (LEAST_SIZE - 1) + [0] * (31 - LEAST_SIZE)
    assert (lists.sources.batch[places] != ALONE).nonzero()[0].tolist() == list(range(10, 10 + LEAST_SIZE))
    assert (lists.sources.waits(places)).sum() == 2 * LEAST_SIZE - 1


def test_a_second_batch_leaves_what_the_first_may_have_been_right_about() -> None:
    lists = Lists(NOW, RATES)
    lists.grow(20)
    row, ids = lists.row(1, 19), np.arange(10)
    doubts = []
    for day in range(4):
        lists.read(row, NOW + (day + 1) * DAY, ids, np.full(10, NOW + day * DAY), np.full(10, NOW), evidence)
        doubts.append(lists.doubt(lists.sources.places(ids))[0])
    assert all(later < 0.7 * earlier for earlier, later in pairwise(doubts))
    assert lists.batches.waiting[: len(lists.batches)].sum() == 10
    lists.answered(lists.sources.places(ids), NOW + 5 * DAY)
    assert (lists.doubt(lists.sources.places(ids)) == 1.0).all()
    assert lists.batches.waiting[: len(lists.batches)].sum() == 0


def test_a_clock_that_is_set_back_leaves_no_time_below_nothing() -> None:
    site = Site()
    site.says(NOW + HOUR, NOW - DAY, NOW)
    for now in (NOW - 300 * DAY, NOW - 200 * DAY, NOW + 2 * HOUR):
        site.says(now, now - HOUR, NOW)
        site.lists.same(site.row, now - 10 * DAY)
        site.pushed(now - 20 * DAY, 0, 1)
        for page in (0, 1):
            assert site.of("time", page) >= 0.0
            assert site.of("count", page) >= 0.0


def test_folders_of_some_size_have_accounts_and_the_others_none() -> None:
    lists = Lists(NOW, RATES)
    lists.grow(100)
    row, ids = lists.row(1, 99), np.arange(70)
    lists.read(row, NOW, ids, np.full(70, NAN), np.full(70, NEVER), evidence)
    labels = [f"s/{'ab'[k % 2] if k < 60 else 'c'}/{k}" for k in range(70)]
    lists.split(row, lambda some: [labels[k] for k in some])
    assert set(lists.parts[row]) == {"a", "b"}
    part = lists.sources.part[lists.sources.places(ids)]
    assert (part[:60:2] == lists.parts[row]["a"]).all()
    assert (part[60:] == -1).all()
    before = dict(lists.parts[row])
    for _ in range(5):
        lists.split(row, lambda some: [labels[k] for k in some])
    assert lists.parts == {row: before}
