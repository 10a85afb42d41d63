"""What the paper proves of single sources and of many, looked at in numbers: thresholds, convexity, copies of a source.

A source alone is solved by value iteration on a grid of states, which knows nothing of Theorem 1. Copies of the four
sources show when the limit of many sources is reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import recrawl
from recrawl.kernels.slotted_index import whittle_index_after
from recrawl.papers.results import Result, compare
from recrawl.papers.tcns2018.stochastic import stochastic_tables
from recrawl.records import BoolArray, FloatArray, Sources
from recrawl.report import Column, Section, Table, Text

GRID = 1001
PRICES = np.linspace(0.1, 0.9, 9)
"""As shares of the ceiling."""
SWEEPS, PRECISION = 4000, 1e-10
COPIES, BUDGET, SLOTS = (1, 5, 50, 200), 2, 3000
LAWS = {"poisson": "Poisson arrivals", "epoch": "exponential values per epoch"}


class Alone(NamedTuple):
    """One source at one price: states, relative values, where it is crawled, and Theorem 1 at its threshold."""

    states: FloatArray
    values: FloatArray
    active: BoolArray
    price: float
    theorem_1: float

    @property
    def one_threshold(self) -> bool:
        """Whether it waits in all states below some state, and in none above."""
        return bool((np.diff(self.active.astype(int)) >= 0).all())

    @property
    def inside(self) -> bool:
        """Whether the threshold lies within the states, so that Theorem 1 can be read off there."""
        return bool(self.active[-1] and not self.active[0])


def solve_alone(sources: Sources, which: int, price: float) -> Alone:
    """The dynamic programme (10) of one source, by value iteration damped by half."""
    keep, inflow, ceiling = (float(each[which]) for each in (sources.decay_factor, sources.inflow, sources.ceiling))
    states: FloatArray = np.linspace(inflow, ceiling, GRID)
    later, values = keep * states + inflow, np.zeros(GRID)
    wait, crawl = values, values
    for _ in range(SWEEPS):
        wait, crawl = price + np.interp(later, states, values), states + values[0]
        gain = np.maximum(wait, crawl) - values
        if np.ptp(gain) < PRECISION * ceiling:
            break
        values = values + 0.5 * gain
        values -= values[0]
    active = crawl >= wait
    threshold = states[int(active.argmax())]
    index = float(recrawl.whittle_index(sources, np.where(np.arange(len(sources)) == which, threshold, inflow))[which])
    return Alone(states, values, active, price, index)


def copies_lost(sources: Sources, copies: int, seed: int | None) -> float:
    """% of the bound that the index misses at M = 2 per copy; `seed` of the ages at the start, None for alike."""
    many = Sources.ephemeral(
        arrival_rate=np.repeat(sources.arrivals_per_slot, copies),
        interest=np.repeat(sources.interest, copies),
        decay=np.repeat(sources.decay_rate, copies),
    )
    age = np.ones(len(many)) if seed is None else np.random.default_rng(seed).integers(1, 12, len(many)).astype(float)
    found = 0.0
    for slot in range(SLOTS):
        crawled = np.argsort(-whittle_index_after(many, age), kind="stable")[: BUDGET * copies]
        if slot >= SLOTS // 2:
            found += float((many.ceiling * -np.expm1(-many.decay_rate * age))[crawled].sum())
        age += 1.0
        age[crawled] = 1.0
    per_slot = found / (SLOTS - SLOTS // 2)
    return 100.0 * (1.0 - per_slot / recrawl.relaxed_bound(many, BUDGET * copies).value)


def findings(sources: Sources, seed: int) -> tuple[list[Result], Section]:
    """All of it, as rows and a section."""
    alone = [
        [solve_alone(sources, which, float(share * sources.ceiling[which])) for share in PRICES]
        for which in range(len(sources))
    ]
    lost = {n: (copies_lost(sources, n, None), copies_lost(sources, n, seed)) for n in COPIES}
    results = [*_of_one(alone), _of_random(sources, seed), *_of_copies(lost)]
    return results, _section(sources, alone, lost)


def _of_one(alone: list[list[Alone]]) -> list[Result]:
    every = [each for of_source in alone for each in of_source]
    slopes = np.concatenate([np.diff(each.values) / np.diff(each.states) for each in every])
    bends = [np.diff(each.values, 2).min() / each.states[-1] for each in every]
    first = [[each.states[int(each.active.argmax())] for each in of_source] for of_source in alone]
    off = [abs(each.theorem_1 - each.price) / each.states[-1] for each in every if each.inside]
    where = f"Value iteration for the four sources alone, each at {len(PRICES)} prices, {GRID} states."
    rows = {
        "least-slope": (float(slopes.min()), "Least slope of the value function."),
        "greatest-slope": (float(slopes.max()), "Greatest slope of the value function; Lemma 1 needs a bound on it."),
        "least-bend": (float(min(bends)), "Least second difference of the value function, in u*; negative is concave."),
        "more-than-one-threshold": (float(sum(not each.one_threshold for each in every)), "Cases without a threshold."),
        "falling-thresholds": (float(sum((np.diff(t) < 0).sum() for t in first)), "Prices at which one falls."),
        "theorem-1-off": (100.0 * max(off), "Theorem 1 at the threshold against the price, % of u*; the grid's width."),
    }
    return [
        compare(f"tcns2018/single-source/{name}", value, note=f"{said} {where}") for name, (value, said) in rows.items()
    ]


def _of_random(sources: Sources, seed: int) -> Result:
    shares, falls = np.linspace(0.02, 1.6, 100), 0
    for noise in ("poisson", "epoch"):
        for table, ceiling in zip(stochastic_tables(sources, noise, seed), sources.ceiling, strict=True):
            falls += int((np.diff(np.asarray(table(shares * ceiling))) < 0).sum())
    note = f"States of 100 up to 1.6 u* at which the index of the random model falls; {', '.join(LAWS.values())}."
    return compare("tcns2018/single-source/falling-random-index", float(falls), note=note)


def _of_copies(lost: dict[int, tuple[float, float]]) -> list[Result]:
    last = COPIES[-1]
    note = f"% of the dual bound missed by the index with {last} copies of Table I, M = {BUDGET * last}; "
    return [
        compare(f"tcns2018/copies/{name}-lost", lost[last][place], note=note + said)
        for place, (name, said) in enumerate(
            [("in-step", "all copies start alike."), ("out-of-step", "copies start at random ages.")]
        )
    ]


def _section(sources: Sources, alone: list[list[Alone]], lost: dict[int, tuple[float, float]]) -> Section:
    text = (
        "Each source alone is solved by value iteration that knows nothing of the index: it "
        "waits below one threshold, which rises with the price, and Theorem 1 at that threshold is the price. Where a "
        "threshold stays at u the price is so low that every slot is worth a crawl."
    )
    columns = [Column("source")] + [Column(f"λ = {share:.1f} u*", 3) for share in PRICES]
    rows = [
        [which + 1, *(float(each.states[int(each.active.argmax())] / each.states[-1]) for each in of_source)]
        for which, of_source in enumerate(alone)
    ]
    thresholds = Table(columns, rows, "Thresholds of each source alone, in u*, by price.")
    limit = (
        "Many sources of a few kinds are where the index is said to be optimal. Copies that start alike stay alike: "
        "all of a kind fall due together, and what is missed at M = 2 stays missed however many there are. Copies that "
        "start out of step approach the bound. No live catalogue starts in step."
    )
    copied = Table(
        [Column("copies of Table I"), Column("start alike, %", 4), Column("start at random ages, %", 4)],
        [(n, *pair) for n, pair in lost.items()],
        f"What the index misses of the dual bound, M = {BUDGET} per copy, after {SLOTS // 2} slots to settle.",
    )
    return Section("The lemmas in numbers", [Text(text), thresholds, Text(limit), copied])
