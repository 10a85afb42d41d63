"""The words and numbers of charts are whole and apart, with the large letters that charts have on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from lxml import etree

from recrawl.web.charts import history_chart
from recrawl.web.charts.prospects import prospect_chart

LARGE, ACROSS = 17.0, 0.62
"""Size of letters on a phone in the units of a chart, and how wide one is by its size, at least."""
Box = tuple[str, float, float, float, float]


def boxes(svg: str) -> Iterator[Box]:
    """Each text with where it begins and ends, across and down."""
    for text in etree.fromstring(svg).iter("text"):
        words, wide = text.text, LARGE * ACROSS * len(text.text)
        x, y = float(text.get("x")), float(text.get("y"))
        start = x - {"start": 0.0, "middle": wide / 2, "end": wide}[text.get("text-anchor")]
        yield words, start, y - 0.75 * LARGE, start + wide, y + 0.2 * LARGE


def complaints(svg: str) -> list[str]:
    """What is cut off or lies over something else."""
    found = list(boxes(svg))
    width, height = map(float, re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0])
    cut = [box[0] for box in found if box[1] < 0 or box[2] < 0 or box[3] > width or box[4] > height]
    over = [
        f"{a[0]} over {b[0]}"
        for k, a in enumerate(found)
        for b in found[k + 1 :]
        if a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]
    ]
    return cut + over


@pytest.mark.parametrize("size", [0.0003, 2.5e-7, 1.0, 12_345.0, 3.2e11])
def test_chart_labels_are_not_cut(size: float) -> None:
    times = [1_700_000_000.0 + 900 * k for k in range(90)]
    svg = history_chart("Price", times, [size * (1 + k % 5) for k in range(90)], level=size, level_label="now")
    assert svg is not None
    assert complaints(str(svg)) == []


@pytest.mark.parametrize("factor", [1.0, 1.3, 2.0, 3.0, 30.0, 1 / 2, 1 / 30])
def test_now_and_what_if_are_apart(factor: float) -> None:
    present = 1.0 / 60
    budgets = [present / 30 * 900 ** (k / 24) for k in range(25)]
    svg = prospect_chart(budgets, [4.0 * k for k in range(25)], (present, 48.0), (present * factor, 50.0))
    assert complaints(str(svg)) == []
    assert ("what if" in svg) == (factor != 1.0)
