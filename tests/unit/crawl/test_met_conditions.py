"""Which conditions of its owner a change of a page meets."""

from __future__ import annotations

import pytest

from recrawl.config.conditions import parsed
from recrawl.config.option_rules import OPTIONS
from recrawl.crawl.met_conditions import met
from recrawl.crawl.reading.findings import Findings, Number
from recrawl.crawl.reading.number_history import MOST_POINTS, MOST_UNITS, History, packed, unpacked
from recrawl.crawl.reading.numbers import version
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.pages import read_text
from recrawl.errors import ParameterError


def price(value: float, unit: str = "EUR") -> Number:
    return Number("price", value, f"{value:g} {unit}", unit)


def is_met(condition: str, before: float, now: float, told: float | None = None) -> bool:
    history = History("price", "EUR", [(0.0, before)], told)
    return met([condition], "", Findings(kind="page", number=price(now)), history) == condition


@pytest.mark.parametrize(
    ("condition", "before", "now", "counts"),
    [
        ("number < 100", 120, 99, True), ("number < 100", 120, 100, False), ("number < 100", 99, 98, False),
        ("number<100", 100, 99.5, True), ("number > 100", 99, 101, True), ("number > 100", 101, 102, False),
        ("number falls", 5, 4.99, True), ("number falls", 5, 5.01, False), ("number rises", 5, 6, True),
        ("number moves 5%", 100, 104.9, False), ("number moves 5%", 100, 95, True), ("number moves 3", 10, 13, True),
        ("number moves 3", 10, 12, False), ("number moves 5%", 0, 1, True), ("number moves 5%", 0, 0, False),
    ],
)  # fmt: skip
def test_a_number_crosses_a_bound_or_moves(condition: str, before: float, now: float, counts: bool) -> None:
    assert is_met(condition, before, now) == counts


def test_small_moves_add_up_until_somebody_is_told() -> None:
    history, told = History().followed_by(price(100), 0.0, told=True), []
    for day, value in enumerate((98, 96, 94, 93, 90, 88)):
        counts = met(["number moves 5%"], "", Findings(kind="page", number=price(value)), history) != ""
        history = history.followed_by(price(value), float(day), told=counts)
        told += [value] if counts else []
    assert told == [94, 88]


@pytest.mark.parametrize("condition", ["number < 100", "number moves 5%", "number falls"])
@pytest.mark.parametrize("between", [[price(120, "USD")], [price(120, "USD"), price(90, "GBP"), price(120, "USD")]])
def test_visits_that_show_another_currency_hide_no_crossing(condition: str, between: list[Number]) -> None:
    history, counted = History(), []
    for day, each in enumerate([price(113), *between, price(99), price(98), price(119, "USD")]):
        counts = met([condition], "", Findings(kind="page", number=each), history) != ""
        history = history.followed_by(each, float(day), told=counts or not day)
        counted += [each] if counts else []
    assert price(99) in counted
    assert (price(119, "USD") in counted) == (condition == "number falls")
    assert history.in_unit_of(price(1)).points == [(0.0, 113), (len(between) + 1.0, 99), (len(between) + 2.0, 98)]


def test_of_few_currencies_the_latest_are_remembered() -> None:
    history = History()
    for day in range(3 * MOST_UNITS):
        history = history.followed_by(price(day, f"U{day}"), float(day), told=False)
    assert [*history.others] == [f"U{day}" for day in range(3 * MOST_UNITS - 1 - MOST_UNITS, 3 * MOST_UNITS - 1)]
    assert unpacked(packed(history)) == history


@pytest.mark.parametrize(("before", "now", "counts"), [("4.9", "4.10", True), ("4.10.2", "4.10.3", False)])
def test_versions_are_compared_part_by_part(before: str, now: str, counts: bool) -> None:
    one, other = version(before, ""), version(now, "")
    assert one is not None
    history = History().followed_by(one, 0.0, told=True)
    assert (met(["number > 4.9.9"], "", Findings(kind="page", number=other), history) != "") == counts


@pytest.mark.parametrize(
    ("condition", "old", "new", "counts"),
    [
        ("appears sold out", "Tickets", "Tickets: Sold Out", True),
        ("appears sold out", "Sold out", "Sold out!", False),
        ("disappears sold out", "Sold out", "Tickets", True), ("disappears sold out", "Tickets", "Buy", False),
    ],
)  # fmt: skip
def test_text_comes_or_goes(condition: str, old: str, new: str, counts: bool) -> None:
    assert (met([condition], old, Findings(kind="page", text=new), History()) == condition) == counts


def test_a_line_that_comes_matches() -> None:
    found = Findings(kind="page", text="a\n3 seats", matched=("3 seats",))
    assert met([r"matches \d+ seats"], "a\n2 seats", found, History())
    assert not met([r"matches \d+ seats"], "b\n3 seats", found, History())


def test_a_line_matches_in_the_text_that_is_kept_alone() -> None:
    lines = [f"{number} seats" for number in range(100)]
    counts, body = WhatCounts(matching=(r"\d+ seats",)), "\n".join(lines).encode()
    found = read_text(body, 0.0, counts, keep_text=100)
    assert 5 < len(found.matched) < 20
    assert not met([r"matches \d+ seats"], read_text(body + b"\nmore", 0.0, keep_text=100).text, found, History())


def test_one_that_is_met_is_enough_and_a_number_nobody_knew_meets_none() -> None:
    found = Findings(kind="page", text="Sold out", number=price(5))
    assert met(["number < 9", "appears sold out"], "", found, History()) == "appears sold out"
    assert not met(["number < 9"], "", found, History())
    assert not met(["number < 9"], "", found, History("stock", "", [(0.0, 20.0)]))
    assert met(["number < 9"], "", found, History("price", "EUR", [(0.0, 20.0)]))
    assert not met(["number < 9"], "", found, History("price", "JPY", [(0.0, 20.0)]))


@pytest.mark.parametrize(
    "text", ["often", "number", "number < x", "number < 1..2", "matches (", "number moves", "appears "]
)
def test_what_is_no_condition_is_refused_with_examples(text: str) -> None:
    assert parsed(text) is None
    with pytest.raises(ParameterError, match="'number < 100'"):
        OPTIONS["when"]("when", ["number falls", text])


def test_why_a_pattern_is_none_is_said() -> None:
    with pytest.raises(ParameterError, match=r"\(missing \), unterminated subpattern at position 0\)"):
        OPTIONS["when"]("when", ["matches (a"])


def test_a_history_keeps_what_changed_and_thins_what_is_old() -> None:
    history = History()
    for at, value in enumerate([5, 5, 6, 6, 5]):
        history = history.followed_by(price(value), float(at), told=False)
    assert history.points == [(0.0, 5), (2.0, 6), (4.0, 5)]
    assert unpacked(packed(history)) == history
    assert unpacked(None) == unpacked(b"\xc1") == History()
    assert history.followed_by(price(5, "USD"), 9.0, told=False).points == [(9.0, 5)]
    for at in range(5, 3 * MOST_POINTS):
        history = history.followed_by(price(at), float(at), told=False)
    assert len(history.points) <= MOST_POINTS
    assert (history.points[0], history.latest) == ((0.0, 5), 3 * MOST_POINTS - 1)
