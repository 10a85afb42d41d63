"""Policies side by side on what a web really published: the same items, the same budget, continuous time.

A policy is given one token every 1/budget seconds and crawls at that moment. One that can run live is told what owners
said of their sources, as it is there. It sees what a feed would show: its latest `window` items. What it captures is
the interest of the items it had not seen, faded since they were published; the backlog of a first visit teaches, and
is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recrawl.kernels.continuous_index import continuous_index
from recrawl.kernels.worth import decay_of, remaining
from recrawl.learning.censoring import missed_items
from recrawl.policies.base import RankedPolicy
from recrawl.policies.contract import LivePolicy, Policy
from recrawl.records import FloatArray, IntArray, Visits
from recrawl.sim.replay import play


@dataclass(frozen=True, eq=False)
class Publications:
    """What sources published, and what an item of each is worth.

    Parameters
        times: per source, when it published, ascending, in seconds; the history before the start included
        interest: per source, worth of a new item
        half_life_s: per source, time in which that halves
        window: per source, how many of the latest items it shows
        start, end: when the contest begins and ends, in seconds
        max_age_s: per source, how old it may get; None for any age
        labels: per source, its URL; None if it has none
    """

    times: list[FloatArray]
    interest: FloatArray
    half_life_s: FloatArray
    window: FloatArray
    start: float
    end: float
    max_age_s: FloatArray | None = None
    labels: list[str] | None = None

    def __len__(self) -> int:
        return len(self.times)

    def rates(self) -> FloatArray:
        """Items per second during the contest: what an oracle is told."""
        span = self.end - self.start
        return np.array([np.count_nonzero((t > self.start) & (t <= self.end)) for t in self.times]) / span


class Oracle(RankedPolicy):
    """The highest index, with the rates that come true and the half-lives that are."""

    def __init__(self, published: Publications) -> None:
        super().__init__()
        self.fading = decay_of(published.half_life_s)
        self.value = published.rates() * published.interest / self.fading

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """The index; of a source never crawled, what it is worth once ripe."""
        return np.asarray(continuous_index(self.value, self.fading, now - self.last))


@dataclass(frozen=True)
class Result:
    """What a policy captured with how many fetches."""

    captured: float
    fetches: int

    @property
    def per_fetch(self) -> float:
        """Interest captured per fetch."""
        return self.captured / max(self.fetches, 1)


def _begin(policy: Policy, published: Publications) -> None:
    """Start, with what a live program knows of its sources before the first crawl."""
    count = len(published)
    policy.start(count, published.start, labels=published.labels)
    if isinstance(policy, LivePolicy):
        terms = {"importance": published.interest, "half_life": published.half_life_s, "max_age": published.max_age_s}
        policy.configure(np.arange(count), **terms)


class ListedItems:
    """What crawls show where each source lists its latest items, and the interest they have captured so far."""

    def __init__(self, published: Publications) -> None:
        self._published = published
        self._last = np.full(len(published), -np.inf)
        self.captured = 0.0

    def __len__(self) -> int:
        return len(self._published)

    def crawl(self, ids: IntArray, now: float) -> list[Visits]:
        """What a crawl of these sources at this moment shows."""
        published, news, missed = self._published, [], []
        for i in ids.tolist():
            shown, last = published.times[i], self._last[i]
            end = int(np.searchsorted(shown, now, side="right"))
            listed = shown[max(end - int(published.window[i]), 0) : end]
            new = listed[listed > last]
            news.append(new)
            missed.append(missed_items(listed, len(new), last, now))
            if last > -np.inf:
                left = remaining(now - new, published.half_life_s[i])
                self.captured += float(published.interest[i] * np.sum(left))
            self._last[i] = now
        return [Visits(ids, now, published=news, new=np.array(missed))]


def compete(policy: Policy, published: Publications, budget_per_s: float) -> Result:
    """Run a policy over the whole contest."""
    _begin(policy, published)
    world, slot = ListedItems(published), 1.0 / budget_per_s
    slots = range(1, int((published.end - published.start) * budget_per_s) + 1)
    crawls = play(policy, world, (published.start + k * slot for k in slots))
    fetches = sum(len(ids) for _, ids in crawls)
    return Result(world.captured, fetches)
