"""What all views share: the store, the settings, the time, and the few answers everybody asks for."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from recrawl.clock import Clock
from recrawl.cluster.board import Board, Wish, common_record, is_up, read_board, read_wish
from recrawl.config import Config, quiet_until
from recrawl.crawl.explanation import Circumstances
from recrawl.crawl.politeness import Slots
from recrawl.crawl.ranking import Ranking
from recrawl.crawl.settings_note import in_force
from recrawl.errors import StoreVersionError
from recrawl.store.base import Hold, Price, Progress, Source, Store
from recrawl.web.cached import Cached
from recrawl.wiring import recall

SHORT_S = 2.0
"""How old an answer everybody asks for may be."""
BOARD_S = 0.5
"""The same for what the fleet says of itself once a second."""

Told = TypeVar("Told")


@dataclass
class Desk:
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

    def latest_price(self) -> Price | None:
        """The last line of the price history."""
        return self.cached.get("price", 1.0, lambda: next(iter(self.store.prices(0.0, limit=1)), None))

    def price(self) -> float:
        """Now; NaN before the first crawl."""
        board = self.fleet()
        if board is not None and board.price is not None:
            return board.price
        latest = self.latest_price()
        return math.nan if latest is None else latest.price

    def budget(self) -> float:
        """Requests per second: of the fleet or of the crawler that ran last, or of the settings."""
        board = self.fleet()
        if board is not None and board.budget > 0.0:
            return board.budget
        latest = self.latest_price()
        known = latest is not None and math.isfinite(latest.budget) and latest.budget > 0.0
        return latest.budget if latest is not None and known else self.config.budget_per_s

    def crawler(self) -> str | None:
        """Who is crawling now, in words: a fleet or one process."""
        board = self.fleet()
        if board is not None:
            return f"a fleet of {len(board.shards)} shards, led by {board.leader}"
        return self.cached.get("claimed", SHORT_S, self.store.claimed)

    def board(self) -> Board | None:
        """The fleet as last seen, alive or not; None if there never was one, or if nobody can read what it wrote."""
        return self.cached.get("board", BOARD_S, lambda: _readable(read_board, self.store))

    def wish(self) -> Wish | None:
        """What somebody last wanted of the fleet."""
        return self.cached.get("wish", BOARD_S, lambda: _readable(read_wish, self.store))

    def fleet(self) -> Board | None:
        """The fleet if it is at work now."""
        board = self.board()
        return board if is_up(board, self.now()) else None

    def tags(self) -> list[tuple[str, int]]:
        """The most common tags and how many sources have each."""
        return self.cached.soon("tags", SHORT_S, lambda: self.store.tags(limit=100))

    def holds(self) -> dict[str, Hold]:
        """Hosts that are held, by name."""
        return self.cached.get("holds", SHORT_S, lambda: {h.host: h for h in self.store.holds(self.now())})

    def in_force(self) -> Config:
        """The settings by which whoever crawls ranks sources: they may be others than those of the page."""
        return self.cached.get("in force", SHORT_S, lambda: in_force(self.store, self.config))

    def _slots(self) -> Slots:
        """Which host an address shares its holds with."""
        return self.cached.get("slots", SHORT_S, lambda: Slots(self.in_force().politeness, 0.0, random.Random(0)))

    def ranking(self, sources: Sequence[Source], progress: Sequence[Progress]) -> Ranking:
        """Where sources stand, as the store has it."""
        shared = self.cached.get("shared", SHORT_S, lambda: common_record(self.store, self.now()))
        return recall(self.in_force(), sources, progress, shared, self.now())

    def circumstances(self, url: str) -> Circumstances:
        """What the source at an address shares with others."""
        config, now = self.in_force(), self.now()
        hold = self.holds().get(self._slots().key_of(url))
        return Circumstances(
            price=self.price(),
            half_life_s=config.half_life_s,
            max_age_s=config.max_age_s,
            min_interval_s=config.politeness.min_interval_s,
            host_held_until=hold.until if hold else 0.0,
            host_held_by=hold.reason if hold else "",
            quiet_until=quiet_until(config.politeness.quiet, now),
            objective=config.objective,
        )


def _readable(read: Callable[[Store], Told | None], store: Store) -> Told | None:
    """What another version of the program may have written, where it can be understood."""
    try:
        return read(store)
    except StoreVersionError:
        return None
