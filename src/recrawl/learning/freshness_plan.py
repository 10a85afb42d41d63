"""How often each page would be crawled under the budget that is being spent, whatever its change rate may be.

For freshness the ranking is by urgency, age × planned rate, where the plan gives every possible change rate of a page
the crawl rate that is right for it at one common price and averages over what is believed. A plan made for crawls at
random times never starves a page, so it keeps learning where the index, sure of itself, would stop looking; on recorded
pages, whose rates drift and come in bursts, that is worth more than the index's regular spacing. Pages that change too
often to be kept fresh at all have their share cut.

The price is such that the planned rates spend what is being spent: it is found anew after visits to a share of the
catalogue, at the pace of those visits. Visits that a signal caused are none of the plan's, and changes that will be
signalled need no plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from recrawl.kernels.crawl_rates import averaged_rates
from recrawl.learning.columns import Column, Columns
from recrawl.learning.posterior_points import Atoms
from recrawl.records import FloatArray, IntArray

PLANNED_AFTER_SHARE, PLANNED_AFTER_LEAST = 0.1, 20
"""The price is found anew after this share of the catalogue was visited, and no sooner than this many visits."""
HOPELESS = 4.0
"""A page that changes this many times within the shortest interval any page is given gets half its share."""
PRECISION, _STEPS = 1e-7, 100
"""The planned rates spend the pace to this relative precision."""


class Plan(Columns):
    """Planned crawl rates of a catalogue; none before a first stretch of visits has shown the pace."""

    columns: ClassVar[Mapping[str, Column]] = {"rate": Column(np.float64, 0.0, kept=False)}
    rate: FloatArray

    def __init__(self, size: int, now: float) -> None:
        super().__init__(size)
        self.inverse_price = 0.0
        self.since, self.visits = now, 0.0

    @property
    def made(self) -> bool:
        """Whether there is a plan."""
        return self.inverse_price > 0.0

    @property
    def price(self) -> float:
        """What the last crawl of the plan is worth, in time that a copy is fresh."""
        return 1.0 / self.inverse_price

    def pace_each(self, now: float) -> float:
        """Visits per time to each page so far, before there is a plan."""
        return max(self.visits, 1.0) / max(now - self.since, 1.0) / max(self.size, 1)

    def due(self, visits: float, now: float, pages: int | None = None) -> bool:
        """Count visits; whether enough have come to plan anew for so many pages, by default all."""
        self.visits += visits
        catalogue = self.size if pages is None else pages
        return self.visits >= max(PLANNED_AFTER_LEAST, PLANNED_AFTER_SHARE * catalogue) and now > self.since

    def make(self, now: float, atoms: Atoms, weight: FloatArray, hidden: FloatArray) -> bool:
        """Find the price at which the planned rates spend the pace of the visits counted; whether there is one.

        `weight` is of every page: 0 for those that are gone, or that nobody wants. So is `hidden`, the share of its
        changes that no list will name.
        """
        pace = self.visits / (now - self.since)
        self.since, self.visits = now, 0.0
        if not weight.any():
            return False
        everyone = np.arange(self.size)

        def excess(log_inverse_price: float) -> float:
            level = math.exp(log_inverse_price)
            spent = averaged_rates(everyone, atoms.mass, atoms.rate, weight, hidden, level, HOPELESS, self.rate)
            return math.log(max(spent, 1e-300) / pace)

        guess = math.log(self.inverse_price) if self.made else self._first_guess(pace, atoms)
        found = _root(excess, guess)
        self.inverse_price = math.exp(found)
        return True

    def _first_guess(self, pace: float, atoms: Atoms) -> float:
        """Rates are about √(wΔ/λ)."""
        change = float((atoms.mass[: self.size] * atoms.rate[: self.size]).sum(axis=1, dtype=np.float64).mean())
        return 2.0 * math.log(pace / self.size) - math.log(change)

    def believed(self, rows: IntArray, atoms: Atoms, weight: FloatArray, hidden: FloatArray) -> None:
        """What is believed of these changed: their planned rates at the standing price; the weights are one per row."""
        if self.made:
            averaged_rates(rows, atoms.mass, atoms.rate, weight, hidden, self.inverse_price, HOPELESS, self.rate)


def _root(excess: Callable[[float], float], guess: float) -> float:
    """Where a rising function is 0 within PRECISION, evaluated there last; it is bracketed from a guess on.

    The false position: nearly straight functions take a few steps, and a bracket of which one end stays is halved.
    """
    at = guess
    here = excess(at)
    if abs(here) < PRECISION:
        return at
    step = -math.copysign(2.0 * min(max(abs(here), 0.05), 2.0), here)
    low, high = (at, here), (at, here)
    while low[1] > 0.0 or high[1] < 0.0:
        at += step
        here = excess(at)
        low, high = (low, (at, here)) if here > 0.0 else ((at, here), high)
        step *= 2.0
    for halves in range(_STEPS):
        share = 0.5 if halves % 3 == 2 else low[1] / (low[1] - high[1])
        at = low[0] + share * (high[0] - low[0])
        here = excess(at)
        if abs(here) < PRECISION:
            break
        low, high = (low, (at, here)) if here > 0.0 else ((at, here), high)
    return at
