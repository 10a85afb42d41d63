"""What another budget would change: computed in closed form from what is believed now, kept for a minute."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recrawl.crawl.whatif import Catalogue, Prospect, movers, prospect
from recrawl.records import IntArray
from recrawl.store.base import Source
from recrawl.web.desk import Desk

LASTS_S = 60.0
MOVERS = 15
SPAN = 32.0
"""The slider goes from the present budget divided by this to it times this."""
STEPS = 11


@dataclass(frozen=True, slots=True, eq=False)
class Believed:
    """The active catalogue as arrays, and the id of each element."""

    ids: IntArray
    catalogue: Catalogue


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
    """Two budgets side by side. `curve` is the share of interest captured at budgets around the present one."""

    sources: int
    known: int
    present: Prospect
    chosen: Prospect
    curve: list[tuple[float, float]]
    movers: list[Mover]


def what_if(desk: Desk, budget: float) -> WhatIf:
    """The present budget against another, both in requests per second."""
    believed = known_beliefs(desk)
    present, chosen = _at(desk, believed, desk.budget()), _at(desk, believed, budget)
    return WhatIf(
        sources=len(believed.ids),
        known=int(believed.catalogue.known.sum()),
        present=present,
        chosen=chosen,
        curve=desk.cached.get(("curve", present.budget), LASTS_S, lambda: _curve(believed.catalogue, present.budget)),
        movers=_movers(desk, believed, present, chosen),
    )


def share(found: Prospect) -> float:
    """Of the interest there is, how much is captured; NaN if there is none."""
    return found.captured / found.inflow if found.inflow > 0.0 else math.nan


def bounds(desk: Desk) -> tuple[float, float]:
    """Least and largest budget the slider offers, per second."""
    return desk.budget() / SPAN, desk.budget() * SPAN


def known_beliefs(desk: Desk) -> Believed:
    """What is believed of every active source."""
    return desk.cached.get("believed", LASTS_S, lambda: _believed(desk))


def _believed(desk: Desk) -> Believed:
    found, config = desk.store.believed(), desk.config
    ids, importance, cost, value, rate, max_age = (
        np.asarray(column)
        for column in (found.ids, found.importance, found.cost, found.value, found.rate, found.max_age)
    )
    return Believed(
        ids,
        Catalogue(
            value=value * importance,
            rate=rate,
            cost=cost,
            min_interval=np.full(len(ids), config.politeness.min_interval_s),
            max_age=np.where(np.isfinite(max_age), max_age, config.max_age_s),
        ),
    )


def _at(desk: Desk, believed: Believed, budget: float) -> Prospect:
    return desk.cached.get(("prospect", budget), LASTS_S, lambda: prospect(believed.catalogue, budget))


def _curve(catalogue: Catalogue, present: float) -> list[tuple[float, float]]:
    budgets = np.geomspace(present / SPAN, present * SPAN, STEPS).tolist()
    return [(budget, share(prospect(catalogue, budget))) for budget in budgets]


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
