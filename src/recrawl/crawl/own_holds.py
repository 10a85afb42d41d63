"""Until when a source may not be fetched again for reasons of its own, and when it is due with regard to them.

Pure. The decider holds sources by it, and the explanation lists its parts. Its host is another matter (`hosts`), and so
are its hours (`recrawl.config.active_from`) and a crawl its owner asked for (`requested_crawls`), which waits for none
of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class OwnHold(NamedTuple):
    """Until when each reason holds a source, Unix seconds; in the past for what does not.

    Parameters
        visit: what its last visit led to: a back-off, or what its publisher asks for
        min_interval: no source is fetched more often
        interval: the fixed one of its owner
    """

    visit: float
    min_interval: float
    interval: float

    @property
    def until(self) -> float:
        """When the last of them is over."""
        return max(self)


def own_hold(last: float, min_interval_s: float, interval_s: float | None, held_until: float = 0.0) -> OwnHold:
    """Of a source that was last fetched then; NaN for never."""
    since = -math.inf if math.isnan(last) else last
    return OwnHold(held_until, since + min_interval_s, since + (interval_s or 0.0))


def due_at(ranked: float, held_until: float, interval_s: float) -> float:
    """When a source is fetched: when it is worth it, or at its owner's fixed interval (0 for none), but while held.

    >>> due_at(ranked=50.0, held_until=30.0, interval_s=0.0), due_at(ranked=50.0, held_until=30.0, interval_s=30.0)
    (50.0, 30.0)
    """
    return held_until if interval_s else max(ranked, held_until)
