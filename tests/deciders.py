"""Deciders without a store: all that is said of sources is kept in memory."""

from __future__ import annotations

from recrawl.config import Config
from recrawl.crawl.decider import Decider
from recrawl.crawl.decider_setup import new_decider
from recrawl.crawl.fetching.politeness import HostSlots


def empty_decider(config: Config, slots: HostSlots, now: float) -> Decider:
    """One with an empty catalogue."""
    decider = new_decider(config, slots)
    decider.load([], [], None, now)
    return decider
