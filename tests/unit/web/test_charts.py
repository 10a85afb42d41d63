from __future__ import annotations

import math
import re
from functools import partial
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankers
from recrawl.crawl.explaining.explanation import Circumstances, explain
from recrawl.crawl.explaining.ranking import NOWHERE, Ranking
from recrawl.store.records import Crawl, Progress, Source
from recrawl.web.charts import belief_chart, crawl_chart, history_chart, index_chart, prospect_chart
from recrawl.web.charts.crawls import legend
from recrawl.web.charts.frame import Frame, clock_ticks, round_values

ANY = st.floats(allow_nan=True, allow_infinity=True)
POSITIVE = st.floats(1e-12, 1e12)


def well_formed(svg: object) -> ElementTree.Element:
    root = ElementTree.fromstring(str(svg))
    assert root.find("title") is not None
    assert root.find("desc") is not None
    assert "nan" not in str(svg).split("<desc")[0]
    for element in root.iter():
        for name, value in element.attrib.items():
            if name in ("x", "y", "cx", "cy", "x1", "x2", "y1", "y2", "points", "d"):
                assert "nan" not in value
                assert "inf" not in value
    return root


def drawn(ranker: rankers.FakeRanker, now: float, price: float) -> Any:
    """The curve of a made-up policy's one source."""
    source, progress = Source(id=1, url="https://a.example/"), Progress(source=1, last=ranker.last)
    ranking = Ranking(ranker, {1: 0})
    found = explain(source, progress, now, Circumstances(price=price), ranking.standing(progress, now, price))
    return index_chart(found, partial(ranking.curve, 1))


def closed(last: float, value: float, rate: float) -> rankers.FakeRanker:
    source = Source(id=1, url="https://a.example/")
    known = Progress(source=1, last=last, value=value, value_sd=value / 10, rate=rate, rate_sd=rate / 10)
    return rankers.closed(source, known)


def points_of(svg: object, name: str) -> list[tuple[float, float]]:
    """Of a line in a chart, in user units, from the left, upwards."""
    path = next(e for e in ElementTree.fromstring(str(svg)).iter() if e.attrib.get("class") == name)
    places = re.findall(r"[ML]([\d.]+) ([\d.]+)", path.attrib["d"])
    return [(float(x), 220.0 - float(y)) for x, y in places]


def test_the_index_curve_marks_now_the_price_and_the_crossing() -> None:
    svg = str(drawn(closed(1000.0, 2.0, 1e-4), 3000.0, 0.5))
    well_formed(svg)
    for mark in ('class="level price"', 'class="mark now"', 'class="mark crossing"', "price 0.5", ">now<"):
        assert mark in svg


def test_a_planned_index_is_a_straight_line() -> None:
    points = points_of(drawn(rankers.planned(1e9, 3.0, 8.0), 1e9 + 7200.0, 1.0), "line index")
    (x0, y0), (x1, y1) = points[0], points[-1]
    assert y1 > y0
    assert all(abs(y - y0 - (y1 - y0) * (x - x0) / (x1 - x0)) < 0.2 for x, y in points)


def test_a_rhythm_goes_up_and_down_and_its_hours_are_marked() -> None:
    midnight = 1e9 - 1e9 % 86400.0
    svg = str(drawn(rankers.rhythmic(midnight - 4 * 3600.0, busy=(8, 12)), midnight, 3.0))
    well_formed(svg)
    heights = [y for _, y in points_of(svg, "line index")]
    assert any(b < a - 5 for a, b in pairwise(heights))
    assert any(b > a + 5 for a, b in pairwise(heights))
    for words in ("due at 08:00", ">09 Sep<", ">12:00<", "by the hour (UTC)"):
        assert words in svg, words


def test_the_price_is_named_where_the_curve_is_not() -> None:
    def gap(price: float) -> float:
        """By how much its name stands above its line."""
        svg = ElementTree.fromstring(str(drawn(closed(1e9, 2.0, 1e-4), 1e9 + 1e5, price)))
        line = next(float(e.attrib["y1"]) for e in svg.iter() if e.attrib.get("class") == "level price")
        return line - next(float(e.attrib["y"]) for e in svg.iter() if (e.text or "").startswith("price"))

    assert gap(1.9) < 0.0
    assert gap(3.0) > 0.0
    assert gap(0.001) > 0.0  # there is no room below


def test_there_is_nothing_to_draw_before_the_first_crawl() -> None:
    source = Source(id=1, url="https://a.example/")
    assert index_chart(explain(source, Progress(source=1), 0.0, Circumstances(), NOWHERE), np.zeros_like) is None
    assert crawl_chart([], 0.0) is None
    assert history_chart("x", [], []) is None
    assert belief_chart("x", [1.0], [1.0], [1.0]) is None


@given(POSITIVE, POSITIVE, st.floats(0, 1e12), POSITIVE | st.just(math.nan))
def test_any_beliefs_can_be_drawn(value: float, rate: float, age: float, price: float) -> None:
    """`well_formed` parses what was drawn."""
    ranker = closed(1e9, value, rate)
    ranker.step_s = 3600.0
    svg = drawn(ranker, 1e9 + age, price)
    if svg is not None:
        well_formed(svg)


@given(st.lists(st.tuples(st.floats(0, 2e9), ANY, ANY), max_size=40))
def test_any_history_can_be_drawn(points: list[tuple[float, float, float]]) -> None:
    """`well_formed` parses what was drawn."""
    points = sorted(points, key=lambda each: each[0])
    times, values = [p[0] for p in points], [p[1] for p in points]
    for svg in (history_chart("t", times, values), belief_chart("t", times, values, [p[2] for p in points])):
        if svg is not None:
            well_formed(svg)


@pytest.mark.parametrize("outcome", ["new", "first", "changed", "unchanged", "failed", "refused"])
def test_every_outcome_has_a_mark(outcome: str) -> None:
    crawls = [Crawl(source=1, at=10.0, outcome=outcome, new=3)]  # type: ignore[arg-type]
    assert 'class="mark' in str(well_formed(crawl_chart(crawls, 20.0)) is not None and crawl_chart(crawls, 20.0))


def test_no_two_outcomes_have_the_same_shape() -> None:
    shapes = [re.sub(r'class="[^"]*"|[\d.]+', "", str(shape)) for words, shape in legend() if words != "first look"]
    assert len(set(shapes)) == len(shapes)


def test_budgets_are_drawn_from_little_to_much() -> None:
    svg = prospect_chart([0.1, 1.0, 10.0], [10.0, 50.0, 90.0], (1.0, 50.0), (2.0, 60.0))
    well_formed(svg)
    assert "60.0 %" in str(svg)


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_lie_within_and_are_few(low: float, span: float) -> None:
    values = round_values(low, low + span)
    assert len(values) <= 7
    assert all(low - 1e-3 * span - 1e-6 <= value <= low + span * 1.001 + 1e-6 for value in values)


def test_times_of_any_age_have_ticks() -> None:
    for span in (1.0, 60.0, 3600.0, 86400.0, 1e7, 1e9, 1e11):
        assert 0 < len(clock_ticks(1e9, 1e9 + span)) <= 12


def test_text_in_charts_is_escaped() -> None:
    frame = Frame("<b>", "</desc><script>", 0, 1, 0, 1)
    frame.label(1, 1, "<script>")
    assert "<script>" not in str(frame.svg())
