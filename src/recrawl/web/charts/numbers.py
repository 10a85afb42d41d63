"""The number that is watched on a page over time: a step wherever it became another one."""

from __future__ import annotations

from markupsafe import Markup

from recrawl.crawl.reading.number_history import History
from recrawl.crawl.reading.numbers import in_digits
from recrawl.web.charts.frame import Frame, clock_ticks

MOST_STEPS = 240


def number_chart(history: History, now: float) -> Markup | None:
    """A stepped line until now, with a mark at every change; None before the first change."""
    points = history.points[-MOST_STEPS:]
    if len(points) < 2:
        return None
    values = [value for _, value in points]
    xs, ys = [points[0][0]], [values[0]]
    for at, value in points[1:]:
        xs += [at, at]
        ys += [ys[-1], value]
    low, high = min(values), max(values)
    room = 0.15 * (high - low)
    bottom = 0.0 if 0.0 <= low < 0.3 * high else low - room
    frame = Frame(history.name, number_words(history), xs[0], max(now, xs[-1]), bottom, high + room, 170.0)
    frame.y_axis(f" {history.unit}" if history.unit else "")
    frame.x_ticks(clock_ticks(frame.x0, frame.x1))
    frame.line([*xs, frame.x1], [*ys, ys[-1]], "line index")
    for at, value in points:
        frame.dot(at, value, "mark now", 3.0)
    return frame.svg()


def number_words(history: History) -> str:
    """What the curve shows: now, and between what it has been."""
    values = [value for _, value in history.points]
    unit = f" {history.unit}" if history.unit else ""
    said = f"{history.name[:1].upper()}{history.name[1:]}: now {in_digits(values[-1])}{unit}"
    return f"{said}; lowest {in_digits(min(values))}, highest {in_digits(max(values))}, {len(values) - 1} changes."
