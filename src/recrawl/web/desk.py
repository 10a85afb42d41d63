"""What all views share: the store, the settings, the time, and the few answers everybody asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from recrawl.answers import Situation, count_never_fetched, situation
from recrawl.clock import Clock
from recrawl.cluster.board import Board, Wish, is_up, read_board, read_wish
from recrawl.config import Config
from recrawl.errors import StoreVersionError
from recrawl.store.base import Store
from recrawl.web.cached import Cached

SHORT_S, LONG_S = 1.0, 5.0
"""How old an answer everybody asks for may be, and one that is summed over many rows."""
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

    def situation(self) -> Situation:
        """Price, budget, holds and settings in force, as every other face of the store has them."""
        never = self.cached.soon("never fetched", LONG_S, lambda: count_never_fetched(self.store))
        return self.cached.get("situation", SHORT_S, lambda: situation(self.store, self.config, self.now(), never))

    def price(self) -> float:
        """Now; NaN before the first crawl."""
        return self.situation().price

    def budget(self) -> float:
        """Requests per second."""
        return self.situation().budget

    def crawler(self) -> str | None:
        """Who is crawling now, in words: a fleet or one process."""
        return self.situation().crawler

    def in_force(self) -> Config:
        """The settings with which the store is crawled: they may be others than those of the page."""
        return self.situation().config

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


def _readable(read: Callable[[Store], Told | None], store: Store) -> Told | None:
    """What another version of the program may have written, where it can be understood."""
    try:
        return read(store)
    except StoreVersionError:
        return None
