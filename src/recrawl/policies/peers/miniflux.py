"""Miniflux, polling scheduler `entry_frequency`: once per expected entry.

The entries of the last 7 days give the expected number per week, w = ⌈7 d / mean gap⌉ (0 with at most one entry). A
feed is polled every 7 d/(w·factor), within 5 minutes and 24 hours; every 24 hours if w = 0.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.policies.peers.entries import EntryTimerPolicy
from recrawl.policies.peers.timers import DAY, MINUTE
from recrawl.records import FloatArray, checked

WEEK = 7 * DAY
SHORTEST, LONGEST = 5 * MINUTE, 24 * 60 * MINUTE


class Miniflux(EntryTimerPolicy):
    """Miniflux by entry frequency.

    Parameters
        factor: polls per expected entry
    """

    first_interval = LONGEST

    def __init__(
        self, factor: float = 1.0, filled: bool = False, scale: float = 1.0, seed: int | tuple[int, ...] = 0
    ) -> None:
        super().__init__(filled, scale, seed)
        self.factor = float(checked("factor", factor, "a finite number > 0", open_low=True))

    def worth_keeping(self, entries: FloatArray, now: float) -> FloatArray:
        """Those of the last 7 days."""
        return entries[np.searchsorted(entries, now - WEEK) :]

    def interval_of(self, entries: FloatArray, now: float) -> float:
        """A week shared among the entries expected in it."""
        expected = weekly_entries(entries)
        return LONGEST if expected == 0 else min(max(WEEK / (expected * self.factor), SHORTEST), LONGEST)


def weekly_entries(entries: FloatArray) -> int:
    """w, the entries expected per week at the mean gap of these; 0 where there is no gap to speak of.

    >>> weekly_entries(np.array([0.0, 2 * DAY, 4 * DAY]))
    4
    """
    if len(entries) < 2 or entries[-1] == entries[0]:
        return 0
    return math.ceil(WEEK / (float(entries[-1] - entries[0]) / (len(entries) - 1)))
