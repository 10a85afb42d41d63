"""What lists are worth: the same pages at the same budget without their lists, with all of them believed, and with
trust that each has to earn; and how that trust develops.

A list is *found out* once what the learner believes of it tells nothing about its pages, and stays so: its trust, the
probability that it tells anything at all, is below `FOUND_OUT`. How long that took is counted in later visits to its
pages (a first copy shows no change), because nothing but visits can tell.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from recrawl.policies.believes_lists import BelievesLists
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.records import BoolArray, IntArray
from recrawl.sim.replay import ReplayedCrawls, TraceWorld, play, replay
from recrawl.sim.scenarios import DAY_S, Scenario
from recrawl.sim.scoring import score
from recrawl.sim.trace_lists import TraceList
from recrawl.sim.traces import Trace

FOUND_OUT, BELIEVED = 0.05, 0.95


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What was believed of one list, and when.

    Parameters
        name: its label
        days: when trust was asked for, in days since the start
        trust: at those times; None before it was first read
        right: share of its signals that are true, as believed in the end; None if it was never read
        tells: share of the changes that it tells of, likewise
        truly_right: share of its signals that were true; None if there were none
        found_out_after: later visits to its pages until it was found out; None if it was not
        believed_after: later visits to its pages until it was believed, and stayed so; None if it was not
    """

    name: str
    days: list[float]
    trust: list[float | None]
    right: float | None
    tells: float | None
    truly_right: float | None
    found_out_after: int | None
    believed_after: int | None


class ListContest(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of time fresh, and what became of each list.

    Parameters
        without: nobody reads lists
        believed: every list is taken at its word
        learned: each list is trusted as far as it has been right
    """

    pages: int
    changes: int
    days: float
    budget_per_day: float
    without: float
    believed: float
    learned: float
    lists: list[Standing]


def compete_with_lists(scenario: Scenario, trace: Trace, budget: float, asked_on: list[float]) -> ListContest:
    """Play a freshness scenario three times; trust is asked for on these days of it."""
    crawls, watched = _watched(scenario, trace, budget)
    blind = replay(scenario, trace, BelievesLists(), budget)
    alone = replay(scenario, trace.without_lists(), LearnedWhittle(objective="freshness"), budget)
    fresh = [score(scenario, trace, log, budget).value for log in (alone, blind, crawls)]
    return ListContest(
        pages=len(trace),
        changes=len(trace.times),
        days=(scenario.ends_at - scenario.starts_at) / DAY_S,
        budget_per_day=budget,
        without=fresh[0],
        believed=fresh[1],
        learned=fresh[2],
        lists=[
            each.standing(asked_on, _truly_right(trace, said, scenario.starts_at))
            for each, said in zip(watched, trace.lists, strict=True)
        ],
    )


class Watched:
    """How trust in one list came and went, crawl by crawl."""

    def __init__(self, target: int, name: str, pages: IntArray, start: float) -> None:
        self.target, self.name, self.pages, self.start = target, name, pages, start
        self.visits: list[int] = []
        self.trust: list[float] = []
        self.days: list[float] = []
        self.right = self.tells = float("nan")
        self.copied: set[int] = set()
        self.later = 0

    def look(self, policy: LearnedWhittle, now: float, ids: IntArray) -> None:
        """Note what is believed after these crawls; before the list was read there is nothing to note."""
        visited = ids[np.isin(ids, self.pages)].tolist()
        self.later += len(self.copied.intersection(visited))
        self.copied.update(visited)
        found = next((each for each in policy.lists(now) if each.id == self.target), None)
        if found is None:
            return
        self.visits.append(self.later)
        self.trust.append(found.trust)
        self.days.append((now - self.start) / DAY_S)
        self.right, self.tells = found.precision, found.recall

    def standing(self, asked_on: list[float], truly_right: float | None = None) -> Standing:
        """In a few figures."""
        trust, last = np.array(self.trust), np.searchsorted(self.days, asked_on, side="right") - 1
        return Standing(
            name=self.name,
            days=asked_on,
            trust=[None if place < 0 else self.trust[place] for place in last.tolist()],
            right=_known(self.right),
            tells=_known(self.tells),
            truly_right=truly_right,
            found_out_after=self._since(trust < FOUND_OUT),
            believed_after=self._since(trust > BELIEVED),
        )

    def _since(self, holds: BoolArray) -> int | None:
        """After how many visits something came to hold, and held from then on."""
        if not len(holds) or not holds[-1]:
            return None
        return self.visits[int(np.flatnonzero(~holds)[-1]) + 1] if not holds.all() else 0


def _truly_right(trace: Trace, said: TraceList, start: float) -> float | None:
    """Of what a list said since the start: which share of it came with a change of the page since it spoke before."""
    true: list[bool] = []
    for place, page in enumerate(said.pages.tolist()):
        at = said.listed_at[said.offsets[place] : said.offsets[place + 1]]
        changes = trace.times[trace.offsets[page] : trace.offsets[page + 1]]
        changed = np.diff(np.searchsorted(changes, at, side="right"), prepend=0) > 0
        true += changed[at > start].tolist()
    return float(np.mean(true)) if true else None


def _known(share: float) -> float | None:
    return None if math.isnan(share) else share


def _watched(scenario: Scenario, trace: Trace, budget: float) -> tuple[ReplayedCrawls, list[Watched]]:
    """Let the learner play, and look at what it believes after every crawl."""
    policy, world, start = LearnedWhittle(objective="freshness"), TraceWorld(trace, items=False), scenario.starts_at
    policy.start(len(world), float(start), labels=[*trace.labels, *(each.label for each in trace.lists)])
    watched = [Watched(len(trace) + k, each.label, each.pages, start) for k, each in enumerate(trace.lists)]
    log: list[tuple[float, IntArray]] = []
    ticks = range(start + scenario.tick_s, scenario.ends_at + 1, scenario.tick_s)
    for now, ids in play(policy, world, map(float, ticks), scenario.income(budget)):
        log.append((now, ids))
        for each in watched:
            each.look(policy, now, ids)
    ids = np.concatenate([ids for _, ids in log])
    return ReplayedCrawls(ids, np.repeat([int(now) for now, _ in log], [len(ids) for _, ids in log])), watched
