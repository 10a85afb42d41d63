"""A source's index against the price: where they meet, it is due.

The curve is the policy's own function, asked at times from the last crawl on. That of a rhythm rises and falls with the
hour of the day, so its hours are marked; the others are drawn by age.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from markupsafe import Markup

from recrawl.crawl.explaining.explanation import Explanation
from recrawl.crawl.explaining.ranking import UNPRICED
from recrawl.records import FloatArray
from recrawl.units import show_duration
from recrawl.web.charts.frame import Frame, age_ticks, hour_ticks, moment

POINTS = 120
HOUR_S, MINUTE_S = 3600.0, 60.0
RHYTHM = "rhythm"
SOME_HOURS_S = 6 * HOUR_S
MOST_HOURS = 14 * 24
"""Beyond so many, turns of the hour are too close to be told apart."""

Index = Callable[[FloatArray], FloatArray]
"""What a fetch is worth at Unix times from the last crawl on."""


def index_chart(found: Explanation, index: Index) -> Markup | None:
    """The curve since the last crawl, with now and the crossing marked; None while there is nothing to draw."""
    if found.state != "active" or found.last is None or not math.isfinite(found.index) or found.form in UNPRICED:
        return None
    by_hour, last, end = found.form == RHYTHM, found.last, _span(found)
    ages = _ages(last, end, by_hour)
    curve = np.asarray(index(last + ages), dtype=np.float64)
    price, finite = found.price, curve[np.isfinite(curve)]
    top = 1.15 * max(float(finite.max(initial=0.0)), price if math.isfinite(price) else 0.0)
    title = f"What a fetch is worth, by {'the hour (UTC)' if by_hour else 'time'} since the last crawl"
    frame = Frame(title, _story(found), 0.0, end, 0.0, top or 1.0, 220)
    frame.y_axis()
    _mark_times(frame, last, end, by_hour)
    frame.line(ages.tolist(), curve.tolist(), "line index")
    if math.isfinite(price):
        frame.level(price, "level price", f"price {price:.3g}", below=bool(curve[-1] > price))
    frame.upright(found.age_s, "upright now", "now")
    frame.dot(found.age_s, found.index, "mark now")
    crossing = found.crossing_age_s
    if math.isfinite(crossing) and crossing <= end:
        frame.dot(crossing, price, "mark crossing", 5.0)
        y = frame.y(price)
        place = y + 18 if frame.has_room_below(y) else y - 12
        frame.label(frame.x(crossing), place, _due(found, by_hour), _side(frame, crossing))
    return frame.svg()


def _span(found: Explanation) -> float:
    """How much to draw: now, the crossing and a little more; of a rhythm at least some hours."""
    crossing, least = found.crossing_age_s, SOME_HOURS_S if found.form == RHYTHM else 60.0
    end = max(1.25 * found.age_s, 1.5 * crossing if math.isfinite(crossing) else 0.0, least)
    return min(end, max(1.2 * found.max_age_s, 1.25 * found.age_s))


def _ages(last: float, end: float, by_hour: bool) -> FloatArray:
    """Where the curve is asked; of a rhythm also on both sides of every turn of the hour."""
    ages = np.linspace(0.0, end, POINTS)
    if not by_hour or end > MOST_HOURS * HOUR_S:
        return ages
    turns = np.arange(math.ceil(last / HOUR_S), math.floor((last + end) / HOUR_S) + 1) * HOUR_S - last
    around = np.concatenate([turns - 1.0, turns])
    return np.unique(np.concatenate([ages, around[(around > 0.0) & (around < end)]]))


def _mark_times(frame: Frame, last: float, end: float, by_hour: bool) -> None:
    if not by_hour:
        frame.x_ticks(age_ticks(end))
        return
    ticks = [(at - last, text) for at, text in hour_ticks(last, last + end)]
    for age, _ in ticks:
        frame.upright(age, "grid")
    frame.x_ticks(ticks)


def _due(found: Explanation, by_hour: bool) -> str:
    """When the curve meets the price: at a time of day, to the minute, or an age."""
    minute = round(found.worth_at / MINUTE_S) * MINUTE_S
    return f"due at {moment(minute, '%H:%M') if by_hour else show_duration(found.crossing_age_s)}"


def _side(frame: Frame, age: float) -> str:
    return "end" if frame.x(age) > 340 else "start"


def _story(found: Explanation) -> str:
    if math.isnan(found.price):
        return f"The index is {found.index:.3g} now. There is no price yet."
    meets = "never meets it" if math.isinf(found.crossing_age_s) else f"meets it {show_duration(found.crossing_age_s)}"
    after = "" if math.isinf(found.crossing_age_s) else " after the last crawl"
    return f"The index is {found.index:.3g} now, the price {found.price:.3g}; the curve {meets}{after}."
