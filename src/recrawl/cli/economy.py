"""The price a source is measured against, as a look into the store finds it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recrawl.config import Config
    from recrawl.store.base import Price, Store

LOOKED_BACK_S = 366 * 86400.0


def last_price(store: Store, now: float) -> Price | None:
    """The latest line of the price history, if there is one."""
    history = store.prices(now - LOOKED_BACK_S, limit=1)
    return history[-1] if history else None


def price_and_budget(store: Store, config: Config, now: float) -> tuple[float, float]:
    """The price now, NaN before the first, and the budget per second: that of a running crawler, or of the settings."""
    from recrawl.cluster.board import is_up, read_board

    last = last_price(store, now)
    running = store.claimed() is not None or is_up(read_board(store), now)
    budget = last.budget if last is not None and running else config.budget_per_s
    return (math.nan if last is None else last.price), budget
