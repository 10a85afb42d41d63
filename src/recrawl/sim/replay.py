"""Replay: a policy on a real trace, told only what its own crawls would have shown.

Time runs in ticks. At the end of tick k, at starts_at + k·tick_s, the bucket receives one tick's income and holds at
most max(1, one tick's income); if it holds a whole token, the policy chooses, and its crawls happen at that very time.
An event at e is seen by the first crawl at t ≥ e. A crawl of a page shows whether it changed since the last one (the
first is the baseline and shows nothing), a crawl of a source the items published since the last one, a crawl of a list
what it states at that time about each of its pages.

Lists are targets numbered after the pages, and only for policies that use them (`uses_lists`): the others are given the
pages alone, and spend nothing on lists. Which of its targets are lists a policy sees when it visits them.

Looking ahead is impossible by construction: the policy is handed the number of targets, their names, the time, the
tokens, and :class:`Visits` made from events up to that time. The trace itself never reaches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from recrawl.compiled_code import njit
from recrawl.errors import ContractError
from recrawl.records import FloatArray, IntArray, Listed, Visits
from recrawl.sim.scenarios import DAY_S, Scenario
from recrawl.sim.trace_lists import TraceList
from recrawl.sim.traces import Trace

TOKEN = DAY_S
"""A token in the units the balance is counted in: 1/86400 of it, so that every tick's income is whole."""


@dataclass(frozen=True, eq=False)
class ReplayedCrawls:
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
        self._lists = [_ListWorld(each) for each in trace.lists]

    def __len__(self) -> int:
        return len(self._next) + len(self._lists)

    def crawl(self, ids: IntArray, now: float) -> list[Visits]:
        """What a crawl of these targets at this moment shows: of pages or sources, then of lists."""
        targets, lists = ids[ids < len(self._next)], ids[ids >= len(self._next)]
        shown = [self._crawl_targets(targets, now)] if len(targets) else []
        if len(lists):
            said = [self._lists[number - len(self._next)].crawl(now) for number in lists.tolist()]
            shown.append(Visits(lists, now, sitemap=said))
        return shown

    def _crawl_targets(self, ids: IntArray, now: float) -> Visits:
        begins, ends = self._next[ids], _up_to(now, ids, self._next, self._offsets, self._times)
        self._next[ids] = ends
        if self._items:
            pairs = zip(begins.tolist(), ends.tolist(), strict=True)
            return Visits(ids, now, published=[self._times[begin:end].copy() for begin, end in pairs])
        changed = (ends > begins) & self._copied[ids]
        self._copied[ids] = True
        return Visits(ids, now, changed=changed)


class _ListWorld:
    """What crawls show of one list."""

    def __init__(self, entries: TraceList) -> None:
        self._entries = entries
        self._all = np.arange(len(entries.pages))
        self._next = entries.offsets[:-1].copy()

    def crawl(self, now: float) -> Listed:
        """The pages that stand in it, and when each is said to have been modified."""
        entries = self._entries
        self._next = _up_to(now, self._all, self._next, entries.offsets, entries.listed_at)
        there = self._next > entries.offsets[:-1]
        return entries.pages[there], entries.lastmod[self._next[there] - 1]


class Player(Protocol):
    """What can be replayed: every policy, and whatever else decides like one."""

    uses_lists: bool
    """Whether lists are of use to it."""

    def start(self, targets: int, now: float, *, labels: Sequence[str] | None = None) -> None:
        """Begin with so many targets, known by their labels."""
        ...

    def choose(self, now: float, budget: float) -> IntArray:
        """Whom to crawl now, for a token each."""
        ...

    def observe(self, visits: Visits) -> None:
        """What those crawls showed."""
        ...


class World(Protocol):
    """What crawls show."""

    def __len__(self) -> int: ...

    def crawl(self, ids: IntArray, now: float) -> Sequence[Visits]:
        """What a crawl of these targets at this moment shows, in the order it is observed."""
        ...


def replay(scenario: Scenario, trace: Trace, policy: Player, budget: float) -> ReplayedCrawls:
    """Run a policy through a scenario at `budget` fetches per day; returns what it crawled."""
    world = TraceWorld(trace if policy.uses_lists else trace.without_lists(), items=not scenario.pages)
    labels = [*trace.labels, *(each.label for each in trace.lists)][: len(world)]
    policy.start(len(world), float(scenario.starts_at), labels=labels)
    ticks = range(scenario.starts_at + scenario.tick_s, scenario.ends_at + 1, scenario.tick_s)
    crawls = list(play(policy, world, map(float, ticks), scenario.income(budget)))
    ids = np.concatenate([ids for _, ids in crawls]) if crawls else np.empty(0, np.int64)
    times = np.array([now for now, _ in crawls], dtype=np.int64)
    return ReplayedCrawls(ids, np.repeat(times, [len(ids) for _, ids in crawls]))


def play(
    policy: Player, world: World, moments: Iterable[float], income: int = TOKEN
) -> Iterator[tuple[float, IntArray]]:
    """Let a policy that has started crawl a world, with so much income at each moment; who was crawled when."""
    balance, capacity = 0, max(TOKEN, income)
    for now in moments:
        balance = min(balance + income, capacity)
        if balance < TOKEN:
            continue
        ids = policy.choose(now, float(balance // TOKEN))
        if len(ids) == 0:
            continue
        _check(ids.tolist(), balance // TOKEN, len(world))
        balance -= TOKEN * len(ids)
        for visits in world.crawl(ids, now):
            policy.observe(visits)
        yield now, ids


def _check(ids: list[int], tokens: int, targets: int) -> None:
    """Hold the policy to the rules of a replay: a token per crawl, at most one crawl per target and tick."""
    if len(ids) > tokens:
        raise ContractError(f"the policy chose {len(ids)} targets with {tokens} tokens")
    if min(ids) < 0 or max(ids) >= targets or len(set(ids)) < len(ids):
        raise ContractError(f"the policy must choose distinct ids from 0 to {targets - 1}, got {ids}")
