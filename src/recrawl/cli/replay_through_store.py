"""Replays by the live program: `recrawl.Scheduler` over a store of its own, with a clock that a replay moves.

Everything is as in production but the fetches and the time: keys are written to SQLite, handed out by `due` under the
scheduler's own budget, and come back by `report`. What it crawls is held to the replay's rules, and scored by them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import numpy as np

from recrawl.clock import ManualClock
from recrawl.config.live_policies import live_policy
from recrawl.errors import ParameterError
from recrawl.policies import live
from recrawl.records import FloatArray, IntArray, Visits
from recrawl.scheduler import Scheduler
from recrawl.sim.comparison import Contender, Job
from recrawl.sim.replay import ReplayedCrawls, replay
from recrawl.sim.scenarios import DAY_S, Scenario, half_life_s
from recrawl.sim.traces import Trace

WRITE_EVERY = "1s"


def entries(chosen: Sequence[Contender]) -> list[Contender]:
    """Those entries as the live program runs them."""
    return [replace(entry, through_store=True) for entry in chosen]


def check(chosen: Sequence[Contender]) -> None:
    """ParameterError if the live program cannot run one of those that are to go through the store."""
    for entry in chosen:
        if not entry.through_store:
            continue
        live_policy("a policy through the store", entry.written)
        if entry.scaled or entry.grouped:
            raise ParameterError("a policy through the store", "neither scaled nor grouped", repr(entry.written))


def play(job: Job, trace: Trace) -> ReplayedCrawls:
    """The crawls of a scheduler in a scenario; its store is made for it, and gone afterwards."""
    with StoredScheduler(job) as scheduler:
        return replay(job.scenario, trace, scheduler, job.budget)


class StoredScheduler:
    """A scheduler that a replay can run as if it were a policy."""

    soft_budget = False

    def __init__(self, job: Job) -> None:
        self.uses_lists = live(job.entry.written).uses_lists
        """Lists are keys beside those of pages and sources."""
        self._terms = terms(job.scenario, job.budget) | {"policy": job.entry.written}
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def start(self, targets: int, now: float, *, labels: Sequence[str] | None = None) -> None:
        """Open a store of its own, and take in a key for each target."""
        folder = self._held.enter_context(TemporaryDirectory(prefix="recrawl-replay-"))
        self._clock = ManualClock(now)
        store = Path(folder) / "recrawl.db"
        self._scheduler = self._held.enter_context(Scheduler(store, clock=self._clock, **self._terms))
        self._keys = distinct(labels if labels is not None else [str(number) for number in range(targets)])
        self._number = {key: number for number, key in enumerate(self._keys)}
        self._scheduler.add_many({key: {} for key in self._keys})

    def choose(self, now: float, budget: float) -> IntArray:
        """What is due at that time."""
        self._clock.advance(now - self._clock.now())
        due = self._scheduler.due(limit=int(budget))
        return np.array([self._number[key] for key in due], dtype=np.int64)

    def observe(self, visits: Visits) -> None:
        """Report what each fetch brought, one by one."""
        for place, number in enumerate(visits.ids.tolist()):
            if visits.sitemap is not None and (said := visits.sitemap[place]) is not None:
                self._scheduler.report(self._keys[number], sitemap=self._named(*said))
            elif visits.published is not None:
                self._scheduler.report(self._keys[number], published=np.asarray(visits.published[place]).tolist())
            else:
                assert visits.changed is not None
                self._scheduler.report(self._keys[number], changed=bool(visits.changed[place]))

    def _named(self, pages: IntArray, lastmod: FloatArray) -> list[tuple[str, float | None]]:
        """What a list says, by keys."""
        pairs = zip(pages.tolist(), lastmod.tolist(), strict=True)
        return [(self._keys[page], None if math.isnan(at) else at) for page, at in pairs]


def terms(scenario: Scenario, budget: float) -> dict[str, Any]:
    """What a scheduler is told, so that it has the tokens of the replay and the scenario's objective."""
    told: dict[str, Any] = {
        "budget": budget / DAY_S,
        "burst": max(1.0, budget * scenario.tick_s / DAY_S),
        "objective": scenario.objective,
        "write_every": WRITE_EVERY,
    }
    half_life = half_life_s(scenario)
    return told if half_life is None else told | {"half_life": half_life}


def distinct(labels: Sequence[str]) -> list[str]:
    """The labels as keys; those that are not the only ones of their name get a number.

    >>> distinct(["a", "b", "a"])
    ['a#1', 'b', 'a#2']
    """
    times, taken, keys = Counter(labels), set(labels), []
    for label in labels:
        key, number = label, 0
        while times[label] > 1 and key in taken:
            number += 1
            key = f"{label}#{number}"
        taken.add(key)
        keys.append(key)
    return keys
