"""What another budget would change: the catalogue at rest at each budget, by the closed form of `kernels.cadence`.

It answers from what is believed now: sources nobody has fetched yet are left out and counted. Only fetches of sources
are counted; robots.txt, redirects and retries also spend budget, so a real crawler does a little less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recrawl.kernels.cadence import cadence, captured_per_time, median_delay
from recrawl.records import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Catalogue:
    """What is believed of every source, one element each; times in seconds.

    Parameters
        value: what it is worth once ripe, importance included; NaN where nothing is known yet
        rate: how fast it ripens, per second; NaN where nothing is known yet
        cost: tokens per fetch
        min_interval: it is not fetched more often than this
        max_age: it is fetched this often whatever it is worth; inf for no such floor
    """

    value: FloatArray
    rate: FloatArray
    cost: FloatArray
    min_interval: FloatArray
    max_age: FloatArray

    @property
    def known(self) -> BoolArray:
        """Which sources there are beliefs about."""
        return np.isfinite(self.value) & np.isfinite(self.rate)

    @property
    def inflow(self) -> FloatArray:
        """Interest that appears per second, if it were all seen at once: v·r, or the arrival rate where r = 0."""
        return np.where(self.rate > 0.0, self.value * self.rate, self.value)


@dataclass(frozen=True, eq=False)
class Prospect:
    """The catalogue at rest at one budget; per second and in seconds, arrays over all sources (NaN: unknown).

    Parameters
        price: at which the budget is spent; 0 if it cannot all be spent, inf if it does not reach for the max ages
        spend: tokens per second
        captured: interest captured per second
        inflow: interest there is to capture per second
        delay: half of the interest that appears is seen within this
        unworthy: sources never worth a fetch at this price, looked at only because of their max age, if at all
        interval: time between two fetches of each source
        captures: interest captured per second from each source
    """

    budget: float
    price: float
    spend: float
    captured: float
    inflow: float
    delay: float
    unworthy: int
    interval: FloatArray
    captures: FloatArray


def prospect(catalogue: Catalogue, budget: float, guess: float = 1.0, precision: float = 1e-12) -> Prospect:
    """The catalogue at rest at `budget` tokens per second.

    It is quicker with a `guess` of the price there, and where a spend within `precision` of the budget will do.
    """
    known = catalogue.known
    value, rate, cost = (array[known] for array in (catalogue.value, catalogue.rate, catalogue.cost))
    price, interval = at_rest(catalogue, budget, guess, precision)
    captures, inflow = captured_per_time(value, rate, interval), catalogue.inflow[known]
    return Prospect(
        budget=budget,
        price=price,
        spend=float((cost / interval).sum()),
        captured=float(captures.sum()),
        inflow=float(inflow.sum()),
        delay=median_delay(inflow, interval),
        unworthy=int(((value <= 0.0) | ((rate > 0.0) & (value <= price * cost))).sum()),
        interval=_over_all(interval, known),
        captures=_over_all(captures, known),
    )


def at_rest(catalogue: Catalogue, budget: float, guess: float, precision: float) -> tuple[float, FloatArray]:
    """The price at which a budget is spent, and how often each known source is fetched at it."""
    known = catalogue.known
    value, rate, cost = (array[known] for array in (catalogue.value, catalogue.rate, catalogue.cost))
    bounds = catalogue.min_interval[known], catalogue.max_age[known]
    return cadence(value, rate, budget, cost, *bounds, guess=guess, precision=precision)


def movers(before: Prospect, after: Prospect, count: int) -> IntArray:
    """The sources from which a change of budget moves most interest per second, the largest change first."""
    change = np.abs(after.captures - before.captures)
    change = np.where(np.isfinite(change), change, -math.inf)
    order = np.argsort(-change, kind="stable")[:count]
    return order[change[order] > 0.0]


def compare(catalogue: Catalogue, budgets: Sequence[float]) -> list[Prospect]:
    """One prospect per budget, in the order given."""
    return [prospect(catalogue, budget) for budget in budgets]


def _over_all(some: FloatArray, known: BoolArray) -> FloatArray:
    out = np.full(len(known), np.nan)
    out[known] = some
    return out
