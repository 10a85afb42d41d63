"""What another budget would change: computed from what is believed now by the policy that runs, kept for a minute.

Of a very large catalogue some thousand sources are looked at, drawn evenly, with their share of the budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from recrawl.crawl.explaining.whatif import BelievedSources, Prospect, movers, prospect
from recrawl.records import IntArray
from recrawl.store.records import Source
from recrawl.web.context import Context

LASTS_S = 60.0
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
    """The active sources that are looked at, and the id of each; `sources` is how many there are in all."""

    ids: IntArray
    catalogue: BelievedSources
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
    never_fetched: int
    interest: bool
    present: Prospect
    chosen: Prospect
    fresh_now: float
    fresh_then: float
    curve: list[tuple[float, float]]
    movers: list[Mover]


def what_if(context: Context, budget: float) -> WhatIf:
    """The present budget against another, both in requests per second."""
    known, now = known_beliefs(context), context.budget()
    present = next(each for each in _curve(context, known) if each.budget == now)
    chosen = _at(context, known, budget)
    return WhatIf(
        policy=context.in_force().policy,
        sources=known.sources,
        never_fetched=context.state().never_fetched,
        interest=known.catalogue.interest,
        known=round(int(known.catalogue.known.sum()) / known.part),
        present=present,
        chosen=chosen,
        fresh_now=known.catalogue.up_to_date(present),
        fresh_then=known.catalogue.up_to_date(chosen),
        curve=[(each.budget, each.share) for each in _curve(context, known)],
        movers=_movers(context, known, present, chosen),
    )


def bounds(context: Context) -> tuple[float, float]:
    """Least and largest budget the slider offers, per second."""
    return context.budget() / SPAN, context.budget() * SPAN


def known_beliefs(context: Context) -> Believed:
    """What is believed of every active source."""
    return context.cached.soon("believed", LASTS_S, lambda: _believed(context))


def _believed(context: Context) -> Believed:
    ids = np.asarray(context.store.believed().ids)
    drawn = context.store.sources(ids=ids[:: max(math.ceil(len(ids) / MOST), 1)].tolist())
    sources, found = context.state().believed(drawn, context.now())
    return Believed(ids=np.array([source.id for source in sources], np.int64), catalogue=found, sources=len(ids))


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


def _at(context: Context, known: Believed, budget: float) -> Prospect:
    """At any budget, starting from the prices of the curve."""
    curve = [each for each in _curve(context, known) if 0.0 < each.price < math.inf]
    guess = _interpolated(curve, budget) if len(curve) > 1 else 1.0
    return context.cached.get(("prospect", budget), LASTS_S, partial(_prospect, known, budget, guess))


def _interpolated(curve: list[Prospect], budget: float) -> float:
    """The price at a budget, by the two budgets of the curve around it or nearest to it, on logarithms."""
    place = min(max(sum(each.budget <= budget for each in curve), 1), len(curve) - 1)
    left, right = curve[place - 1], curve[place]
    share = math.log(budget / left.budget) / math.log(right.budget / left.budget)
    return math.exp(math.log(left.price) + share * math.log(right.price / left.price))


def _curve(context: Context, known: Believed) -> list[Prospect]:
    """The prospects of budgets around the present one, which is in the middle."""
    present = context.budget()
    return context.cached.soon(("curve", present), LASTS_S, partial(_prospects, known, present))


def _prospects(known: Believed, present: float) -> list[Prospect]:
    half = STEPS // 2
    budgets = [present * SPAN ** ((k - half) / half) if k != half else present for k in range(STEPS)]
    found, guess = [], 1.0
    for budget in budgets:
        found.append(_prospect(known, budget, guess))
        guess = found[-1].price
    return found


def _movers(context: Context, known: Believed, present: Prospect, chosen: Prospect) -> list[Mover]:
    places = movers(present, chosen, MOVERS).tolist()
    sources = {s.id: s for s in context.store.sources(ids=[int(known.ids[k]) for k in places])}
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
