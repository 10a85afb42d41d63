"""The figures of the paper and those that explain its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recrawl.kernels.slotted_index import whittle_index, whittle_index_after
from recrawl.kernels.stochastic_index import StochasticIndex
from recrawl.records import FloatArray, Sources
from recrawl.report import Figure, draw
from recrawl.report.figures import GRID, INK, PALETTE
from recrawl.sim.result import SimulationResult

SHOWN_SLOTS = 40
LEAST_LOSS = 1e-3  # per cent; what a window of finite length can tell from none
MARKERS = ("o", "s", "^", "D")


def content_value(sources: Sources) -> Figure:
    """Figure 1: what an item is worth, by its age."""
    age = np.linspace(0.0, 15.0, 301)

    def paint(axes: Any) -> None:
        for i in range(len(sources)):
            axes.plot(age, sources.interest[i] * np.exp(-sources.decay_rate[i] * age), label=f"source {i + 1}")
        axes.set(xlabel="age of an item, slots", ylabel="interest in it", xlim=(0, 15), ylim=(0, None))
        axes.legend()

    caption = (
        "Figure 1. Content value as a function of time: interest in an item of each source of Table I, by its age."
    )
    return draw("tcns2018-figure-1", caption, paint, height=3.2)


def evolution(name: str, title: str, run: SimulationResult, model: str) -> Figure:
    """Figures 2 to 4: the worth of every source over the first slots, crawls marked."""
    slots = np.arange(SHOWN_SLOTS)
    states, actions = run.states[:SHOWN_SLOTS], run.actions[:SHOWN_SLOTS]

    def paint(panels: Any) -> None:
        for i, axes in enumerate(panels):
            crawled = actions[:, i]
            axes.plot(slots, states[:, i], color=PALETTE[i], linewidth=1.3)
            axes.plot(slots[crawled], states[crawled, i], MARKERS[i], color=PALETTE[i], markersize=4.5)
            axes.set_title(f"source {i + 1}: crawled in {run.crawl_share[i]:.0%} of the slots", fontsize=9)
            axes.set(ylim=(0, 1.15 * states[:, i].max()), xlim=(-0.5, SHOWN_SLOTS - 0.5))
        panels[-1].set_xlabel("slot")
        panels[0].figure.supylabel("worth X of what a crawl would bring", fontsize=9.5)

    caption = f"{title} ({model}): worth of each source before crawling, over the first slots; a mark is a crawl."
    return draw(name, caption, paint, rows=states.shape[1], height=5.6, share_x=True)


def indices(sources: Sources, price: float) -> Figure:
    """The index of every source against the price of a crawl."""
    slots = np.arange(0, 13)

    def paint(axes: Any) -> None:
        for i in range(len(sources)):
            values = whittle_index_after(sources, np.tile(slots[:, None], len(sources)))[:, i]
            axes.plot(slots, values, marker=MARKERS[i], markersize=4, label=f"source {i + 1}")
        axes.axhline(price, color=INK, linestyle="--", linewidth=1.2)
        axes.annotate(f"price {price:.2f}", (12, price), xytext=(0, 4), textcoords="offset points", ha="right")
        axes.set(xlabel="slots since the crawl", ylabel="Whittle index", xlim=(0, 12.2), ylim=(0, None))
        axes.legend(loc="upper left")

    caption = (
        "The index of each source by the slots since its crawl, and the price at which M = 1 is spent: sources 1 and 2 "
        "reach it after two slots and so are crawled every second slot, 3 and 4 never do."
    )
    return draw("tcns2018-index", caption, paint, height=3.6)


def prices(paths: Mapping[str, FloatArray], low: float, high: float) -> Figure:
    """λ(k) of (22) over the slots, and the prices that minimise the dual function."""

    def paint(axes: Any) -> None:
        axes.axhspan(low, high, color=GRID, linewidth=0, label="prices that minimise the dual")
        for place, (label, path) in enumerate(paths.items()):
            shown = np.unique(np.geomspace(1, len(path), 600).astype(int)) - 1
            axes.plot(shown + 1, path[shown], "--" if "index" in label else "-", color=PALETTE[place], label=label)
        axes.set(xscale="log", xlabel="slot k", ylabel="price λ(k)", ylim=(0, 1.5 * high))
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)

    caption = (
        f"λ(k) of (22) at M = 1. The band, {low:.2f} to {high:.2f}, holds every price that minimises the dual. "
        "With thresholds (21) λ(k) settles below it, with the index inside."
    )
    return draw("tcns2018-multiplier", caption, paint, height=3.4)


def stochastic_indices(sources: Sources, tables: Mapping[str, Sequence[StochasticIndex]]) -> Figure:
    """Theorem 1 beside the index of the random model, for the two sources that matter at M = 1."""

    def paint(panels: Any) -> None:
        for i, axes in enumerate(panels):
            worth = np.linspace(0.0, 1.6 * sources.ceiling[i], 401)
            padded = np.zeros((len(worth), len(sources)))
            padded[:, i] = worth
            axes.plot(worth, whittle_index(sources, padded)[:, i], color=GRID, linewidth=5, label="Theorem 1")
            for colour, width, (title, each) in zip(PALETTE, (2.6, 1.2, 1.8), tables.items(), strict=False):
                axes.plot(worth, np.asarray(each[i](worth)), color=colour, linewidth=width, label=title)
            axes.axvline(sources.ceiling[i], color=INK, linewidth=0.8, linestyle=":")
            axes.set(xlabel="worth X", title=f"source {i + 1}", xlim=(0, worth[-1]), ylim=(0, None))
        panels[0].set_ylabel("index")
        panels[0].legend()

    caption = (
        "The index of the random model against Theorem 1, for sources 1 and 2; the dotted line is u*. A little "
        "randomness rounds off the corners of Theorem 1. One exponential value per epoch makes middling worths dearer "
        "and high ones cheaper."
    )
    return draw("tcns2018-stochastic-index", caption, paint, columns=2, height=3.4)


def differences(rows: Sequence[tuple[str, float, tuple[float, float]]]) -> Figure:
    """Paired differences from greedy with their intervals, each in its own panel because their sizes differ."""

    def paint(axes: Any) -> None:
        for place, (_, middle, (low, high)) in enumerate(rows):
            colour = PALETTE[2] if low > 0 else PALETTE[1] if high < 0 else INK
            axes.plot([low, high], [place, place], color=colour, linewidth=3)
            axes.plot([middle], [place], "o", color=colour)
            side = -1 if middle < 0 else 1
            axes.annotate(
                f"{middle:+.2f}".replace("-", "−"),
                (high if side > 0 else low, place),
                xytext=(8 * side, 0),
                textcoords="offset points",
                ha="left" if side > 0 else "right",
                va="center",
                fontsize=9,
            )
        axes.axvline(0.0, color=INK, linewidth=1)
        axes.set_xscale("symlog", linthresh=0.1)
        axes.set_xticks([-10, -1, -0.1, 0, 0.1, 1, 10], ["−10", "−1", "−0.1", "0", "0.1", "1", "10"])
        axes.minorticks_off()
        axes.set_yticks(range(len(rows)), [label for label, _, _ in rows])
        axes.set(xlabel="reward per slot minus that of greedy (log scale beyond ±0.1)", ylim=(len(rows) - 0.5, -0.5))
        axes.set_xlim(-100, 300)

    caption = (
        "Differences from the greedy policy in the same random worlds, with 95 % intervals; green is better than "
        "greedy, orange worse."
    )
    return draw("tcns2018-differences", caption, paint, height=0.34 * len(rows) + 1.2)


def asymptotics(curves: Mapping[str, tuple[FloatArray, FloatArray]]) -> Figure:
    """What share of the dual bound is lost, as the number of sources and the budget grow together."""

    def paint(axes: Any) -> None:
        for marker, (label, (sizes, lost)) in zip(MARKERS, curves.items(), strict=False):
            axes.loglog(sizes, np.maximum(100 * lost, LEAST_LOSS), marker=marker, markersize=4.5, label=label)
        axes.set(xlabel="sources N", ylabel="lost of the dual bound, %")
        axes.legend()

    caption = (
        "What each policy loses against the exact dual bound as sources and budget grow together. The index policy's "
        "loss vanishes (asymptotic optimality), the others' does not; losses below 0.001 % are drawn there."
    )
    return draw("tcns2018-asymptotic", caption, paint, height=3.6)
