"""What documents say of other sources, as the policy hears it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.mentions import Mentions
from recrawl.crawl.named_sources import MOST_LISTINGS, MOST_REMEMBERED, NamedSources, moved_up
from recrawl.crawl.roster import Roster
from recrawl.crawl.visits import VisitOutcome
from recrawl.store.records import Crawl, Progress, Source, keys_in

NOW = 1_750_000_000.0
SITE = "https://a.example"


def roster_of(*paths: str, added: float = NOW - 1e6) -> Roster:
    roster = Roster()
    for number, path in enumerate(paths):
        roster.add(Source(id=number + 1, url=SITE + path, added=added))
    return roster


def outcome(mentions: Mentions | None) -> VisitOutcome:
    progress = Progress(source=1)
    crawl = Crawl(source=1, at=NOW, outcome="new")
    return VisitOutcome(kind="items", crawl=crawl, progress=progress, mentions=mentions)


def visited(roster: Roster, number: int, at: float) -> None:
    roster.put_progress(number, Progress(source=number + 1, last=at, visits=1))


# -- lists with times


def test_known_sources_are_told_with_the_latest_time_said_of_each() -> None:
    lists = NamedSources(roster_of("/list", "/1", "/2", "/3"))
    urls = [f"{SITE}/{path}" for path in ("2", "1", "nobody", "2", "list", "3")]
    heard = lists.heard(0, Mentions(urls, [5e8, None, 7e8, 6e8, 9e8, NOW + 1e7]), NOW)
    assert heard is not None
    ids, lastmod = heard
    assert ids.tolist() == [1, 2, 3]
    assert lastmod[1:].tolist() == [6e8, NOW], "nothing is dated after the visit"
    assert math.isnan(lastmod[0])


def test_links_of_feeds_are_found_without_fragment_and_tracking() -> None:
    lists = NamedSources(roster_of("/feed", "/1", "/2?x=1"))
    heard = lists.heard(0, Mentions([f"{SITE}/1?utm_source=rss#comments", f"{SITE}/2?x=1#top"], [1e9, 1e9]), NOW)
    assert heard is not None
    assert heard[0].tolist() == [1, 2]


def test_a_time_in_1970_is_none() -> None:
    heard = NamedSources(roster_of("/list", "/1")).heard(0, Mentions([f"{SITE}/1"], [0.0]), NOW)
    assert heard is not None
    assert np.isnan(heard[1]).all()


def test_what_names_nobody_is_no_list_until_it_did() -> None:
    lists = NamedSources(roster_of("/list", "/1"))
    assert lists.heard(0, Mentions(["https://b.example/"], [NOW]), NOW) is None
    assert lists.heard(0, Mentions([f"{SITE}/1"], [NOW]), NOW) is not None
    emptied = lists.heard(0, Mentions([], []), NOW)
    assert emptied is not None
    assert len(emptied[0]) == 0
    lists.forget(0)
    assert lists.heard(0, Mentions([], []), NOW) is None


# -- pages that say it by their order


def read(lists: NamedSources, order: bytes, *paths: str) -> tuple[set[str], bytes]:
    """What a visit to the front page says has changed, and the order to be remembered."""
    heard, order = lists.heard_in_order(0, Mentions.of_page([SITE + path for path in paths]), NOW, order)
    if heard is None:
        return set(), order
    changed = {lists.roster.url(page) for page, at in zip(*(each.tolist() for each in heard), strict=True) if at == NOW}
    return {url.removeprefix(SITE) for url in changed}, order


@pytest.fixture
def front() -> NamedSources:
    lists = NamedSources(roster_of("/", "/1", "/2", "/3", "/4"))
    visited(lists.roster, 0, NOW - 3600.0)
    return lists


def test_a_new_link_and_one_that_moved_up_have_changed(front: NamedSources) -> None:
    changed, order = read(front, b"", "/1", "/2", "/3", "/other")
    assert (changed, len(keys_in(order))) == (set(), 3)
    changed, order = read(front, order, "/4", "/1", "/2", "/3")
    assert changed == {"/4"}, "one at the top moves nobody"
    changed, order = read(front, order, "/3", "/4", "/1", "/2")
    assert changed == {"/3"}
    assert read(front, order, "/4", "/1", "/2", "/3")[0] == set(), "one that sank has not changed"
    assert read(front, order, "/3", "/1", "/2")[0] == set(), "one that is gone neither"


def test_a_page_that_came_into_the_catalogue_meanwhile_is_no_new_link(front: NamedSources) -> None:
    _, order = read(front, b"", "/1", "/2")
    front.roster.add(Source(id=9, url=f"{SITE}/9", added=NOW - 60.0))
    assert read(front, order, "/9", "/1", "/2")[0] == set()


def test_a_page_is_no_list_before_its_order_tells_anything(front: NamedSources) -> None:
    said = Mentions.of_page([f"{SITE}/1", f"{SITE}/2"])
    heard, order = front.heard_in_order(0, said, NOW, b"")
    assert heard is None
    assert front.heard_in_order(0, said, NOW, order)[0] is None
    assert front.heard_in_order(0, Mentions.of_page(said.urls[::-1]), NOW, order)[0] is not None
    assert front.heard_in_order(0, said, NOW, order)[0] is not None, "from then on"


def test_the_order_that_is_remembered_is_bounded() -> None:
    paths = [f"/{number}" for number in range(MOST_REMEMBERED + 50)]
    lists = NamedSources(roster_of("/", *paths))
    visited(lists.roster, 0, NOW - 3600.0)
    _, order = read(lists, b"", *paths)
    assert len(keys_in(order)) == MOST_REMEMBERED
    assert read(lists, order, *paths[1:])[0] == set(), "one that comes within the bound is not new"


def test_only_so_many_pages_are_lists() -> None:
    lists = NamedSources(roster_of(*(f"/{number}" for number in range(MOST_LISTINGS + 2))))
    urls = [f"{SITE}/{MOST_LISTINGS}", f"{SITE}/{MOST_LISTINGS + 1}"]
    told = 0
    for number in range(MOST_LISTINGS + 1):
        _, order = lists.heard_in_order(number, Mentions.of_page(urls), NOW, b"")
        told += lists.heard_in_order(number, Mentions.of_page(urls[::-1]), NOW, order)[0] is not None
    assert told <= MOST_LISTINGS


@given(st.permutations(range(12)), st.integers(0, 11))
def test_without_those_that_moved_up_or_down_the_order_is_the_same(after: list[int], gone: int) -> None:
    before = [number for number in range(12) if number != gone]
    up = moved_up(before, after)
    assert up <= set(before)
    down = moved_up(before[::-1], [key for key in after[::-1] if key in before])
    assert not up or after != sorted(after)
    if not up:
        assert [key for key in after if key in before] == before or down


@given(st.lists(st.integers(0, 30), unique=True), st.data())
def test_one_that_is_put_first_moves_up_alone(before: list[int], data: st.DataObject) -> None:
    if len(before) < 2:
        return
    mover = data.draw(st.sampled_from(before[1:]))
    assert moved_up(before, [mover, *(key for key in before if key != mover)]) == {mover}
    assert moved_up(before, [99, *before]) == set()


@given(st.lists(st.none() | st.lists(st.integers(0, 12), max_size=6), max_size=4))
def test_all_visits_at_once_tell_what_each_tells_alone(named: list[list[int] | None]) -> None:
    """Those below 4 are known; above, by their tracking parameters and fragments, or not at all."""
    urls = [f"{SITE}/{k}" for k in range(8)] + [f"{SITE}/{k}?utm_source=x#top" for k in range(5)]
    paths = [f"/{k}" for k in range(4)]
    documents = [None if each is None else Mentions([urls[k] for k in each], [NOW] * len(each)) for each in named]
    together = NamedSources(roster_of(*paths)).told(range(len(named)), [outcome(each) for each in documents])
    alone = NamedSources(roster_of(*paths))
    for number, each in enumerate(documents):
        wanted = None if each is None else alone.heard(number, each, NOW)
        assert (wanted is None) == (number not in together)
        if wanted is not None:
            assert together[number][0].tolist() == wanted[0].tolist()
            known = {k if k < 8 else k - 8 for k in named[number] or []}
            assert wanted[0].tolist() == sorted(k for k in known if k < 4 and k != number)
