"""How often each page would be crawled under the budget that is being spent, whatever its change rate may be.

For freshness the ranking is by urgency, age × planned rate, where the plan gives every possible change rate of a page
the crawl rate that is right for it at one common price and averages over what is believed. A plan made for crawls at
random times never starves a page, so it keeps learning where the index, sure of itself, would stop looking; on recorded
pages, whose rates drift and come in bursts, that is worth more than the index's regular spacing. Pages that change too
often to be kept fresh at all have their share cut.

The price is such that the planned rates spend what is being spent: it is found anew after visits to a share of the
catalogue, at the pace of those visits.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.kernels.crawl_rates import averaged_rates
from recrawl.learning.atoms import Atoms
from recrawl.records import FloatArray, IntArray

PLANNED_AFTER_SHARE, PLANNED_AFTER_LEAST = 0.02, 20
"""The price is found anew after this share of the catalogue was visited, and no sooner than this many visits."""
HOPELESS = 4.0
"""A page that changes this many times within the shortest interval any page is given gets half its share."""
_HALVINGS = 40


class Plan:
    """Planned crawl rates of a catalogue; none before a first stretch of visits has shown the pace."""

    def __init__(self, targets: int, now: float) -> None:
        self.rate = np.zeros(targets)
        self.inverse_price = 0.0
        self.since, self.visits = now, 0

    @property
    def made(self) -> bool:
        """Whether there is a plan."""
        return self.inverse_price > 0.0

    def due(self, visits: int, now: float) -> bool:
        """Count visits; whether enough have come to plan anew."""
        self.visits += visits
        return self.visits >= max(PLANNED_AFTER_LEAST, PLANNED_AFTER_SHARE * len(self.rate)) and now > self.since

    def make(self, now: float, atoms: Atoms, weight: FloatArray) -> None:
        """Find the price at which the planned rates spend the pace of the visits counted; `weight` is of every page."""
        pace = self.visits / (now - self.since)
        self.since, self.visits = now, 0
        everyone = np.arange(len(self.rate))

        def spend(log_inverse_price: float) -> float:
            level = math.exp(log_inverse_price)
            return averaged_rates(everyone, atoms.mass, atoms.rate, weight, level, HOPELESS, self.rate)

        # Rates are about √(wΔ/λ): a first guess, from which the bracket is widened.
        change = float((atoms.mass * atoms.rate).sum(axis=1).mean())
        low = high = 2.0 * math.log(pace / len(self.rate)) - math.log(change)
        while spend(low) > pace:
            low -= 4.0
        while spend(high) < pace:
            high += 4.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if spend(middle) < pace else (low, middle)
        self.inverse_price = math.exp(high)
        spend(high)

    def believed(self, ids: IntArray, atoms: Atoms, weight: FloatArray) -> None:
        """What is believed of these changed: their planned rates at the standing price; `weight` is one per id."""
        if self.made:
            averaged_rates(ids, atoms.mass, atoms.rate, weight, self.inverse_price, HOPELESS, self.rate)

    def grow(self, count: int) -> None:
        """Room for new sources."""
        self.rate = np.concatenate([self.rate, np.zeros(count)])
