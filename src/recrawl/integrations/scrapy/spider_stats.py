"""What is counted and said of a spider's sources, in Scrapy's stats and in its log."""

from __future__ import annotations

import logging
import math
from collections import deque
from typing import Any

from scrapy import Spider
from scrapy.statscollectors import StatsCollector

from recrawl.scheduler import Scheduler

logger = logging.getLogger("recrawl.integrations.scrapy.scheduler")
RECENT = 1000
"""How many visits the lag is reported of."""


class SpiderStats:
    """Of one spider."""

    def __init__(self, stats: StatsCollector | None, spider: Spider) -> None:
        self._stats, self._extra = stats, {"spider": spider}
        self.lags_s: deque[float] = deque(maxlen=RECENT)
        """By how much visits left later than they could have."""
        self._warned: set[str] = set()

    def count(self, name: str, amount: float = 1) -> None:
        """Add to a count."""
        if amount and self._stats is not None:
            self._stats.inc_value(f"recrawl/{name}", amount)  # type: ignore[arg-type]

    def sum_up(self, recrawl: Scheduler) -> None:
        """The stats that are no counts."""
        values = {"sources": len(recrawl), "price": recrawl.price}
        if self.lags_s:
            lags = sorted(self.lags_s)
            values["lag_s/median"] = lags[len(lags) // 2]
            values["lag_s/p95"] = lags[min(int(0.95 * len(lags)), len(lags) - 1)]
        for name, value in values.items():
            if self._stats is not None and not math.isnan(value):
                self._stats.set_value(f"recrawl/{name}", value)

    def warn_once(self, about: str, message: str, *words: Any) -> None:
        """Say it the first time."""
        if about not in self._warned:
            self._warned.add(about)
            logger.warning(message, *words, extra=self._extra)

    def error(self, message: str, *words: Any) -> None:
        """Say what went wrong."""
        logger.error(message, *words, extra=self._extra)
