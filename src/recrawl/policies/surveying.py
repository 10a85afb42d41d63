"""What a catalogue would spend at a price: counted source by source, within what hosts allow.

A shard of a fleet says this to whoever moves the price. Sources that are away or held for a while count: they come
back. Those held for ever (paused, retired) do not. A host is visited at most once per delay, however many sources it
has and however low the price; at that limit a change of the price changes which of its sources are fetched, not how
much is spent, so its slope is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recrawl.records import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Survey:
    """A catalogue at a price.

    Parameters
        demand: tokens per second its sources would spend, those never crawled left out
        slope: d demand / d ln price, at most 0
        backlog: tokens it would take to crawl all whose index is above the price, or age above their maximum, now
        newcomers: sources never crawled that may be crawled now
        sources: how many others there are
        siblings: of the newcomers, those whose family has another among them: together they count as one
    """

    demand: float = 0.0
    slope: float = 0.0
    backlog: float = 0.0
    newcomers: int = 0
    sources: int = 0
    siblings: int = 0


def within_delay(
    demand: FloatArray, slope: FloatArray, cost: FloatArray, group: IntArray, delay: float
) -> tuple[float, float]:
    """Sums of demand and slope where no group is visited more often than once per `delay`.

    >>> two, one = np.array([2.0, 2.0, 0.1]), np.ones(3)
    >>> within_delay(two, -one, one, np.array([0, 0, 1]), delay=1.0)
    (1.1, -1.0)
    """
    if delay <= 0.0 or len(demand) == 0:
        return float(demand.sum()), float(slope.sum())
    visits = np.bincount(group, demand / cost)
    crowded = visits * delay > 1.0
    if not crowded.any():
        return float(demand.sum()), float(slope.sum())
    spent, slopes = np.bincount(group, demand), np.bincount(group, slope)
    full = spent[crowded] / (visits[crowded] * delay)
    return float(spent[~crowded].sum() + full.sum()), float(slopes[~crowded].sum())
