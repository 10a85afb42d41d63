"""Figures in one house style: the colours of Okabe and Ito, which colour-blind readers can tell apart.

A figure is drawn once and written as PNG and SVG. On a page it stands as SVG whose ink, grid and paper follow the
page's own colours, so that it reads by day and by night.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from recrawl.errors import require

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, GRID, PAPER = "#24292f", "#d8dee4", "#ffffff"
INCHES_WIDE = 7.2
DOTS_PER_INCH = 150


def _style() -> dict[str, Any]:
    from cycler import cycler

    return {
        "axes.axisbelow": True,
        "axes.edgecolor": INK,
        "axes.facecolor": "none",
        "axes.grid": True,
        "axes.labelcolor": INK,
        "axes.labelsize": 10,
        "axes.linewidth": 0.8,
        "axes.prop_cycle": cycler(color=PALETTE),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": INK,
        "axes.titlelocation": "left",
        "axes.titlesize": 10.5,
        "figure.facecolor": PAPER,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 10,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "legend.labelcolor": INK,
        "lines.linewidth": 1.8,
        "lines.solid_capstyle": "round",
        "savefig.facecolor": PAPER,
        "svg.fonttype": "none",
        "svg.hashsalt": "recrawl",
        "text.color": INK,
        "xtick.color": INK,
        "xtick.labelsize": 9,
        "ytick.color": INK,
        "ytick.labelsize": 9,
    }


@dataclass(frozen=True)
class Figure:
    """A drawn figure.

    Parameters
        name: of its files, without suffix
        caption: what it shows and what to see in it
        picture: the matplotlib figure
    """

    name: str
    caption: str
    picture: Any

    def save(self, directory: Path) -> tuple[Path, Path]:
        """Write PNG and SVG into a directory; returns both paths."""
        png, svg = directory / f"{self.name}.png", directory / f"{self.name}.svg"
        with _matplotlib().rc_context(_style()):
            self.picture.savefig(png, dpi=DOTS_PER_INCH, metadata={"Software": None})
        svg.write_text(self.svg, encoding="utf-8")
        return png, svg

    @cached_property
    def svg(self) -> str:
        """The figure as a stand-alone SVG document, the same bytes each time."""
        out = io.StringIO()
        with _matplotlib().rc_context(_style()):
            self.picture.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        return out.getvalue()

    def inline_svg(self) -> str:
        """The figure as an SVG element for a page: its colours follow the page, its ids do not clash."""
        text = self.svg
        text = text[text.index("<svg") :]
        text = re.sub(
            r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" role="img">', text, count=1, flags=re.S
        )
        text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
        text = re.sub(r'\bid="', f'id="{self.name}-', text)
        text = re.sub(r'(xlink:href="#|href="#|url\(#)', rf"\1{self.name}-", text.replace("xlink:href", "href"))
        text = text.replace("'DejaVu Sans'", "inherit")
        for colour, variable in ((INK, "currentColor"), (GRID, "var(--grid)"), (PAPER, "var(--paper)")):
            text = text.replace(colour, variable)
        return text


def _matplotlib() -> Any:
    matplotlib = require("matplotlib", "drawing figures", "lab")
    matplotlib.use("agg")
    return matplotlib


def draw(
    name: str,
    caption: str,
    painter: Callable[[Any], None],
    *,
    rows: int = 1,
    columns: int = 1,
    height: float = 3.6,
    share_x: bool = False,
    share_y: bool = False,
) -> Figure:
    """Draw a figure: `painter` gets the axes (an array of them where there are several) under the house style.

    `height` is in inches; the width is the same for all, so that figures stack neatly.
    """
    matplotlib = _matplotlib()
    figures = require("matplotlib.figure", "drawing figures", "lab")
    with matplotlib.rc_context(_style()):
        picture = figures.Figure(figsize=(INCHES_WIDE, height), layout="constrained")
        painter(picture.subplots(rows, columns, sharex=share_x, sharey=share_y))
    return Figure(name, caption, picture)
