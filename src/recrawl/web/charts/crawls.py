"""The crawls of a source on a time line: one shape per outcome."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from recrawl.store.records import Crawl
from recrawl.web.charts.frame import BOTTOM, RIGHT, TOP, WIDTH, Frame, clock_ticks

HEIGHT = 104.0
WORDS = {
    "new": "new items",
    "changed": "changed",
    "first": "first look",
    "unchanged": "nothing new",
    "failed": "failed",
    "refused": "refused by robots.txt",
}


def crawl_chart(crawls: Sequence[Crawl], now: float) -> Markup | None:
    """The crawls given, in any order; None if there are none."""
    if not crawls:
        return None
    start = min(crawl.at for crawl in crawls)
    pad = max((now - start) * 0.03, 1.0)
    frame = Frame("Crawls over time", _story(crawls), start - pad, now + pad, 0.0, 1.0, HEIGHT)
    middle = (TOP + HEIGHT - BOTTOM) / 2
    axis = Markup('<line class="axis" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>')
    frame.parts.append(axis.format(frame.left, WIDTH - RIGHT, middle, middle))
    frame.x_ticks(clock_ticks(frame.x0, frame.x1))
    for crawl in sorted(crawls, key=lambda each: each.at):
        frame.parts.append(_mark(crawl, frame.x(crawl.at), middle))
    return frame.svg()


def legend() -> list[tuple[str, Markup]]:
    """Each outcome's name and shape."""
    shapes = []
    for outcome, words in WORDS.items():
        crawl = Crawl(source=0, at=0.0, outcome=outcome, new=1)  # type: ignore[arg-type]
        shape = Markup('<svg class="key" viewBox="0 0 24 24" aria-hidden="true">{}</svg>').format(_mark(crawl, 12, 12))
        shapes.append((words, shape))
    return shapes


def _mark(crawl: Crawl, x: float, y: float) -> Markup:
    """new: a disc that grows with what it brought; changed: a diamond; nothing: a tick; failed: a cross;
    refused: a triangle."""
    if crawl.outcome in ("new", "first"):
        radius = min(3.5 + 1.5 * math.log2(1 + max(crawl.new, 0)), 11.0)
        return Markup('<circle class="mark {}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>').format(
            "new" if crawl.outcome == "new" else "first", x, y, radius
        )
    if crawl.outcome == "changed":
        points = f"{x:.1f},{y - 7:.1f} {x + 7:.1f},{y:.1f} {x:.1f},{y + 7:.1f} {x - 7:.1f},{y:.1f}"
        return Markup('<polygon class="mark new" points="{}"/>').format(points)
    if crawl.outcome == "unchanged":
        return Markup('<line class="mark same" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>').format(
            x, y - 6, y + 6
        )
    if crawl.outcome == "refused":
        points = f"{x:.1f},{y - 6:.1f} {x + 6:.1f},{y + 5:.1f} {x - 6:.1f},{y + 5:.1f}"
        return Markup('<path class="mark bad" d="M{}z"/>').format(points)
    return Markup('<path class="mark bad" d="M{:.1f} {:.1f}l9 9m0 -9l-9 9"/>').format(x - 4.5, y - 4.5)


def _story(crawls: Sequence[Crawl]) -> str:
    counts = {outcome: sum(crawl.outcome == outcome for crawl in crawls) for outcome in WORDS}
    return f"{len(crawls)} crawls: " + ", ".join(f"{n} {WORDS[o]}" for o, n in counts.items() if n) + "."
