from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.explanation import Circumstances, explain
from recrawl.store.base import Crawl, Progress, Source
from recrawl.web.charts import belief_chart, crawl_chart, history_chart, index_chart, prospect_chart
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


def test_the_index_curve_marks_now_the_price_and_the_crossing() -> None:
    source = Source(id=1, url="https://a.example/")
    progress = Progress(source=1, last=1000.0, value=2.0, value_sd=0.1, rate=1e-4, rate_sd=1e-5)
    svg = str(index_chart(explain(source, progress, 3000.0, Circumstances(price=0.5))))
    well_formed(svg)
    for mark in ('class="level price"', 'class="mark now"', 'class="mark crossing"', "price 0.5", ">now<"):
        assert mark in svg


def test_there_is_nothing_to_draw_before_the_first_crawl() -> None:
    source = Source(id=1, url="https://a.example/")
    assert index_chart(explain(source, Progress(source=1), 0.0, Circumstances())) is None
    assert crawl_chart([], 0.0) is None
    assert history_chart("x", [], []) is None
    assert belief_chart("x", [1.0], [1.0], [1.0]) is None


@given(POSITIVE, POSITIVE, st.floats(0, 1e12), POSITIVE | st.just(math.nan))
def test_any_beliefs_can_be_drawn(value: float, rate: float, age: float, price: float) -> None:
    source = Source(id=1, url="https://a.example/")
    progress = Progress(source=1, last=1e9, value=value, value_sd=value, rate=rate, rate_sd=rate)
    svg = index_chart(explain(source, progress, 1e9 + age, Circumstances(price=price)))
    if svg is not None:
        well_formed(svg)


@given(st.lists(st.tuples(st.floats(0, 2e9), ANY, ANY), max_size=40))
def test_any_history_can_be_drawn(points: list[tuple[float, float, float]]) -> None:
    points = sorted(points, key=lambda each: each[0])
    times, values = [p[0] for p in points], [p[1] for p in points]
    for svg in (history_chart("t", times, values), belief_chart("t", times, values, [p[2] for p in points])):
        if svg is not None:
            well_formed(svg)


@pytest.mark.parametrize("outcome", ["new", "first", "changed", "unchanged", "failed", "refused"])
def test_every_outcome_has_a_mark(outcome: str) -> None:
    crawls = [Crawl(source=1, at=10.0, outcome=outcome, new=3)]  # type: ignore[arg-type]
    assert 'class="mark' in str(well_formed(crawl_chart(crawls, 20.0)) is not None and crawl_chart(crawls, 20.0))


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
