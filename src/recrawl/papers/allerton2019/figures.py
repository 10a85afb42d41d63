"""The figures of the report on allerton2019."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from recrawl.papers.allerton2019.runs import TRACE_EVERY, LearnerRuns
from recrawl.records import Sources
from recrawl.report import Figure, draw
from recrawl.report.figures import INK, PALETTE
from recrawl.sim.metrics import moving_average

WINDOW = 200
POINTS = 100


def _reference_lines(axes: Any, lines: Mapping[str, float]) -> None:
    for name, value in lines.items():
        axes.axhline(value, color=INK, linewidth=0.8, linestyle=":")
        axes.annotate(name, (1.0, value), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)


def distribution(found: Mapping[str, LearnerRuns], lines: Mapping[str, float]) -> Figure:
    """One dot per seed."""

    def paint(axes: Any) -> None:
        for place, runs in enumerate(found.values()):
            reward = np.sort(runs.reward_per_run)
            spread = place + 0.36 * (np.arange(len(reward)) / max(1, len(reward) - 1) - 0.5)
            axes.plot(spread, reward, "o", markersize=4, color=PALETTE[place % 2], alpha=0.8)
            axes.plot([place - 0.25, place + 0.25], [reward.mean()] * 2, color=INK, linewidth=1.5)
        _reference_lines(axes, lines)
        axes.set_xticks(range(len(found)), list(found), fontsize=8)
        axes.set_ylabel("reward per slot")
        axes.set_ylim(bottom=0.0)
        axes.grid(axis="x", visible=False)

    caption = (
        "One dot per seed, bars at the means. With a soft budget raw worths make a lottery and worths in [0, 1] do "
        "not; with a hard one the drawn start decides."
    )
    return draw("allerton2019-distribution", caption, paint, height=4.2)


def sharpness(curves: Mapping[str, tuple[list[float], list[LearnerRuns]]]) -> Figure:
    """Reward, arms and their dispersion from slot to slot against κ."""

    def paint(axes: Any) -> None:
        for colour, (name, (kappas, found)) in zip(PALETTE, curves.items(), strict=False):
            for panel, per_run in zip(axes, ("reward_per_run", "engaged_per_run", "dispersion_per_run"), strict=True):
                values = np.array([getattr(runs, per_run) for runs in found])
                panel.plot(kappas, values.mean(axis=1), "o-", color=colour, label=name, markersize=4)
                panel.fill_between(
                    kappas, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.15, linewidth=0
                )
        axes[0].set(xscale="log", xlabel="κ", ylabel="reward per slot", ylim=(0, None))
        axes[1].set(xscale="log", xlabel="κ", ylabel="arms engaged", ylim=(0, None))
        axes[2].set(xscale="log", xlabel="κ", ylabel="their dispersion", ylim=(0, None))
        axes[0].legend(loc="lower left")

    caption = (
        "Mean over seeds, band from the least to the most; the printed reading. Dispersion is the standard deviation "
        "of the number of arms from slot to slot. The paper's choice is κ = 2."
    )
    return draw("allerton2019-sharpness", caption, paint, columns=3, height=2.8)


def learning_curves(found: Mapping[str, LearnerRuns], lines: Mapping[str, float]) -> Figure:
    """Reward over time."""

    def paint(axes: Any) -> None:
        for panel, (name, runs) in zip(axes.ravel(), found.items(), strict=True):
            smooth = moving_average(runs.rewards, WINDOW)
            slots = np.unique(np.linspace(WINDOW - 1, smooth.shape[1] - 1, POINTS).astype(int))
            panel.plot(slots, smooth[:, slots].T, color=PALETTE[0], linewidth=0.5, alpha=0.4)
            panel.plot(slots, smooth[:, slots].mean(axis=0), color=PALETTE[1])
            _reference_lines(panel, lines)
            panel.set_title(name)
            panel.set_ylim(bottom=0.0)
        for panel in axes[:, 0]:
            panel.set_ylabel("reward per slot")
        for panel in axes[1]:
            panel.set_xlabel("slot")

    caption = (
        f"One thin line per seed (mean of the last {WINDOW} slots), their mean thick. With raw worths a run jumps "
        "between a few levels, one for each set of thresholds at u, and in the end stays at one of them."
    )
    return draw("allerton2019-learning", caption, paint, rows=2, columns=2, height=5.2, share_x=True, share_y=True)


def threshold_paths(found: Mapping[str, LearnerRuns], sources: Sources) -> Figure:
    """Thresholds over time, as a share of the way from u to u*."""

    def paint(axes: Any) -> None:
        span = sources.ceiling - sources.inflow
        for panel, (name, runs) in zip(axes.ravel(), found.items(), strict=True):
            share = ((runs.thresholds - sources.inflow) / span).mean(axis=0)
            slots = TRACE_EVERY * np.arange(len(share))
            for i in range(len(sources)):
                panel.plot(slots, share[:, i], label=f"source {i + 1}", linewidth=1.2)
            panel.set_title(name)
            panel.set_ylim(-0.05, 1.05)
        for panel in axes[:, 0]:
            panel.set_ylabel("(T − u)/(u* − u)")
        for panel in axes[1]:
            panel.set_xlabel("slot")
        axes[0, 0].legend(loc="lower right", ncols=2)

    caption = (
        f"Where thresholds are, averaged over seeds, every {TRACE_EVERY} slots. With worths in [0, 1] the printed "
        "reward sends those of sources 1 and 2 to u*, the collected one that of source 1 to u."
    )
    return draw("allerton2019-thresholds", caption, paint, rows=2, columns=2, height=4.8, share_x=True, share_y=True)
