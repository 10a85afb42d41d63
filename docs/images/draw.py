"""Draw the pictures of the documentation: ``python docs/images/draw.py``; `make pictures` draws the web page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import recrawl
from recrawl.report.figures import GRID, INK, PALETTE, Figure, draw

KINDS = (("news wire", 8.6, 1.1), ("busy blog", 7.2, 0.34), ("forum", 5.6, 0.21), ("archive", 1.9, 0.15))
PRICE, HOURS, HIGHEST = 2.6, 14.0, 10.0


def index_and_price() -> Figure:
    """Index curves, the price, and where they meet."""
    caption = (
        "Every source has an index that grows with the time since its last fetch. It is fetched when the index reaches "
        "the price: the news wire every hour, the forum every seven and a half, the archive never at this budget."
    )
    return draw("index-and-price", caption, _paint, height=3.9)


def _paint(axes: Any) -> None:
    axes.axhspan(PRICE, HIGHEST, color=GRID, alpha=0.45, linewidth=0)
    axes.axhline(PRICE, color=INK, linestyle="--", linewidth=1.4)
    for colour, (label, value, rate) in zip(PALETTE, KINDS, strict=False):
        _curve(axes, colour, label, value, rate)
    axes.text(HOURS - 0.1, PRICE + 0.08, "price, set by the budget", ha="right", fontsize=9.5)
    axes.text(0.15, HIGHEST - 0.25, "above the price: worth a fetch", va="top", fontsize=9.5, style="italic")
    axes.set(xlabel="hours since the last fetch", ylabel="index: worth of a fetch now", xlim=(0, HOURS))
    axes.set_ylim(0, HIGHEST)


def _curve(axes: Any, colour: str, label: str, value: float, rate: float) -> None:
    age = np.linspace(0.0, HOURS, 561)
    curve = np.asarray(recrawl.continuous_index(value, rate, age))
    axes.plot(age, curve, color=colour)
    near = {"textcoords": "offset points", "color": colour, "fontsize": 9.5}
    meets = float(recrawl.crossing_age(value, rate, PRICE))
    if np.isfinite(meets):
        axes.plot([meets, meets], [0, PRICE], color=colour, linewidth=1, linestyle=":")
        axes.plot([meets], [PRICE], "o", color=colour, markersize=7, zorder=5)
        axes.annotate(f"every {meets:.1f} h", (meets, PRICE), xytext=(7, -14), **near)
    axes.annotate(label, (age[-1], curve[-1]), xytext=(6, -3), **near)


if __name__ == "__main__":
    index_and_price().save(Path(__file__).parent)
