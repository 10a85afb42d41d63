"""Until when each source is held, and the one place that tells the policy so.

A source is held by what its last visit led to (a back-off, what its publisher asks for), by the least interval, by the
interval and the hours of its owner, and for ever if it is paused or retired, or has been fetched by a run that fetches
each source once. A crawl that its owner asked for waits for none of these but the last two. Its host is another matter
(`hosts`), except where every source is a host of its own: then the two holds are one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from recrawl.crawl.fetching.retry_after import MAX_RETRY_AFTER_S
from recrawl.crawl.hold_causes import HOST, INTERVAL, Wait
from recrawl.crawl.hosts import Hosts
from recrawl.crawl.own_holds import own_hold
from recrawl.crawl.owner_schedules import OwnerSchedules
from recrawl.crawl.roster import Roster
from recrawl.crawl.visits import CrawlRules, Intent, VisitOutcome
from recrawl.policies.contract import LivePolicy
from recrawl.records import FloatArray, IntArray
from recrawl.store.records import Progress
from recrawl.store.rows import pages

JUST_FETCHED = "it was fetched a short while ago (politeness.min_interval)"
FEW = 100
"""Of more sources than this, holds are found by columns."""
MOST_ASKED = 10_000
"""Of more sources than this, nobody is asked when the first is due."""


class Holds:
    """Of all sources, by the policy's numbers."""

    def __init__(
        self, roster: Roster, hosts: Hosts, schedules: OwnerSchedules, policy: LivePolicy, rules: CrawlRules
    ) -> None:
        self._roster, self._hosts, self._schedules, self._policy, self._rules = roster, hosts, schedules, policy, rules
        self.now = -math.inf
        """The latest time the decider was told."""
        self.once = False
        """Fetch no source a second time."""
        self._done: set[int] = set()
        """Those that are not fetched any more, then."""
        self._only: Collection[int] | None = None
        """Fetch no others, by the store's ids."""
        self._lifted: list[Progress] = []
        self._rechecked: list[int] = []

    # -- until when

    def until(self, number: int) -> float:
        """When nothing of its own holds a source back any more; nothing does where its owner asked for a crawl now.

        The least interval counts over restarts too.
        """
        if self._schedules.is_requested(number):
            return 0.0
        last, held_until = self._roster.last(number), self._roster.held_until(number)
        until = own_hold(last, self._rules.min_interval_s, self._schedules.interval_s(number), held_until).until
        return until if until == math.inf else self._schedules.opens(number, max(until, self.now))

    def ready(self, now: float) -> set[int]:
        """All active sources that nothing of their own holds back."""
        active = self._roster.everyone_active()
        return set(active[self._all_until(active) <= now].tolist())

    def reachable(self, numbers: Iterable[int], by: float) -> bool:
        """Whether any of these may be visited by a certain time, as far as it and its host are concerned."""
        flying = self._roster.in_flight
        return any(n in flying or max(self.until(n), self._hosts.free_at(n)) <= by for n in numbers)

    def next_due(self, now: float) -> float:
        """When the first of the sources that nothing holds is due; inf if that is not known, or takes long to say."""
        ready = self.ready(now)
        if not 0 < len(ready) <= MOST_ASKED:
            return math.inf
        return float(np.nanmin(self._policy.due(np.array(sorted(ready))), initial=math.inf))

    def ends(self, now: float) -> list[float]:
        """When the holds of sources and of hosts that still stand end, Unix seconds."""
        own = self._all_until(self._roster.everyone()).tolist()
        return [until for until in (*own, *self._hosts.all_free_at()) if now < until < math.inf]

    def waits(self, now: float) -> Iterator[Wait]:
        """Why active sources may not be fetched now."""
        for some in pages(self._roster.everyone_active().tolist()):
            yield from self._waits_of(some, now)

    def _waits_of(self, numbers: Sequence[int], now: float) -> Iterator[Wait]:
        until = [self.until(number) for number in numbers]
        held = [n for n, own in zip(numbers, until, strict=True) if self._roster.held_until(n) >= own > now]
        known = dict(zip(held, self._roster.progresses(held), strict=True))
        for number, own in zip(numbers, until, strict=True):
            host, why = self._hosts.held(number, now)
            if (progress := known.get(number)) is not None:
                yield Wait(progress.held_cause or "held", progress.held_by, max(own, host))
            elif host > now:
                yield Wait(HOST, why, max(own, host))
            elif own > now:
                yield Wait(INTERVAL, self._schedules.words(number, now) or JUST_FETCHED, own)

    def _all_until(self, numbers: IntArray) -> FloatArray:
        """`until` of many at once."""
        last, held_until, _ = self._roster.times(numbers)
        until = np.fmax(held_until, last + self._rules.min_interval_s)
        own = np.flatnonzero(np.isin(numbers, self._schedules.scheduled()))
        until[own] = [self.until(number) for number in numbers[own].tolist()]
        return until

    # -- telling the policy

    def tell(self, numbers: Sequence[int]) -> None:
        """Hold paused and retired sources for ever, the others as long as their own holds stand."""
        if len(numbers) > FEW and self._hosts.shared:
            self._tell_many(np.asarray(numbers, np.int64))
        elif len(numbers):
            until = [self._not_before(number, self.until(number)) for number in numbers]
            self._policy.hold(np.asarray(numbers, np.int64), np.array(until))

    def _tell_many(self, numbers: IntArray) -> None:
        until, active = self._all_until(numbers), self._roster.times(numbers)[2]
        until[~active | np.isin(numbers, [*self._done])] = math.inf
        self._policy.hold(numbers, until)

    def after_visits(self, numbers: Iterable[int], outcomes: Iterable[VisitOutcome]) -> None:
        """Hold sources as long as their visits ask for."""
        here = [(n, each) for n, each in zip(numbers, outcomes, strict=True) if n in self._roster]
        if here:
            until = np.array([self._not_before(n, each.hold_until) for n, each in here])
            self._policy.hold(np.array([n for n, _ in here]), until)

    def _not_before(self, number: int, until: float) -> float:
        if not self._roster.active(number) or number in self._done:
            return math.inf
        return until if self._hosts.shared else max(until, self._hosts.free_at(number))

    def choose_open(self, now: float, tokens: float) -> IntArray:
        """What the policy chooses, but for sources whose hours are over: these are held until they begin again."""
        schedules = self._schedules
        while True:
            chosen = self._policy.choose(now, tokens)
            if not schedules.any_hours:
                return chosen
            closed = [n for n in chosen.tolist() if schedules.opens(n, now) > now and not schedules.is_requested(n)]
            if not closed:
                return chosen
            together = set().union(*map(schedules.sharing, closed)).difference(self._roster.in_flight)
            self.tell(sorted(together.union(closed)))
            self._policy.release(np.array(closed))
            if len(closed) < len(chosen):
                return chosen[~np.isin(chosen, closed)]

    # -- hosts

    def host_changed(self, key: str, now: float) -> None:
        """Politeness has something new to say about a host."""
        if self._hosts.shared:
            self._hosts.tell([key], now)
        elif key in self._roster.urls:
            self.tell([self._roster.urls[key]])

    def end_visits(self, intents: Sequence[Intent], now: float) -> None:
        """The requests of these are over: their hosts are free again as soon as politeness allows."""
        if self._hosts.shared:
            self._hosts.end_visits([intent.number for intent in intents], now)
        else:
            self.tell([intent.number for intent in intents if self._hosts.free_at(intent.number) > now])

    # -- runs that fetch each source once

    def fetch_only(self, ids: Collection[int]) -> set[int]:
        """Fetch these alone, by the store's ids, and none twice; the numbers of those that are active."""
        self.once, self._only = True, frozenset(ids)
        numbers = self._roster.numbers
        others = [number for id, number in numbers.items() if id not in self._only]
        self._done.update(others)
        self.tell(others)
        return {number for id, number in numbers.items() if id in self._only and self._roster.active(number)}

    def added(self, number: int, id: int) -> None:
        """A source has come."""
        if self._only is not None and id not in self._only:
            self._done.add(number)

    def visited(self, numbers: Iterable[int]) -> None:
        """Sources have been fetched."""
        if self.once:
            self._done.update(numbers)

    # -- the settings that holds rest on

    def checked(self, number: int, progress: Progress, now: float) -> Progress:
        """Correct what a clock that was ahead wrote: nothing was crawled after now, no hold outlasts the longest.

        Holds do not stand without the settings they rest on.
        """
        if progress.last is not None:
            progress.last = min(progress.last, now)
        progress.held_until = min(progress.held_until, now + max(self._rules.max_backoff_s, MAX_RETRY_AFTER_S))
        if progress.is_held(now) and not self._stands(progress, number):
            progress.end_hold(now)
            self._lifted.append(progress)
        return progress

    def recheck(self, number: int, now: float) -> None:
        """Lift the hold of a source if what it rests on has changed."""
        if self._roster.held_until(number) <= now:
            return
        progress = self._roster.progress(number)
        if progress.is_held(now) and not self._stands(progress, number):
            self.lift(number, now)
            self._rechecked.append(number)

    def _stands(self, progress: Progress, number: int) -> bool:
        """Whether the settings that the hold of a source rests on are as they were."""
        if not progress.held_under:
            return True
        source = self._roster.source(number)
        options = source.terms(self._rules.defaults)
        return self._rules.causes.source_stands(progress.held_cause, progress.held_under, source, options)

    def lift(self, number: int, now: float) -> None:
        """A hold of a source's own is over."""
        progress = self._roster.progress(number)
        progress.end_hold(now)
        self._roster.put_progress(number, progress)
        if number not in self._roster.in_flight:
            self.tell([number])

    def drain_lifted(self) -> list[Progress]:
        """To be stored: sources that came since the last call with holds that do not stand under the settings."""
        lifted, self._lifted = self._lifted, []
        return lifted

    def drain_rechecked(self) -> list[int]:
        """Sources whose holds were lifted since the last call as what they rest on has changed."""
        rechecked, self._rechecked = self._rechecked, []
        return rechecked
