"""What readers' clicks did to a source's cadence, worked out from what the crawler keeps of it.

The crawler believes a source whose items draw a times the clicks of the average item, fading at μ, to have the value
aΛ/μ and the rate μ. Without clicks it would be Λ/μ₀ and μ₀, with the half-life of the settings; both meet the present
price at an age that is known in closed form, and the sentence says both.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.crawl.explanation import Explanation
from recrawl.kernels.continuous_index import age_at_price
from recrawl.store.base import ClickTotals, Progress, Source
from recrawl.units import show_duration
from recrawl.web.desk import Desk


def effect(desk: Desk, source: Source, progress: Progress, found: Explanation, clicks: ClickTotals) -> str:
    """The sentence; empty where nobody clicked, or nothing was learned from it yet."""
    if not clicks.clicks or not progress.belief or not math.isfinite(found.price):
        return ""
    learned = desk.cached.get(("appeal", source.id), 10.0, lambda: appeal(desk, source, progress))
    if learned is None:
        return ""
    times, half_life = learned
    without = _bounded(found, _without_clicks(desk, source, progress, times, found.price))
    now = _bounded(found, found.crossing_age_s)
    draws = f"Its items draw {times:.2g} times the clicks of an average item"
    fades = f", half of them within {show_duration(half_life)}"
    return (
        f"{draws}{fades}. At this price it is fetched every {show_duration(now)}; without clicks it would be "
        f"every {show_duration(without)}."
    )


def appeal(desk: Desk, source: Source, progress: Progress) -> tuple[float, float] | None:
    """Clicks per item compared with the catalogue's mean, and their half-life in seconds; None if not known."""
    from recrawl.config.live_policies import LEARNED
    from recrawl.policies.contract import Readers
    from recrawl.policies.remembering import parted
    from recrawl.wiring import make_policy

    shared = parted(desk.store.shared() or b"").get(LEARNED)
    belief = parted(progress.belief).get(LEARNED)
    if shared is None or belief is None or progress.last is None:
        return None
    policy = make_policy(desk.config, LEARNED)
    policy.start(1, desk.now(), labels=[source.url])
    ids = np.array([0])
    policy.load_shared(shared)
    if source.half_life is not None:
        policy.configure(ids, half_life=np.array([source.half_life]))
    policy.load_rows(ids, [belief], np.array([progress.last]))
    if not isinstance(policy, Readers):
        return None
    times, half_life = policy.appeal(ids)
    known = math.isfinite(times[0]) and math.isfinite(half_life[0]) and times[0] > 0.0
    return (float(times[0]), float(half_life[0])) if known else None


def _without_clicks(desk: Desk, source: Source, progress: Progress, times: float, price: float) -> float:
    """The crossing age had nobody clicked."""
    arrivals = progress.value * progress.rate / times
    fading = math.log(2.0) / (source.half_life or desk.config.half_life_s)
    return float(age_at_price(source.importance * arrivals / fading, fading, price, source.cost))


def _bounded(found: Explanation, age: float) -> float:
    return max(min(age, found.max_age_s), found.min_interval_s)
