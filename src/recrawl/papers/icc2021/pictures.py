"""Figures 1 to 4 of the paper, with the lines it lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from recrawl.papers.icc2021.runs import Curves
from recrawl.papers.icc2021.setting import LINES, MOVING_WINDOW, in_the_paper
from recrawl.records import FloatArray
from recrawl.report import Figure, draw
from recrawl.report.figures import INK, PALETTE
from recrawl.sim.metrics import interval95, moving_average, running_average

# Of the slots, as many as a figure can show.
SHOWN_POINTS = 250
COLOURS = {
    "drl": PALETTE[1],
    "hybrid": PALETTE[1],
    "thompson": PALETTE[0],
    "thompson-importance": PALETTE[0],
    "static-groups": PALETTE[2],
    "static": PALETTE[2],
    "uniform": PALETTE[3],
    "greedy": PALETTE[5],
    "whittle": INK,
    "ours": PALETTE[4],
}
TITLES = {"one-page": "one page in each group", "groups": "100 pages in four groups"}


def figure(number: int, example: str, curves: Mapping[str, Curves], bound: float, steps: int) -> Figure:
    """One of the four: running averages (1, 2) or moving averages (3, 4), mean over runs with a 95 % band."""
    moving = number > 2
    average: Callable[[FloatArray], FloatArray] = (
        (lambda rewards: moving_average(rewards, MOVING_WINDOW)) if moving else running_average
    )
    start = MOVING_WINDOW if moving else 1
    shown = np.unique(np.linspace(start, steps - 1, SHOWN_POINTS).astype(int))

    def paint(axes: Any) -> None:
        for name, curve in curves.items():
            line = LINES[name]
            values = average(curve.rewards[:, :steps])[:, shown]
            drawn_there = in_the_paper(name, example)
            style = "-" if drawn_there else "--"
            axes.plot(shown, values.mean(axis=0), style, color=COLOURS[name], label=line.label, linewidth=1.4)
            bands = [interval95(values[:, place]) for place in range(len(shown))] if drawn_there else [None]
            if None not in bands:
                low, high = np.array(bands).T
                axes.fill_between(shown, low, high, color=COLOURS[name], alpha=0.15, linewidth=0)
        axes.axhline(bound, color=INK, linestyle=":", linewidth=1.0, label="dual bound")
        axes.set(xlabel="slot", ylabel="reward per slot", xlim=(0, steps), ylim=(0, 1.15 * bound))
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)

    kind = f"moving average over {MOVING_WINDOW} slots" if moving else "running average"
    caption = (
        f"Figure {number}. {kind.capitalize()} of the reward, {TITLES[example]}: mean over "
        f"{len(next(iter(curves.values())).rewards)} runs, with its 95 % interval for the paper's own lines. Dashed "
        "lines are not in the paper; those marked “pages” choose single pages, the others groups."
    )
    return draw(f"icc2021-figure-{number}", caption, paint, height=3.9)
