"""When it is worth asking the decider again after it had nothing to fetch: it says what is due, not what will be."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable

from recrawl.crawl.request_budget import RequestBudget

ASK_AGAIN_S = 1.0
"""After so long it is worth asking again, whatever is known of holds."""


class DeciderPolling:
    """What was asked in vain, and when holds end.

    Parameters
        ends: of the holds there are
    """

    def __init__(self, ends: Iterable[float], now: float) -> None:
        self._ends = sorted(ends)
        self._tried: float | None = None
        """Tokens there were when nothing was due; None if something may have become due since."""
        self._tried_at = now

    def in_vain(self, tokens: float, now: float) -> None:
        """Nothing was due."""
        self._tried, self._tried_at = tokens, now

    def changed(self) -> None:
        """Something may be due now."""
        self._tried = None

    def hold_ends(self, at: float) -> None:
        """Something may be due at that time which is not now."""
        if math.isfinite(at):
            heapq.heappush(self._ends, at)

    def wait_s(self, now: float, requests: float, budget: RequestBudget, dearest: float, idle: bool) -> float:
        """Seconds until there may be something due; `idle` says whether any source is not in flight."""
        available = budget.available()
        if available < requests:
            return budget.wait_s(requests)
        if self._tried is None:
            return 0.0
        if self._ends and self._ends[0] <= now:
            while self._ends and self._ends[0] <= now:
                heapq.heappop(self._ends)
            self._tried = None
            return 0.0
        held = self._ends[0] - now if self._ends else math.inf
        if held == math.inf and idle:
            held = max(self._tried_at + ASK_AGAIN_S - now, 0.0)
        if self._tried < dearest:
            if available >= self._tried + 1.0:
                return 0.0
            held = min(held, budget.wait_s(min(self._tried + 1.0, dearest)))
        return held
