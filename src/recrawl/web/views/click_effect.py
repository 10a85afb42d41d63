"""What readers' clicks did to a source's cadence, worked out from what the crawler keeps of it.

The crawler believes the items of a source to be worth a times an average item, where they draw a times its clicks, and
to fade as those clicks do. Without clicks a would be 1 and the half-life the owner's or the settings'. The policy is
asked for both when its index meets the present price, and the sentence says both.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from recrawl.crawl.explaining.explanation import Explanation
from recrawl.policies.contract import Readers
from recrawl.store.records import ClickTotals, Progress, Source
from recrawl.store.source_terms import Defaults
from recrawl.units import show_duration
from recrawl.web.context import Context


def effect(context: Context, source: Source, progress: Progress, found: Explanation, clicks: ClickTotals) -> str:
    """The sentence; empty where nobody clicked, nothing was learned from it yet, or it is not fetched."""
    heard = clicks.clicks or clicks.searches
    if found.state != "active" or not heard or not progress.belief or not math.isfinite(found.price):
        return ""
    learned = context.cached.get(("appeal", source.id), 10.0, lambda: appeal(context, source, progress))
    if learned is None:
        return ""
    times, half_life = learned
    without = _bounded(found, _without_clicks(context, source, progress, times, found.price))
    now = _bounded(found, found.crossing_age_s)
    draws = f"Its items draw {times:.2g} times the clicks of an average item"
    fades = f", half of them within {show_duration(half_life)}"
    return (
        f"{draws}{fades}. At this price it is fetched every {show_duration(now)}; without clicks it would be "
        f"every {show_duration(without)}."
    )


def appeal(context: Context, source: Source, progress: Progress) -> tuple[float, float] | None:
    """Clicks per item compared with the catalogue's mean, and their half-life in seconds; None if not known."""
    if progress.last is None:
        return None
    ranking = context.state().ranking([source], [progress], context.now())
    if not isinstance(ranking.policy, Readers):
        return None
    times, half_life = ranking.policy.appeal(np.array([ranking.numbers[source.id]]))
    known = math.isfinite(times[0]) and math.isfinite(half_life[0]) and times[0] > 0.0
    return (float(times[0]), float(half_life[0])) if known else None


def _without_clicks(context: Context, source: Source, progress: Progress, times: float, price: float) -> float:
    """The crossing age had nobody clicked: as worthy as an average item, fading as its owner or the settings say."""
    assert progress.last is not None
    terms = source.terms(Defaults.of(context.in_force()))
    plain = msgspec.structs.replace(source, importance=terms.importance / times, half_life=terms.half_life_s)
    now = context.now()
    return context.state().ranking([plain], [progress], now).standing(progress, now, price).meets - progress.last


def _bounded(found: Explanation, age: float) -> float:
    return max(min(age, found.max_age_s), found.min_interval_s)
