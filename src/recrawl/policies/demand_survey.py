"""What a catalogue would spend at a price: counted source by source, within what hosts allow.

A shard of a fleet says this to whoever moves the price. Sources that are away or held for a while count: they come
back. Those held for ever (paused, retired) do not. A host is visited at most once per delay, however many sources it
has and however low the price; at that limit a change of the price changes which of its sources are fetched, not how
much is spent, so its slope is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recrawl.policies.source_columns import ALONE, SourceColumns
from recrawl.records import FloatArray, IntArray, checked

PRICE_STEP, SAMPLE = 1.02, 4096
"""By which factor the price is moved to see how demand follows it, and of how many sources, evenly taken, it is seen:
the slope only says how far to go next."""


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


def survey_of(
    kept: SourceColumns,
    intervals: Callable[[IntArray, float], FloatArray],
    price: float,
    now: float,
    min_interval: float,
    delay: float,
) -> Survey:
    """The catalogue at a price, given how long sources are left alone at one; NaN counts sources, and nothing else."""
    end = len(kept)
    here = ~kept.removed[:end] & (kept.held_until[:end] < math.inf)
    waiting = here & ~kept.visited[:end] & ~kept.away[:end] & (kept.held_until[:end] <= now)
    ids = np.flatnonzero(here & kept.visited[:end])
    newcomers = int(np.count_nonzero(waiting))
    kin = kept.kin[:end][waiting]
    siblings = int(np.count_nonzero(kin != ALONE) - len(np.unique(kin[kin != ALONE])))
    if math.isnan(price):
        return Survey(newcomers=newcomers, siblings=siblings, sources=len(ids))
    checked("price", price, "finite and >= 0")
    cost, shortest = kept.cost[ids], max(min_interval, 1e-9)
    interval, some = np.maximum(intervals(ids, price), shortest), slice(None, None, len(ids) // SAMPLE + 1)
    spent, dearer = cost / interval, np.maximum(intervals(ids[some], price * PRICE_STEP), shortest)
    slope = np.zeros(len(ids))
    slope[some] = (cost[some] / dearer - spent[some]) / math.log(PRICE_STEP)
    if len(ids) > SAMPLE:
        slope = spent * (slope.sum() / max(spent[some].sum(), 1e-300))
    backlog = float(cost[(now - kept.since[ids] >= interval) & np.isfinite(interval)].sum())
    group = kept.group[ids] if kept.grouped else np.arange(len(ids))
    total, slopes = within_delay(spent, slope, cost, group, delay)
    return Survey(total, slopes, backlog, newcomers, len(ids), siblings)


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
