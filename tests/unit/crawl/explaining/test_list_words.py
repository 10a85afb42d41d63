"""What is said of lists, in words for people who have never heard of recall and precision."""

from __future__ import annotations

import math

import pytest

from recrawl.crawl.explaining.list_words import as_list, named_by, verdict
from recrawl.crawl.list_notes import AGES, NotedList, read, write
from recrawl.learning.list_reports import Heard
from recrawl.store.sqlite import SqliteStore

NOW = 1_750_000_000.0
HONEST = NotedList(
    source=3,
    name="https://a.example/sitemap.xml",
    trust=0.99,
    recall=0.9,
    precision=0.97,
    pages=1200,
    said=1200,
    signals=400.0,
    waiting=4,
    visits=210.0,
    news_per_s=14.0 / 3600.0,
    worth=tuple(float(age) for age in AGES / 3600.0),
    at=NOW,
)


def noted(**changes: float) -> NotedList:
    return NotedList(**{name: getattr(HONEST, name) for name in HONEST.__struct_fields__} | changes)  # type: ignore[arg-type]


def test_a_list_that_is_believed() -> None:
    found = as_list(HONEST, 3600.0, 3.1, 0.8)
    assert found.words == (
        "It names 1,200 watched pages. It is right 97 times out of 100 and tells of 90 out of 100 changes, by "
        "210 visits to them. A fetch now would name about 14 changes and is worth 3.1; the price is 0.8."
    )
    assert (found.news, found.right, found.tells) == (pytest.approx(14.0), 0.97, 0.9)


def test_a_list_that_is_not() -> None:
    words = as_list(noted(trust=0.001), 3600.0, 0.01, 0.8).words
    assert "is not believed" in words
    assert "would name" not in words
    assert "not known yet" in as_list(noted(visits=1.0), 60.0, 0.1, math.nan).words
    assert "still in doubt" in as_list(noted(trust=0.5, precision=math.nan), 60.0, math.nan, math.nan).words


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "believed"),
        ({"trust": 0.001}, "not believed"),
        ({"trust": 0.02}, "in doubt"),
        ({"said": 0}, "silent"),
        ({"trust": 0.5}, "in doubt"),
        ({"visits": 2.0}, "not judged yet"),
    ],
)
def test_a_verdict_in_a_word(changes: dict[str, float], word: str) -> None:
    assert verdict(noted(**changes)) == word


def test_a_page_that_was_named_and_one_that_was_not() -> None:
    heard = Heard(3, HONEST.name, NOW - 60.0, NOW - 60.0, 1, 0.93, 0.88, 0.97)
    assert named_by(heard, 3, HONEST.name, NOW).words == (
        "Named by the list https://a.example/sitemap.xml as changed 1m ago, which is so 93 times out of 100. "
        "Of its changes, 88 out of 100 are expected to be told of."
    )
    silent = Heard(-1, "a.example", math.nan, -math.inf, 0, 0.0, 0.5, math.nan)
    found = named_by(silent, None, "a.example", NOW)
    assert "the pushes of its site, which has said nothing new" in found.words
    assert math.isnan(found.signalled)


def test_worth_is_met_where_the_curve_meets_the_price() -> None:
    assert HONEST.crossing_age(2.0) == pytest.approx(7200.0, rel=0.01)
    assert HONEST.crossing_age(1e9) == math.inf
    assert math.isnan(noted(worth=()).crossing_age(1.0))  # type: ignore[arg-type]


def test_notes_are_read_as_they_were_written(tmp_path: object) -> None:
    with SqliteStore(f"{tmp_path}/recrawl.db") as store:
        assert read(store) == {}
        pushes = noted(source=0, precision=math.nan)
        write(store, [HONEST, pushes])
        found = read(store)
        assert found[3] == HONEST
        assert min(found) < 0
        store.write_note("lists/", b"of another version")
        assert read(store) == {}
        write(store, [])
        assert read(store) == {}
