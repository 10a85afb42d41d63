"""What a visit leads to, what is learned from it, and what finding something was worth."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from recrawl.store.base import Settlement


@dataclass(slots=True)
class Lesson:
    """What the policy may learn from a visit.

    Parameters
        kind: "items" (feeds, sitemaps), "page", or "failed"
        published: times of new dated items; the whole backlog on a first visit
        new: new items without a date, and those believed missed; on a first visit those of the backlog, which came at
            no known time
        changed: whether a page differed
    """

    kind: str
    published: list[float] = field(default_factory=list)
    new: int = 0
    changed: bool = False


@dataclass(slots=True)
class Settled:
    """What a visit leads to.

    Parameters
        hold_until: when its source may be fetched again at the earliest
        taken: if it has moved, then to an address that is another source's already
    """

    settlement: Settlement
    lesson: Lesson
    hold_until: float
    taken: bool = False


def dated_worth(importance: float, now: float, times: list[float], half_life_s: float, ephemeral: bool) -> float:
    """Interest captured by finding items that were published at these times."""
    if not ephemeral:
        return importance * len(times)
    return importance * sum(2.0 ** (-max(now - time, 0.0) / half_life_s) for time in times)


def blind_worth(importance: float, gap: float, half_life_s: float, ephemeral: bool) -> float:
    """Interest captured on average by finding something that came at an unknown moment of a gap."""
    decayed = gap * math.log(2.0) / half_life_s
    return importance * (1.0 if not ephemeral or decayed < 1e-9 else -math.expm1(-decayed) / decayed)
