"""A site whose sitemap tells the truth, watched for months by a scheduler: for tests of what lists are good for."""

from __future__ import annotations

import random
from collections.abc import Callable

from recrawl.clock import ManualClock
from recrawl.scheduler import Scheduler
from recrawl.units import DAY_S

TICK_S = DAY_S / 4
SITEMAP = "/sitemap.xml"


class HonestSite:
    """Pages that change by chance, each at a rate of its own, and when they did.

    Parameters
        home: what their addresses begin with
    """

    def __init__(self, home: str, pages: int = 30, seed: int = 7) -> None:
        self.home, self._random = home, random.Random(seed)
        self.modified = {f"{home}/page/{number}": 0.0 for number in range(pages)}
        self._per_day = {key: self._random.choice((0.02, 0.1, 0.3)) for key in self.modified}
        self._seen: dict[str, float] = {}

    @property
    def sitemap(self) -> str:
        """Its key."""
        return self.home + SITEMAP

    def pass_time(self, now: float) -> None:
        """A quarter of a day has gone by."""
        for key, per_day in self._per_day.items():
            if self._random.random() < per_day / 4:
                self.modified[key] = now - self._random.random() * TICK_S

    def report(self, scheduler: Scheduler, key: str, now: float) -> None:
        """What a fetch of one key brought."""
        if key == self.sitemap:
            scheduler.report(key, sitemap=[(each, at or None) for each, at in self.modified.items()])
            return
        scheduler.report(key, changed=self.modified[key] > self._seen.get(key, now))
        self._seen[key] = now


def watch(
    site: HonestSite, scheduler: Scheduler, clock: ManualClock, days: int, told: Callable[[str], None] | None = None
) -> None:
    """Let a scheduler watch it for so long."""
    for _ in range(4 * days):
        clock.advance(TICK_S)
        site.pass_time(clock.now())
        for key in scheduler.due():
            if told is not None:
                told(key)
            site.report(scheduler, key, clock.now())
