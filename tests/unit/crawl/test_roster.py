"""Records kept as bytes come back as they were."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from recrawl.config import SourceOptions
from recrawl.crawl.roster import SCHEDULE, Roster
from recrawl.store.records import Progress, Source

TEXTS = st.text(max_size=8)
TIMES = st.floats(0.0, 1e12)
MAYBE = st.none() | TIMES
SOURCES = st.builds(
    Source,
    id=st.integers(1, 2**40),
    url=st.text(st.characters(), min_size=1, max_size=20),
    kind=st.sampled_from(["auto", "feed", "sitemap", "page", "key"]),
    title=TEXTS,
    importance=st.floats(1e-6, 1e6),
    half_life=MAYBE,
    max_age=MAYBE,
    cost=st.floats(1e-6, 1e6),
    tags=st.lists(TEXTS, max_size=3).map(tuple),
    headers=st.dictionaries(TEXTS, TEXTS, max_size=2),
    select=TEXTS,
    state=st.sampled_from(["active", "paused", "retired"]),
    note=TEXTS,
    added=TIMES,
    wanted=TIMES,
    memo=TEXTS,
    found_on=TEXTS,
    options=st.builds(
        SourceOptions,
        ignore=st.lists(TEXTS, max_size=2).map(tuple),
        robots=st.none() | st.booleans(),
        interval=st.none() | st.floats(1.0, 1e6),
        active_hours=st.lists(TEXTS, max_size=2).map(tuple),
    ),
    revision=st.integers(0, 2**40),
)
PROGRESS = st.builds(
    Progress,
    source=st.just(7),
    last=MAYBE,
    visits=st.integers(0, 2**40),
    failures=st.integers(0, 99),
    held_until=st.just(math.inf) | TIMES,
    held_by=TEXTS,
    etag=TEXTS,
    modified=TEXTS,
    digest=TEXTS,
    listing=st.binary(max_size=80),
    moved_to=TEXTS,
    moved_seen=st.integers(0, 9),
    captured=TIMES,
    value=TIMES,
    due=TIMES,
    belief=st.binary(max_size=9),
)


@given(SOURCES, SOURCES)
def test_a_line_comes_back_as_it_was_put(first: Source, then: Source) -> None:
    roster = Roster()
    number = roster.add(first)
    assert roster.source(number) == first
    assert roster.active(number) == (first.state == "active")
    then = msgspec.structs.replace(then, id=first.id)
    roster.put_source(number, then)
    assert roster.source(number) == then
    assert roster.url(number) == then.url
    assert dict(roster.urls) == {then.url: number}
    assert dict(roster.numbers) == {first.id: number}


@given(PROGRESS)
def test_progress_comes_back_but_for_the_schedule(progress: Progress) -> None:
    roster = Roster()
    number = roster.add(Source(id=7, url="a"))
    assert roster.progress(number).last is None
    assert math.isnan(roster.last(number))
    roster.put_progress(number, progress)
    back = roster.progress(number)
    for name in Progress.__struct_fields__:
        if name not in SCHEDULE:
            assert getattr(back, name) == getattr(progress, name), name
    assert back.belief == b""
    assert math.isnan(back.value)
    assert roster.held_until(number) == progress.held_until
    assert roster.last(number) == progress.last or progress.last is None


def test_what_left_is_known_until_its_visit_is_over_and_its_place_stays_empty() -> None:
    roster = Roster()
    one, other = (roster.add(Source(id=k, url=f"https://a.example/{k}")) for k in (1, 2))
    roster.in_flight.add(one)
    roster.remove(one)
    assert one not in roster
    assert roster.source(one).id == 1
    roster.end_visits([one])
    assert (roster.source(one).url, len(roster), roster.end) == ("", 1, 2)
    assert other in roster
    again = roster.add(Source(id=1, url="https://a.example/1"))
    assert again == 2
    assert one not in roster


def test_an_address_taken_over_by_another_is_that_one_s() -> None:
    roster = Roster()
    one, other = (roster.add(Source(id=k, url=f"https://a.example/{k}")) for k in (1, 2))
    roster.put_source(other, Source(id=2, url="https://a.example/1"))
    assert roster.urls["https://a.example/1"] == other
    roster.remove(one)
    assert dict(roster.urls) == {"https://a.example/1": other}


def test_text_that_is_no_text_is_mended_as_the_store_does() -> None:
    roster = Roster()
    number = roster.add(Source(id=1, url="ü\ud800", title="a\ud800b", tags=("\udfff",), headers={"a": "\ud800"}))
    line = roster.source(number)
    assert (line.url, line.title, line.tags, line.headers) == ("ü\ud800", "a\ufffdb", ("\ufffd",), {"a": "\ufffd"})
    roster.put_progress(number, Progress(source=1, etag="\ud800"))
    assert roster.progress(number).etag == "\ufffd"


class Kept:
    """A store of a few lines, which says what it was asked for."""

    def __init__(self, *sources: Source) -> None:
        self.lines = {source.id: source for source in sources}
        self.past: dict[int, Progress] = {}
        self.asked: list[list[int]] = []

    def sources(self, *, ids: Sequence[int]) -> list[Source]:
        self.asked.append([*ids])
        return [self.lines[id] for id in ids if id in self.lines]

    def with_progress(self, ids: Sequence[int]) -> list[tuple[Source, Progress]]:
        found = {line.id: line for line in self.sources(ids=ids)}
        return [(found[each.source], each) for each in self.progress(ids) if each.source in found]

    def progress(self, ids: Sequence[int]) -> list[Progress]:
        return [self.past.get(id, Progress(source=id)) for id in ids]


def over_a_store(count: int = 2) -> tuple[Roster, Kept]:
    lines = [Source(id=k, url=f"https://a.example/{k}", title=f"The {k}th") for k in range(1, count + 1)]
    store = Kept(*lines)
    roster = Roster(store)
    for line in lines:
        roster.add(line)
    return roster, store


def test_what_the_store_has_is_read_there_several_at_once() -> None:
    roster, store = over_a_store()
    assert [line.title for line in roster.sources([1, 0])] == ["The 2th", "The 1th"]
    assert [(line.id, progress.source) for line, progress in roster.lines([1, 0])] == [(2, 2), (1, 1)]
    assert store.asked == [[2, 1], [2, 1]]


def test_what_it_does_not_have_yet_is_kept_until_it_does() -> None:
    roster, store = over_a_store()
    roster.put_progress(0, Progress(source=1, etag="new"))
    roster.put_source(0, Source(id=1, url="https://a.example/1", title="Another"))
    written = roster.turn
    assert (roster.progress(0).etag, roster.source(0).title) == ("new", "Another")
    roster.put_progress(0, Progress(source=1, etag="newer"))
    roster.stored([1], written)
    assert (roster.progress(0).etag, roster.source(0).title) == ("newer", "The 1th")
    assert [(line.title, progress.etag) for line, progress in roster.lines([0])] == [("The 1th", "newer")]
    roster.stored([1], roster.turn)
    assert roster.progress(0).etag == ""
    assert store.asked == [[1], [1]]


def test_what_is_gone_from_the_store_is_as_good_as_retired() -> None:
    roster, store = over_a_store()
    del store.lines[1]
    assert (roster.source(0).url, roster.source(0).state) == ("https://a.example/1", "retired")


def test_over_a_store_a_source_takes_the_room_of_its_address_and_a_few_numbers() -> None:
    count = 3000
    roster, _ = over_a_store(count)
    columns = (roster._ids, roster._last, roster._held, roster._added, roster._terms, roster._marks)
    indices = (roster._by_id._places, roster._by_url._places)
    addresses = (roster.labels._text, roster.labels._ends)
    assert sum(map(sys.getsizeof, (*columns, *indices, *addresses))) / count < 120
    assert not roster._lines._packed
    assert not roster._progress._packed
