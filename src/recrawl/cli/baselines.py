"""What other rules would have captured on the web a crawler has just crawled, at the same budget.

They are run on the web's own record of what it published, in its virtual time, in which their constants (minutes, days)
mean what they say. A rule that leaves budget unspent is also run *filled*, in the proportions it asks for, and shown at
its better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from recrawl import policies
from recrawl.sim.contest import Oracle, Publications, Result, compete
from recrawl.synthweb.ledger import SourceTruth

RULES = ("round_robin", "miniflux", "nutch_adaptive")
WITH_TIMERS = ("miniflux", "nutch_adaptive")


def publications(truths: Sequence[SourceTruth], start: float, end: float, speed: float) -> Publications:
    """The record of a web between two Unix times, stretched to virtual seconds."""
    return Publications(
        times=[start + (np.asarray(truth.times) - start) * speed for truth in truths],
        interest=np.array([truth.interest for truth in truths]),
        half_life_s=np.array([truth.half_life_s for truth in truths]) * speed,
        window=np.array([truth.window for truth in truths], dtype=np.float64),
        start=start,
        end=start + (end - start) * speed,
    )


def all_equal(published: Publications, half_life_s: float) -> Publications:
    """The same record with every item worth 1 and fading alike: what nobody can be told more of than others."""
    count = len(published)
    return replace(published, interest=np.ones(count), half_life_s=np.full(count, half_life_s))


def results(published: Publications, budget_per_s: float) -> dict[str, Result]:
    """Each rival's result at so many fetches per virtual second."""
    outcome = {}
    for name in RULES:
        tries = [policies.make(name)]
        if name in WITH_TIMERS:
            tries.append(policies.make(name, filled=True))
        outcome[name] = max((compete(each, published, budget_per_s) for each in tries), key=lambda r: r.captured)
    outcome["oracle"] = compete(Oracle(published), published, budget_per_s)
    return outcome
