"""What all views share: the store, the settings, the time, and the few answers everybody asks for."""

from __future__ import annotations

from dataclasses import dataclass, field

from recrawl.clock import Clock
from recrawl.cluster.status import FleetStatus, Wish, is_up, read_status, read_wish
from recrawl.config import Config
from recrawl.crawl_state import CrawlState, count_never_fetched, readable
from recrawl.store.roles import Store
from recrawl.web.cached import Cached

SHORT_S, LONG_S = 1.0, 5.0
"""How old an answer everybody asks for may be, and one that is summed over many rows."""
STATUS_S = 0.5
"""The same for what the fleet says of itself once a second."""


@dataclass
class Context:
    """Where views are made. Its methods may be called from many threads."""

    store: Store
    config: Config
    clock: Clock
    cached: Cached = field(init=False)

    def __post_init__(self) -> None:
        self.cached = Cached(self.clock)

    def now(self) -> float:
        """Unix seconds."""
        return self.clock.now()

    def state(self) -> CrawlState:
        """Price, budget, holds and settings in force, as every other face of the store has them."""
        never = self.cached.soon("never fetched", LONG_S, lambda: count_never_fetched(self.store))
        return self.cached.get("state", SHORT_S, lambda: CrawlState.read(self.store, self.config, self.now(), never))

    def budget(self) -> float:
        """Requests per second."""
        return self.state().budget

    def in_force(self) -> Config:
        """The settings with which the store is crawled: they may be others than those of the page."""
        return self.state().config

    def fleet_status(self) -> FleetStatus | None:
        """The fleet as last seen, alive or not; None if there never was one, or if nobody can read what it wrote."""
        return self.cached.get("fleet_status", STATUS_S, lambda: readable(read_status, self.store))

    def wish(self) -> Wish | None:
        """What somebody last wanted of the fleet."""
        return self.cached.get("wish", STATUS_S, lambda: readable(read_wish, self.store))

    def fleet(self) -> FleetStatus | None:
        """The fleet if it is at work now."""
        status = self.fleet_status()
        return status if is_up(status, self.now()) else None

    def tags(self) -> list[tuple[str, int]]:
        """The most common tags and how many sources have each."""
        return self.cached.soon("tags", SHORT_S, lambda: self.store.tags(limit=100))
