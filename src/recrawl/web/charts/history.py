"""One number over time: the price, what a fetch brought, what was spent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from recrawl.web.charts.frame import Frame, clock_ticks

MOST_POINTS = 240


def history_chart(
    title: str,
    times: Sequence[float],
    values: Sequence[float],
    name: str = "price",
    level: float = math.nan,
    level_label: str = "",
) -> Markup | None:
    """A line over Unix times, thinned by averaging, from zero; None without two known values."""
    times, values = thinned(times, values)
    known = [value for value in values if math.isfinite(value)]
    if len(known) < 2:
        return None
    top = max([*known, level if math.isfinite(level) else 0.0])
    story = f"From {known[0]:.3g} to {known[-1]:.3g}; lowest {min(known):.3g}, highest {max(known):.3g}."
    frame = Frame(title, story, times[0], times[-1], 0.0, 1.12 * top or 1.0, 170.0)
    frame.y_axis()
    frame.x_ticks(clock_ticks(frame.x0, frame.x1))
    frame.band(times, [0.0] * len(times), values, f"area {name}")
    frame.line(times, values, f"line {name}")
    frame.level(level, "level price", level_label)
    return frame.svg()


def thinned(
    times: Sequence[float], values: Sequence[float], most: int = MOST_POINTS
) -> tuple[Sequence[float], Sequence[float]]:
    """At most so many points, each the mean of its neighbours.

    >>> thinned([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0], most=2)
    ([0.5, 2.5], [2.0, 6.0])
    """
    if len(times) <= most:
        return times, values
    size = math.ceil(len(times) / most)
    places = range(0, len(times), size)
    return [_mean(times[k : k + size]) for k in places], [_mean(values[k : k + size]) for k in places]


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan
