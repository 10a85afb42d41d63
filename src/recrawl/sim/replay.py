"""Replay: a policy on a real trace, told only what its own crawls would have shown.

Time runs in ticks. At the end of tick k, at starts_at + k·tick_s, the bucket receives one tick's income and holds at
most max(1, one tick's income); if it holds a whole token, the policy chooses, and its crawls happen at that very time.
An event at e is seen by the first crawl at t ≥ e. A crawl of a page shows whether it changed since the last one (the
first is the baseline and shows nothing), a crawl of a source the items published since the last one.

Looking ahead is impossible by construction: the policy is handed the number of targets, their names, the time, the
tokens, and :class:`Visits` made from events up to that time. The trace itself never reaches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numba import njit

from recrawl.errors import ContractError
from recrawl.records import FloatArray, IntArray, Visits
from recrawl.sim.scenarios import DAY_S, Scenario
from recrawl.sim.traces import Trace

TOKEN = DAY_S
"""A token in the units the balance is counted in: 1/86400 of it, so that every tick's income is whole."""


@dataclass(frozen=True, eq=False)
class CrawlLog:
    """Who was crawled when: places in the trace's targets and UTC seconds, in the order of the crawls."""

    ids: IntArray
    times: IntArray

    def __len__(self) -> int:
        return len(self.ids)


@njit(cache=True)
def _up_to(now: float, ids: IntArray, next_event: IntArray, offsets: IntArray, times: FloatArray) -> IntArray:
    """For each id the place behind its last event at or before `now`; each event is passed once in a replay."""
    ends = np.empty(len(ids), np.int64)
    for k in range(len(ids)):
        event, last = next_event[ids[k]], offsets[ids[k] + 1]
        while event < last and times[event] <= now:
            event += 1
        ends[k] = event
    return ends


class TraceWorld:
    """What crawls show of a trace, crawl by crawl; time never runs back."""

    def __init__(self, trace: Trace, items: bool) -> None:
        self._times: FloatArray = trace.times.astype(np.float64)
        self._offsets = trace.offsets
        self._next = trace.offsets[:-1].copy()
        self._copied = np.zeros(len(trace), dtype=bool)
        self._items = items

    def crawl(self, ids: IntArray, now: float) -> Visits:
        """What a crawl of these targets at this moment shows."""
        begins, ends = self._next[ids], _up_to(now, ids, self._next, self._offsets, self._times)
        self._next[ids] = ends
        if self._items:
            pairs = zip(begins.tolist(), ends.tolist(), strict=True)
            return Visits(ids, now, published=[self._times[begin:end].copy() for begin, end in pairs])
        changed = (ends > begins) & self._copied[ids]
        self._copied[ids] = True
        return Visits(ids, now, changed=changed)


class Player(Protocol):
    """What can be replayed: every policy, and whatever else decides like one."""

    def start(self, targets: int, now: float, *, labels: Sequence[str] | None = None) -> None:
        """Begin with so many targets, known by their labels."""
        ...

    def choose(self, now: float, budget: float) -> IntArray:
        """Whom to crawl now, for a token each."""
        ...

    def observe(self, visits: Visits) -> None:
        """What those crawls showed."""
        ...


def replay(scenario: Scenario, trace: Trace, policy: Player, budget: float) -> CrawlLog:
    """Run a policy through a scenario at `budget` fetches per day; returns what it crawled."""
    world = TraceWorld(trace, items=not scenario.pages)
    income = scenario.income(budget)
    balance, capacity = 0, max(TOKEN, income)
    policy.start(len(trace), float(scenario.starts_at), labels=trace.labels)
    chosen: list[IntArray] = []
    moments: list[int] = []
    for moment in range(scenario.starts_at + scenario.tick_s, scenario.ends_at + 1, scenario.tick_s):
        balance = min(balance + income, capacity)
        if balance < TOKEN:
            continue
        ids = policy.choose(float(moment), float(balance // TOKEN))
        if len(ids) == 0:
            continue
        _check(ids.tolist(), balance // TOKEN, len(trace))
        balance -= TOKEN * len(ids)
        policy.observe(world.crawl(ids, float(moment)))
        chosen.append(ids)
        moments.append(moment)
    counts = [len(ids) for ids in chosen]
    everything = np.concatenate(chosen) if chosen else np.empty(0, np.int64)
    return CrawlLog(everything, np.repeat(np.array(moments, dtype=np.int64), counts))


def _check(ids: list[int], tokens: int, targets: int) -> None:
    """Hold the policy to the rules of a replay: a token per crawl, at most one crawl per target and tick."""
    if len(ids) > tokens:
        raise ContractError(f"the policy chose {len(ids)} targets with {tokens} tokens")
    if min(ids) < 0 or max(ids) >= targets or len(set(ids)) < len(ids):
        raise ContractError(f"the policy must choose distinct ids from 0 to {targets - 1}, got {ids}")
