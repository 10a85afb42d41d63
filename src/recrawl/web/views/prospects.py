"""What another budget would change: computed from what is believed now by the policy that runs, kept for a minute.

Of a very large catalogue some thousand sources are looked at, drawn evenly, with their share of the budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from recrawl.crawl.whatif import Catalogue, Prospect, believed, movers, prospect, unbounded
from recrawl.kernels.cadence import captured_per_time
from recrawl.records import FloatArray, IntArray
from recrawl.store.base import Source
from recrawl.web.desk import Desk
from recrawl.wiring import FLOOR_ROUNDS

LASTS_S = 60.0
SLOWEST = 1e-12
"""Arrivals a second that are told from none."""
MOVERS = 15
SPAN = 32.0
"""The slider goes from the present budget divided by this to it times this."""
STEPS = 11
MOST = 5000
"""Sources that are looked at."""
PRECISION = 1e-4
"""By how much a spend may miss its budget, as a share of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Believed:
    """The active sources that are looked at, as arrays: the id of each, how many items or changes a second it brings.

    `sources` is how many there are in all.
    """

    ids: IntArray
    catalogue: Catalogue
    arrivals: FloatArray
    sources: int

    @property
    def part(self) -> float:
        """Of all sources, how many are looked at."""
        return len(self.ids) / self.sources if len(self.ids) else 1.0


@dataclass(frozen=True, slots=True)
class Mover:
    """A source whose cadence changes; per second and in seconds."""

    source: Source
    interval_before: float
    interval_after: float
    captured_before: float
    captured_after: float


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Two budgets side by side. `curve` is the share of interest captured at budgets around the present one.

    `fresh_now` and `fresh_then` are the shares of time in which nothing new waits to be seen, over all known sources.
    """

    policy: str
    sources: int
    known: int
    present: Prospect
    chosen: Prospect
    fresh_now: float
    fresh_then: float
    curve: list[tuple[float, float]]
    movers: list[Mover]


def what_if(desk: Desk, budget: float) -> WhatIf:
    """The present budget against another, both in requests per second."""
    known, now = known_beliefs(desk), desk.budget()
    present = next(each for each in _curve(desk, known) if each.budget == now)
    chosen = _at(desk, known, budget)
    return WhatIf(
        policy=desk.in_force().policy,
        sources=known.sources,
        known=round(int(known.catalogue.known.sum()) / known.part),
        present=present,
        chosen=chosen,
        fresh_now=freshness(known, present),
        fresh_then=freshness(known, chosen),
        curve=[(each.budget, share(each)) for each in _curve(desk, known)],
        movers=_movers(desk, known, present, chosen),
    )


def share(found: Prospect) -> float:
    """Of the interest there is, how much is captured; NaN if there is none."""
    return found.captured / found.inflow if found.inflow > 0.0 else math.nan


def freshness(known: Believed, found: Prospect) -> float:
    """(1 − e^{−ΔT})/(ΔT), the share of an interval T before the first of what comes at rate Δ; the mean of it."""
    some = np.isfinite(known.arrivals) & np.isfinite(found.interval) & (known.arrivals > 0.0)
    if not some.any():
        return math.nan
    pace = np.maximum(known.arrivals[some], SLOWEST)
    return float(captured_per_time(1.0 / pace, pace, found.interval[some]).mean())


def arrivals(value: FloatArray, rate: FloatArray) -> FloatArray:
    """Items or changes a second that beliefs stand for: v·r, or v itself where r = 0."""
    return np.where(rate > 0.0, value * rate, value)


def bounds(desk: Desk) -> tuple[float, float]:
    """Least and largest budget the slider offers, per second."""
    return desk.budget() / SPAN, desk.budget() * SPAN


def known_beliefs(desk: Desk) -> Believed:
    """What is believed of every active source."""
    return desk.cached.soon("believed", LASTS_S, lambda: _believed(desk))


def _believed(desk: Desk) -> Believed:
    config, everyone = desk.in_force(), desk.store.believed()
    ids = np.asarray(everyone.ids)
    drawn = desk.store.sources(ids=ids[:: max(math.ceil(len(ids) / MOST), 1)].tolist())
    found = {each.source: each for each in desk.store.progress([source.id for source in drawn])}
    sources = [source for source in drawn if source.id in found]
    progress = [found[source.id] for source in sources]
    catalogue = believed(desk.ranking(unbounded(sources), progress), sources, progress, config, FLOOR_ROUNDS)
    value = catalogue.value / np.array([source.importance for source in sources])
    return Believed(
        ids=np.array([source.id for source in sources], np.int64),
        catalogue=catalogue,
        arrivals=catalogue.rate if config.objective == "freshness" else arrivals(value, catalogue.rate),
        sources=len(ids),
    )


def _prospect(known: Believed, budget: float, guess: float) -> Prospect:
    """The whole catalogue at rest, by what is looked at of it."""
    part = known.part
    found = prospect(known.catalogue, budget * part, guess, PRECISION)
    return replace(
        found,
        budget=budget,
        spend=found.spend / part,
        captured=found.captured / part,
        inflow=found.inflow / part,
        unworthy=round(found.unworthy / part),
    )


def _at(desk: Desk, known: Believed, budget: float) -> Prospect:
    """At any budget, starting from the prices of the curve."""
    curve = [each for each in _curve(desk, known) if 0.0 < each.price < math.inf]
    guess = _interpolated(curve, budget) if len(curve) > 1 else 1.0
    return desk.cached.get(("prospect", budget), LASTS_S, partial(_prospect, known, budget, guess))


def _interpolated(curve: list[Prospect], budget: float) -> float:
    """The price at a budget, by the two budgets of the curve around it or nearest to it, on logarithms."""
    place = min(max(sum(each.budget <= budget for each in curve), 1), len(curve) - 1)
    left, right = curve[place - 1], curve[place]
    share = math.log(budget / left.budget) / math.log(right.budget / left.budget)
    return math.exp(math.log(left.price) + share * math.log(right.price / left.price))


def _curve(desk: Desk, known: Believed) -> list[Prospect]:
    """The prospects of budgets around the present one, which is in the middle."""
    present = desk.budget()
    return desk.cached.soon(("curve", present), LASTS_S, partial(_prospects, known, present))


def _prospects(known: Believed, present: float) -> list[Prospect]:
    half = STEPS // 2
    budgets = [present * SPAN ** ((k - half) / half) if k != half else present for k in range(STEPS)]
    found, guess = [], 1.0
    for budget in budgets:
        found.append(_prospect(known, budget, guess))
        guess = found[-1].price
    return found


def _movers(desk: Desk, known: Believed, present: Prospect, chosen: Prospect) -> list[Mover]:
    places = movers(present, chosen, MOVERS).tolist()
    sources = {s.id: s for s in desk.store.sources(ids=[int(known.ids[k]) for k in places])}
    return [
        Mover(
            sources[int(known.ids[k])],
            float(present.interval[k]),
            float(chosen.interval[k]),
            float(present.captures[k]),
            float(chosen.captures[k]),
        )
        for k in places
        if int(known.ids[k]) in sources
    ]
