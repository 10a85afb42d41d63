"""How old sources may get before they go before all others.

The usual maximum age is not below so many rounds of the catalogue at the pace it is crawled at, so that it takes a part
of the budget and not all of it. The pace is that of the last round or two. What an owner said of a source is kept to.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.policies.source_columns import SourceColumns
from recrawl.records import FloatArray, IntArray

PACE_GROWTH = 1.25
"""The floor is computed anew when so much more has been spent."""


class AgeFloor:
    """The usual maximum age, and what was spent since when."""

    def __init__(self, kept: SourceColumns, max_age: float | None, rounds: float, now: float) -> None:
        self._kept, self._max_age, self._rounds = kept, max_age, rounds
        self.floor = math.inf if max_age is None else max_age
        self._paid, self._since, self._next = 0.0, now, 0.0

    def of(self, ids: IntArray) -> FloatArray:
        """The maximum ages of some sources."""
        own = self._kept.max_age[ids]
        return np.where(np.isnan(own), self.floor, own)

    def pay(self, now: float, spent: float) -> bool:
        """Told what a choice spent; whether the usual maximum age is lower now."""
        if self._max_age is None or self._rounds == 0.0:
            return False
        total = self._kept.total_cost
        self._paid += spent
        if self._paid > 2.0 * total:
            self._paid, self._since, self._next = 0.5 * self._paid, 0.5 * (self._since + now), 0.0
        if self._paid < self._next or now <= self._since or self._paid <= 0.0:
            return False
        self._next, before = PACE_GROWTH * self._paid + 1.0, self.floor
        self.floor = max(self._max_age, self._rounds * total * (now - self._since) / self._paid)
        return self.floor < before

    def pace(self, now: float) -> tuple[float, float]:
        """What was spent, and in which time."""
        return self._paid, now - self._since

    def resume(self, now: float, paid: float, elapsed: float, floor: float) -> None:
        """Go on from a pace and a floor."""
        self._paid, self._since = paid, now - float(elapsed)
        if self._max_age is not None and self._rounds > 0.0:
            self.floor = max(self._max_age, float(floor))
