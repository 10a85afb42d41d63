"""What another budget would change: computed in closed form from what is believed now, kept for a minute."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from recrawl.crawl.whatif import Catalogue, Prospect, movers, prospect
from recrawl.kernels.cadence import captured_per_time
from recrawl.records import FloatArray, IntArray
from recrawl.store.base import Source
from recrawl.web.desk import Desk

LASTS_S = 60.0
SLOWEST = 1e-12
"""Arrivals a second that are told from none."""
MOVERS = 15
SPAN = 32.0
"""The slider goes from the present budget divided by this to it times this."""
STEPS = 11
PRECISION = 1e-4
"""By how much a spend may miss its budget, as a share of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Believed:
    """The active catalogue as arrays, the id of each element, and how many items or changes a second it brings."""

    ids: IntArray
    catalogue: Catalogue
    arrivals: FloatArray


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
    believed, now = known_beliefs(desk), desk.budget()
    present = next(each for each in _curve(desk, believed) if each.budget == now)
    chosen = _at(desk, believed, budget)
    return WhatIf(
        sources=len(believed.ids),
        known=int(believed.catalogue.known.sum()),
        present=present,
        chosen=chosen,
        fresh_now=freshness(believed, present),
        fresh_then=freshness(believed, chosen),
        curve=[(each.budget, share(each)) for each in _curve(desk, believed)],
        movers=_movers(desk, believed, present, chosen),
    )


def share(found: Prospect) -> float:
    """Of the interest there is, how much is captured; NaN if there is none."""
    return found.captured / found.inflow if found.inflow > 0.0 else math.nan


def freshness(believed: Believed, found: Prospect) -> float:
    """(1 − e^{−ΔT})/(ΔT), the share of an interval T before the first of what comes at rate Δ; the mean of it."""
    known = np.isfinite(believed.arrivals) & np.isfinite(found.interval) & (believed.arrivals > 0.0)
    if not known.any():
        return math.nan
    arrivals = np.maximum(believed.arrivals[known], SLOWEST)
    return float(captured_per_time(1.0 / arrivals, arrivals, found.interval[known]).mean())


def bounds(desk: Desk) -> tuple[float, float]:
    """Least and largest budget the slider offers, per second."""
    return desk.budget() / SPAN, desk.budget() * SPAN


def known_beliefs(desk: Desk) -> Believed:
    """What is believed of every active source."""
    return desk.cached.soon("believed", LASTS_S, lambda: _believed(desk))


def _believed(desk: Desk) -> Believed:
    found, config = desk.store.believed(), desk.in_force()
    ids, importance, cost, believed, rate, max_age, last = (
        np.asarray(column)
        for column in (found.ids, found.importance, found.cost, found.value, found.rate, found.max_age, found.last)
    )
    value = np.where(np.isnan(last), np.nan, believed)
    return Believed(
        ids,
        Catalogue(
            value=value * importance,
            rate=rate,
            cost=cost,
            min_interval=np.full(len(ids), config.politeness.min_interval_s),
            max_age=np.where(np.isfinite(max_age), max_age, config.max_age_s),
        ),
        rate if config.objective == "freshness" else np.where(rate > 0.0, value * rate, value),
    )


def _at(desk: Desk, believed: Believed, budget: float) -> Prospect:
    """At any budget, starting from the prices of the curve."""
    curve = [each for each in _curve(desk, believed) if 0.0 < each.price < math.inf]
    guess = _interpolated(curve, budget) if len(curve) > 1 else 1.0
    make = partial(prospect, believed.catalogue, budget, guess, PRECISION)
    return desk.cached.get(("prospect", budget), LASTS_S, make)


def _interpolated(curve: list[Prospect], budget: float) -> float:
    """The price at a budget, by the two budgets of the curve around it or nearest to it, on logarithms."""
    place = min(max(sum(each.budget <= budget for each in curve), 1), len(curve) - 1)
    left, right = curve[place - 1], curve[place]
    share = math.log(budget / left.budget) / math.log(right.budget / left.budget)
    return math.exp(math.log(left.price) + share * math.log(right.price / left.price))


def _curve(desk: Desk, believed: Believed) -> list[Prospect]:
    """The prospects of budgets around the present one, which is in the middle."""
    present = desk.budget()
    return desk.cached.soon(("curve", present), LASTS_S, partial(_prospects, believed.catalogue, present))


def _prospects(catalogue: Catalogue, present: float) -> list[Prospect]:
    half = STEPS // 2
    budgets = [present * SPAN ** ((k - half) / half) if k != half else present for k in range(STEPS)]
    found, guess = [], 1.0
    for budget in budgets:
        found.append(prospect(catalogue, budget, guess, PRECISION))
        guess = found[-1].price
    return found


def _movers(desk: Desk, believed: Believed, present: Prospect, chosen: Prospect) -> list[Mover]:
    places = movers(present, chosen, MOVERS).tolist()
    sources = {s.id: s for s in desk.store.sources(ids=[int(believed.ids[k]) for k in places])}
    return [
        Mover(
            sources[int(believed.ids[k])],
            float(present.interval[k]),
            float(chosen.interval[k]),
            float(present.captures[k]),
            float(chosen.captures[k]),
        )
        for k in places
        if int(believed.ids[k]) in sources
    ]
