"""Policies side by side on what a web really published: the same items, the same budget, continuous time.

A policy is given one token every 1/budget seconds and crawls at that moment. It sees what a feed would show: its
latest `window` items. What it captures is the interest of the items it had not seen, faded since they were published;
the backlog of a first visit teaches, and is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recrawl.policies.contract import Policy
from recrawl.records import FloatArray, Sources, Visits


@dataclass(frozen=True, eq=False)
class Publications:
    """What sources published, and what an item of each is worth.

    Parameters
        times: per source, when it published, ascending, in seconds; the history before the start included
        interest: per source, worth of a new item
        half_life_s: per source, time in which that halves
        window: per source, how many of the latest items it shows
        start, end: when the contest begins and ends, in seconds
    """

    times: list[FloatArray]
    interest: FloatArray
    half_life_s: FloatArray
    window: FloatArray
    start: float
    end: float

    def __len__(self) -> int:
        return len(self.times)

    def rates(self) -> FloatArray:
        """Items per second during the contest: what an oracle is told."""
        span = self.end - self.start
        return np.array([np.count_nonzero((t > self.start) & (t <= self.end)) for t in self.times]) / span

    def sources(self, slot_s: float) -> Sources:
        """The same as a catalogue for policies that need to know it, in slots of so many seconds."""
        return Sources.ephemeral(
            arrival_rate=np.maximum(self.rates(), 1e-12) * slot_s,
            interest=self.interest,
            decay=np.log(2.0) / self.half_life_s * slot_s,
        )


@dataclass(frozen=True)
class Result:
    """What a policy captured with how many fetches."""

    captured: float
    fetches: int

    @property
    def per_fetch(self) -> float:
        """Interest captured per fetch."""
        return self.captured / max(self.fetches, 1)


def compete(policy: Policy, published: Publications, budget_per_s: float, sources: Sources | None = None) -> Result:
    """Run a policy over the whole contest."""
    count = len(published)
    policy.start(count, published.start, sources=sources)
    last = np.full(count, -np.inf)
    captured, fetches, slot = 0.0, 0, 1.0 / budget_per_s
    for k in range(1, int((published.end - published.start) * budget_per_s) + 1):
        now = published.start + k * slot
        chosen = policy.choose(now if sources is None else float(k), 1.0)
        fetches += len(chosen)
        for i in chosen.tolist():
            shown = published.times[i]
            end = int(np.searchsorted(shown, now, side="right"))
            listed = shown[max(end - int(published.window[i]), 0) : end]
            new = listed[listed > last[i]]
            if last[i] > -np.inf:
                captured += float(published.interest[i] * np.sum(2.0 ** ((new - now) / published.half_life_s[i])))
            last[i] = now
            policy.observe(Visits(np.array([i]), now if sources is None else float(k), published=[new]))
    return Result(captured, fetches)
