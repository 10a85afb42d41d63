"""A source's index against the price: where they meet, it is due."""

from __future__ import annotations

import math

import numpy as np
from markupsafe import Markup

from recrawl.crawl.explanation import Explanation
from recrawl.kernels.continuous_index import continuous_index
from recrawl.units import show_duration
from recrawl.web.charts.frame import Frame, age_ticks

POINTS = 120


def index_chart(found: Explanation) -> Markup | None:
    """The curve since the last crawl, with now and the crossing marked; None while there is nothing to draw."""
    worth = found.importance * found.value
    if not (math.isfinite(worth) and math.isfinite(found.rate_per_s) and math.isfinite(found.age_s)):
        return None
    crossing = found.crossing_age_s
    end = max(1.25 * found.age_s, 1.5 * crossing if math.isfinite(crossing) else 0.0, 60.0)
    end = min(end, max(1.2 * found.max_age_s, 1.25 * found.age_s))
    ages = np.linspace(0.0, end, POINTS)
    curve = np.asarray(continuous_index(worth, found.rate_per_s, ages, found.cost), dtype=np.float64)
    price = found.price
    top = 1.15 * max(float(curve.max()), price if math.isfinite(price) else 0.0)
    frame = Frame("What a fetch is worth, by time since the last crawl", _story(found), 0.0, end, 0.0, top or 1.0, 220)
    frame.y_axis()
    frame.x_ticks(age_ticks(end))
    frame.line(ages.tolist(), curve.tolist(), "line index")
    if math.isfinite(price):
        frame.level(price, "level price", f"price {price:.3g}")
    if math.isfinite(found.age_s):
        frame.upright(found.age_s, "upright now", "now")
        frame.dot(found.age_s, found.index, "mark now")
    if math.isfinite(crossing) and crossing <= end:
        frame.dot(crossing, price, "mark crossing", 5.0)
        frame.label(frame.x(crossing), frame.y(price) + 18, f"due at {show_duration(crossing)}", _side(frame, crossing))
    return frame.svg()


def _side(frame: Frame, age: float) -> str:
    return "end" if frame.x(age) > 340 else "start"


def _story(found: Explanation) -> str:
    if math.isnan(found.price):
        return f"The index is {found.index:.3g} now. There is no price yet."
    meets = "never meets it" if math.isinf(found.crossing_age_s) else f"meets it {show_duration(found.crossing_age_s)}"
    after = "" if math.isinf(found.crossing_age_s) else " after the last crawl"
    return f"The index is {found.index:.3g} now, the price {found.price:.3g}; the curve {meets}{after}."
