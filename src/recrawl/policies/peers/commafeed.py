"""CommaFeed: by the age of the newest entry, and twice per mean gap while a feed is active.

Intervals from lo = 5 minutes to hi = 4 hours. Newest entry 30 days old or unknown: hi; 14 days: hi/2; 7 days: hi/4;
else half the mean gap between entries, within lo and hi/4. Errors: lo for the first two, then an hour more each, up
to hi.

The mean gap is that of the entries a feed document holds; 20 are taken to be in it.
"""

from __future__ import annotations

import numpy as np

from recrawl.policies.peers.entries import EntryTimerPolicy
from recrawl.policies.peers.timers import DAY, HOUR, MINUTE
from recrawl.records import FloatArray, IntArray

SHORTEST, LONGEST = 5 * MINUTE, 4 * HOUR
SILENT = ((30 * DAY, LONGEST), (14 * DAY, LONGEST / 2), (7 * DAY, LONGEST / 4))
"""Age of the newest entry from which a feed is polled this seldom."""
DOCUMENT_ENTRIES = 20
FREE_ERRORS = 2


class Commafeed(EntryTimerPolicy):
    """CommaFeed with its default settings."""

    first_interval = LONGEST

    def worth_keeping(self, entries: FloatArray, now: float) -> FloatArray:
        """The newest, as many as a feed document holds."""
        return entries[-DOCUMENT_ENTRIES:]

    def interval_of(self, entries: FloatArray, now: float) -> float:
        """Seldom for a silent feed, twice per gap for an active one."""
        if len(entries) == 0:
            return LONGEST
        for age, interval in SILENT:
            if now - entries[-1] >= age:
                return interval
        gap = float(entries[-1] - entries[0]) / (len(entries) - 1) if len(entries) > 1 else np.inf
        return min(max(gap / 2, SHORTEST), LONGEST / 4)

    def retry_after(self, ids: IntArray) -> FloatArray:
        """Soon at first, then an hour more with each error."""
        errors = self.errors[ids]
        return np.where(errors <= FREE_ERRORS, SHORTEST, np.minimum(HOUR * (errors - FREE_ERRORS), LONGEST))
