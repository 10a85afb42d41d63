"""The lab in seconds: policies side by side on a few hundred simulated sources.

The worlds are random and alike for every policy. `recrawl` starts knowing nothing and learns from what its crawls show;
`oracle` ranks by the same index with the true parameters. What they capture is measured against the exact dual bound.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import recrawl
from recrawl import __version__
from recrawl.papers.progress import Progress
from recrawl.records import FloatArray, Sources
from recrawl.report import Column, Document, Figure, Section, Table, Text, draw
from recrawl.report.figures import GRID, INK, PALETTE
from recrawl.sim.metrics import interval95, moving_average
from recrawl.sim.result import SimulationResult

RANDOM_SOURCES, BUDGET = 300, 12
SLOTS, WARM_UP = 600, 300
MOST_WORLDS = 6
# Name in the report, policy, and what it does.
CONTENDERS = (
    ("recrawl", "learned_whittle", "highest index, learned from its own crawls"),
    ("oracle", "whittle", "highest index, true parameters"),
    ("periodic", "periodic", "each source at its own best fixed period, true parameters"),
    ("greedy", "greedy", "highest expected worth now, true parameters"),
    ("round_robin", "round_robin", "every source in turn"),
)


@dataclass(frozen=True)
class Outcome:
    """What one policy did.

    Parameters
        name: in the report
        says: what it does
        captured: worth per slot once settled, averaged over worlds
        ci95: its 95 % interval over worlds, None for a single world
        fetches: crawls per slot
        course: worth per slot, slot by slot, averaged over worlds
    """

    name: str
    says: str
    captured: float
    ci95: tuple[float, float] | None
    fetches: float
    course: FloatArray


def catalogue(seed: int) -> Sources:
    """The four sources of Table I among hundreds whose rates span orders of magnitude."""
    rng = np.random.default_rng([seed, 304])
    return Sources.ephemeral(
        arrival_rate=np.concatenate([np.full(4, 250.0), rng.lognormal(1.5, 1.4, RANDOM_SOURCES)]),
        interest=np.concatenate([[1.0, 0.7, 0.2, 0.08], rng.uniform(0.1, 1.0, RANDOM_SOURCES)]),
        decay=np.concatenate([[0.7, 0.35, 0.7, 0.21], rng.lognormal(-2.0, 0.8, RANDOM_SOURCES)]),
    )


def compete(sources: Sources, seconds: float, seed: int, progress: Progress) -> list[Outcome]:
    """Every policy in the same worlds, as many of them as the time allows, at least one."""
    began, title = time.monotonic(), "simulating"
    runs: dict[str, list[SimulationResult]] = {name: [] for name, _, _ in CONTENDERS}
    for world in range(MOST_WORLDS):
        for done, (name, policy, _) in enumerate(CONTENDERS):
            spent = (time.monotonic() - began) / seconds
            progress(title, min(0.99, max((world + done / len(CONTENDERS)) / MOST_WORLDS, spent)))
            run = recrawl.simulate(sources, policy, BUDGET, SLOTS, seed=seed + world, noise="poisson")
            runs[name].append(run)
        if (time.monotonic() - began) * (world + 2) / (world + 1) > seconds:
            break
    progress(title, 1.0)
    return [_outcome(name, says, runs[name]) for name, _, says in CONTENDERS]


def _outcome(name: str, says: str, runs: Sequence[SimulationResult]) -> Outcome:
    course = np.concatenate([run.rewards for run in runs])
    settled = course[:, WARM_UP:].mean(axis=1)
    fetches = float(np.mean([run.spend for run in runs]))
    return Outcome(name, says, float(settled.mean()), interval95(settled), fetches, course.mean(axis=0))


def ranking(outcomes: Sequence[Outcome], bound: float) -> Table:
    """Policies, best first."""
    columns = [
        Column("policy"),
        Column("captured per slot", 1),
        Column("of the bound, %", 1),
        Column("fetches per slot", 2),
        Column("captured per fetch", 2),
        Column("", detail=True),
    ]
    rows = [
        (o.name, o.captured, 100 * o.captured / bound, o.fetches, o.captured / o.fetches, o.says)
        for o in sorted(outcomes, key=lambda o: -o.captured)
    ]
    return Table(columns, rows)


def as_json(outcomes: Sequence[Outcome], bound: float, seconds: float) -> dict[str, Any]:
    """The figures in the shape of demo.json; amounts are per slot, and totals over the slots of a world."""
    return {
        "seconds": round(seconds, 3),
        "slots": SLOTS,
        "budget_per_slot": BUDGET,
        "bound_per_slot": bound,
        "fetches": round(sum(o.fetches for o in outcomes) * SLOTS),
        "policies": {o.name: {"captured": o.captured, "per_fetch": o.captured / o.fetches} for o in outcomes},
    }


def report(sources: Sources, outcomes: Sequence[Outcome], bound: recrawl.kernels.price.RelaxedBound) -> Document:
    """The page the demo leaves behind."""
    by_name = {o.name: o for o in outcomes}
    ours, plain = by_name["recrawl"], by_name["round_robin"]
    lead = (
        f"{len(sources)} sources, {BUDGET} fetches a slot. Learning as it goes, recrawl captured "
        f"{100 * ours.captured / bound.value:.1f} % of what no policy can exceed; fetching in turn captured "
        f"{100 * plain.captured / bound.value:.1f} %."
    )
    table = ranking(outcomes, bound.value)
    caption = f"Worth captured per slot after {WARM_UP} slots; the exact dual bound is {bound.value:.1f}."
    return Document(
        "recrawl: what every fetch brings",
        lead,
        [
            Section(
                "Policies side by side", [Table(table.columns, table.rows, caption), _courses(outcomes, bound.value)]
            ),
            Section("Why: the index and the price", [Text(WHY), index_and_price()]),
        ],
        footer=f"recrawl {__version__}; recrawl demo",
    )


WHY = (
    "Each source's index is the price at which crawling it now is exactly worth it. It grows with the time since its "
    "last crawl, fast where much is published and steep where it fades soon. One price for the whole catalogue is set "
    "by the budget, and a source is crawled when its index reaches it."
)


def _courses(outcomes: Sequence[Outcome], bound: float) -> Figure:
    def paint(axes: Any) -> None:
        for colour, each in zip(PALETTE, outcomes, strict=False):
            axes.plot(moving_average(each.course, 25), color=colour, label=each.name)
        axes.axhline(bound, color=INK, linestyle="--", linewidth=1, label="dual bound")
        axes.set(xlabel="slot", ylabel="worth captured per slot", xlim=(0, SLOTS), ylim=(0, 1.3 * bound))
        axes.legend(ncols=3, loc="upper right")

    caption = (
        "Worth captured per slot, averaged over the last 25 slots. recrawl starts with no knowledge of any source."
    )
    return draw("demo-courses", caption, paint)


def index_and_price(name: str = "index-and-price") -> Figure:
    """The picture that explains recrawl: index curves, the price, and where they meet."""
    kinds = (("news wire", 8.6, 1.1), ("busy blog", 7.2, 0.34), ("forum", 5.6, 0.21), ("archive", 1.9, 0.15))
    price, age = 2.6, np.linspace(0.0, 14.0, 561)

    def paint(axes: Any) -> None:
        axes.axhspan(price, 10.0, color=GRID, alpha=0.45, linewidth=0)
        axes.axhline(price, color=INK, linestyle="--", linewidth=1.4)
        for colour, (label, value, rate) in zip(PALETTE, kinds, strict=False):
            _one_curve(axes, colour, label, value, rate, price, age)
        axes.text(13.9, price + 0.08, "price, set by the budget", ha="right", fontsize=9.5)
        axes.text(0.15, 9.75, "above the price: worth a fetch", va="top", fontsize=9.5, style="italic")
        axes.set(xlabel="hours since the last fetch", ylabel="index: worth of a fetch now", xlim=(0, 14), ylim=(0, 10))

    caption = (
        "Every source has an index that grows with the time since its last fetch. It is fetched when the index reaches "
        "the price: the news wire every hour, the forum every seven and a half, the archive never at this budget."
    )
    return draw(name, caption, paint, height=3.9)


def _one_curve(axes: Any, colour: str, label: str, value: float, rate: float, price: float, age: FloatArray) -> None:
    curve = np.asarray(recrawl.continuous_index(value, rate, age))
    axes.plot(age, curve, color=colour)
    meets = float(recrawl.crossing_age(value, rate, price))
    if np.isfinite(meets):
        axes.plot([meets, meets], [0, price], color=colour, linewidth=1, linestyle=":")
        axes.plot([meets], [price], "o", color=colour, markersize=7, zorder=5)
        said = f"every {meets:.1f} h"
        axes.annotate(said, (meets, price), xytext=(7, -14), textcoords="offset points", color=colour, fontsize=9.5)
    axes.annotate(label, (age[-1], curve[-1]), xytext=(6, -3), textcoords="offset points", color=colour, fontsize=9.5)
