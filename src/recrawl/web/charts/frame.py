"""The frame of a chart: scales, ticks and grid, and the few shapes drawn inside it. Lengths are in SVG user units.

Charts shrink with the page, and the style sheet gives them larger letters on a phone. Texts are placed for those: they
have room there, and more than enough of it elsewhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from markupsafe import Markup, escape

from recrawl.units import show_duration

WIDTH, HEIGHT = 480.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 18.0, 30.0
LETTER, BOLD_LETTER, ASCENT, DESCENT = 11.0, 12.0, 16.0, 5.0
"""The room a letter takes at most, across, and above and below its line."""
_STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000,
            864000, 2592000, 7776000, 31536000)  # fmt: skip
DAY_S = 86400.0
MOST_TICKS = 60
_numbers = itertools.count(1)


@dataclass
class Frame:
    """A plot of [x0, x1] × [y0, y1]; `parts` are the shapes drawn so far."""

    title: str
    story: str
    x0: float
    x1: float
    y0: float
    y1: float
    height: float = HEIGHT
    left: float = LEFT
    """Where the plot begins: after the numbers of its axis."""
    parts: list[Markup] = field(default_factory=list)
    labels: list[tuple[float, float, float, float]] = field(default_factory=list)
    """Boxes of the labels so far: left, top, right, bottom."""

    def __post_init__(self) -> None:
        if not self.x1 > self.x0:
            self.x1 = self.x0 + 1.0
        if not self.y0 < self.y1 < math.inf:
            self.y1 = self.y0 + 1.0

    def x(self, value: float) -> float:
        """Where a value lies from the left; outside values lie at the edge."""
        share = (min(max(value, self.x0), self.x1) - self.x0) / (self.x1 - self.x0)
        return self.left + share * (WIDTH - self.left - RIGHT)

    def y(self, value: float) -> float:
        """Where a value lies from the top."""
        share = (min(max(value, self.y0), self.y1) - self.y0) / (self.y1 - self.y0)
        return self.height - BOTTOM - share * (self.height - TOP - BOTTOM)

    def line(self, xs: Sequence[float], ys: Sequence[float], name: str) -> None:
        """A line through points; a gap where a value is not known."""
        path, drawing = [], False
        for x, y in zip(xs, ys, strict=True):
            if math.isfinite(x) and math.isfinite(y):
                path.append(f"{'L' if drawing else 'M'}{self.x(x):.1f} {self.y(y):.1f}")
            drawing = math.isfinite(x) and math.isfinite(y)
        self.parts.append(Markup('<path class="{}" d="{}"/>').format(name, "".join(path)))

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], name: str) -> None:
        """The area between two lines."""
        known = [(x, a, b) for x, a, b in zip(xs, low, high, strict=True) if math.isfinite(a) and math.isfinite(b)]
        if len(known) < 2:
            return
        there = " ".join(f"{self.x(x):.1f},{self.y(b):.1f}" for x, _, b in known)
        back = " ".join(f"{self.x(x):.1f},{self.y(a):.1f}" for x, a, _ in reversed(known))
        self.parts.append(Markup('<polygon class="{}" points="{} {}"/>').format(name, there, back))

    def level(self, value: float, name: str, label: str = "", *, below: bool = False) -> None:
        """A line across, with its name at the right, above or below it."""
        if not math.isfinite(value):
            return
        y = self.y(value)
        self.parts.append(
            Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
                name, self.left, WIDTH - RIGHT, y, y
            )
        )
        if label:
            place = y + 15 if (below and self.has_room_below(y)) or y <= TOP + 14 else y - 5
            self.label(WIDTH - RIGHT, place, label, "end")

    def has_room_below(self, y: float) -> bool:
        """Whether a label fits between a place and the names below the plot."""
        return y + 20 <= self.height - BOTTOM

    def upright(self, value: float, name: str, label: str = "") -> None:
        """A line upwards, with its name at the top."""
        x = self.x(value)
        self.parts.append(
            Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
                name, x, x, TOP, self.height - BOTTOM
            )
        )
        if label:
            anchor = "end" if x > WIDTH * 0.6 else "start"
            self.label(x + (-4 if anchor == "end" else 4), TOP + 4, label, anchor)

    def dot(self, x: float, y: float, name: str, radius: float = 4.0) -> None:
        """A round mark."""
        self.parts.append(
            Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"/>').format(name, self.x(x), self.y(y), radius)
        )

    def label(self, x: float, y: float, text: str, anchor: str = "start") -> None:
        """Text at a place in user units, or as near to it as it neither leaves the plot nor meets another label."""
        wide = BOLD_LETTER * len(text)
        start = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        x += min(max(start, self.left), max(WIDTH - RIGHT - wide, self.left)) - start
        start = min(max(start, self.left), max(WIDTH - RIGHT - wide, self.left))
        high = ASCENT + DESCENT
        for step in (0, 1, -1, 2, -2, 3, -3, 4, -4):
            place = y + step * high
            box = (start, place - ASCENT, start + wide, place + DESCENT)
            if (
                box[1] >= 0.0
                and box[3] <= self.height - BOTTOM + DESCENT
                and not any(_meet(box, b) for b in self.labels)
            ):
                y = place
                self.labels.append(box)
                break
        self.parts.append(
            Markup('<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, text)
        )

    def y_axis(self, unit: str = "") -> None:
        """A few round numbers with grid lines, beneath everything; called first, since the plot begins after them."""
        values = [(value, f"{value:.4g}{unit}") for value in round_values(self.y0, self.y1)]
        self.left = max(LEFT, 8.0 + LETTER * max(len(text) for _, text in values))
        marks = []
        for value, text in values:
            y = self.y(value)
            marks.append(
                Markup('<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
                    self.left, WIDTH - RIGHT, y, y
                )
                + Markup('<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>').format(
                    self.left - 6, y + 4, text
                )
            )
        self.parts[:0] = marks

    def x_ticks(self, places: Sequence[tuple[float, str]]) -> None:
        """Names below the plot, those that would overlap left out."""
        last = -math.inf
        for value, text in places:
            x, wide = self.x(value), LETTER * len(text)
            if x - wide / 2 < last or x + wide / 2 > WIDTH:
                continue
            last = x + wide / 2 + 6
            self.parts.append(
                Markup('<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>').format(
                    x, self.height - 8, text
                )
            )

    def svg(self) -> Markup:
        """The finished chart."""
        name = f"chart-{next(_numbers)}"
        head = Markup(
            '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-labelledby="{}-t {}-d">'
            '<title id="{}-t">{}</title><desc id="{}-d">{}</desc>'
        ).format(f"{WIDTH:.0f}", f"{self.height:.0f}", name, name, name, escape(self.title), name, escape(self.story))
        return head + Markup("").join(self.parts) + Markup("</svg>")


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def round_values(low: float, high: float, about: int = 4) -> list[float]:
    """A few round numbers in an interval.

    >>> round_values(0.0, 10.0)
    [0.0, 2.5, 5.0, 7.5, 10.0]
    """
    raw = (high - low) / about
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * each for each in (1.0, 2.0, 2.5, 5.0, 10.0) if size * each >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [step * k for k in range(first, first + about + 2) if step * k <= high + 1e-9 * step]


def step_s(span: float, about: int = 5) -> float:
    """A step of time that divides a span into about so many."""
    return float(next((each for each in _STEPS_S if each * about >= span), _STEPS_S[-1] * math.ceil(span / 31536000)))


def clock_ticks(start: float, end: float) -> list[tuple[float, str]]:
    """Times of day, or dates, between two Unix times, in UTC."""
    step = step_s(end - start)
    first = math.ceil(start / step) * step
    count = int((end - first) / step) + 1
    shape = "%H:%M:%S" if step < 60 else "%H:%M" if step < 86400 else "%d %b" if step < 7776000 else "%b %Y"
    return [(at, moment(at, shape)) for at in (first + k * step for k in range(min(count, 12)))]


def hour_ticks(start: float, end: float) -> list[tuple[float, str]]:
    """Hours of the day between two Unix times, in UTC, with the date where one begins."""
    step = min(step_s(end - start, about=8), DAY_S)
    first = math.ceil(start / step)
    marks = [k * step for k in range(first, first + MOST_TICKS) if k * step <= end]
    return [(at, moment(at, "%d %b" if at % DAY_S == 0.0 else "%H:%M")) for at in marks]


def age_ticks(end: float) -> list[tuple[float, str]]:
    """Ages from 0, as durations."""
    step = step_s(end)
    return [(k * step, show_duration(k * step) if k else "0") for k in range(int(end / step) + 1)]


def moment(at: float, shape: str) -> str:
    """A Unix time as text, in UTC; empty where no calendar has it."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime(shape)
    except (OverflowError, ValueError, OSError):
        return ""
