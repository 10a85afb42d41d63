"""How often a source brings something, in numbers and in words. Light: needs no arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping

from recrawl.units import DAY_S

_UNITS = (("minute", 60.0), ("hour", 3600.0), ("day", DAY_S), ("week", 604800.0), ("month", 2629800.0))


def arrivals_per_s(value: float, rate: float, objective: str = "ephemeral") -> float:
    """New items or changes per second that beliefs stand for: v·r in interest, Λ or Δ itself where that is the belief.

    For items v·r = (Λξ/μ)·μ, for pages whose news fade (wΔ/(Δ+μ))·(Δ+μ); for freshness the rate is Δ, and for
    discovery, with rate 0, the value is Λ.
    """
    if objective == "freshness":
        return rate
    return value if rate == 0.0 else value * rate


def stated_pace(reasons: Mapping[str, float]) -> float:
    """Items or changes a day as the policy itself says; NaN where it does not."""
    if "items_per_day" in reasons:
        return reasons["items_per_day"]
    return DAY_S * reasons.get("change_rate_per_s", math.nan)


def pace_in_words(per_day: float, kind: str = "feed") -> str:
    """A pace as people say it.

    >>> pace_in_words(4.2), pace_in_words(0.02, "page"), pace_in_words(3000.0)
    ('about 4 items a day', 'about 1 change in 7 weeks', 'about 2 items a minute')
    """
    if math.isnan(per_day):
        return "not known yet"
    one, many = ("change", "changes") if kind == "page" else ("item", "items")
    if per_day < 1.0 / 3652.5:
        return f"hardly any {many}"
    for unit, seconds in _UNITS[:4]:
        count = per_day * seconds / DAY_S
        if count >= 0.95:
            shown = f"{count:.0f}"
            return f"about {shown} {one if shown == '1' else many} {'an' if unit == 'hour' else 'a'} {unit}"
    unit, seconds = next(((u, s) for u, s in _UNITS[3:] if DAY_S / per_day < 12 * s), ("year", 31557600.0))
    spans = max(2, round(DAY_S / per_day / seconds))
    return f"about 1 {one} in {spans} {unit}s"


def first_wait(waiting: int, budget_per_s: float, cold_start: float) -> float:
    """Seconds until `waiting` new sources have all been fetched once; NaN if no share of the budget is kept for them.

    >>> first_wait(60, 1.0, 0.5)
    120.0
    """
    share = budget_per_s * cold_start
    return waiting / share if share > 0.0 else math.nan
