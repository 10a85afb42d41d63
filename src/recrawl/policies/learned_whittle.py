"""The learned index policy: learn value and rate of every source from what crawls show, crawl the highest index.

Nothing is known beforehand. Beliefs are those of :mod:`recrawl.learning.beliefs`: a posterior per source, a law over
the catalogue, and an index that is averaged over doubt, looks ahead to busy hours, or follows a plan, as the objective
and what visits show have it. Doubt about a slow source makes its averaged index grow with age, so that no separate
exploration is needed; `act` offers Thompson draws and optimism beside it, and `max_age` a floor under all of them.

The ranking is that of the exact index, found by looking at those few that are awake (:mod:`recrawl.scheduling.awake`).
Sources never crawled wait in a queue of their own with a share of every budget (:mod:`recrawl.policies.cold_start`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from recrawl.arguments import number, one_of, plain, several, shown
from recrawl.errors import ParameterError
from recrawl.learning.atoms import ACTS, Act
from recrawl.learning.beliefs import CatalogueBeliefs
from recrawl.learning.columns import Column, Columns
from recrawl.learning.layouts import LAYOUT, READABLE
from recrawl.learning.model import OBJECTIVES, Objective, Setting
from recrawl.learning.rates import UNIX_TIMES
from recrawl.learning.readership import Clicked
from recrawl.policies import asking
from recrawl.policies.asking import times
from recrawl.policies.base import RankedPolicy
from recrawl.policies.cold_start import ALONE, ColdStart
from recrawl.policies.contract import Beliefs, Reason
from recrawl.policies.surveying import Survey, within_delay
from recrawl.records import BoolArray, FloatArray, IntArray, Sources, Visits, checked, whole_numbers
from recrawl.scheduling.awake import Awake
from recrawl.scheduling.spending import ROUNDING, spend
from recrawl.units import parse_duration

OVERDUE = 1e250
"""Above every index: a source past its maximum age, the oldest first."""
NEWCOMERS_SHARE = (0.5, 1.0)
"""Of the budget, in general and under freshness."""
SMOOTHING = 1 / 8
"""How much of the newest observation the smoothed price takes over."""
LEAST_AWAKE = 64
"""Of so many sources, or of the root of all if those are more, it is worth knowing the order."""
BELOW, SHORTEST_SLEEP_S = 1.0 - 1e-9, 0.01
"""Margins for rounding: sleepers are below the mark by this factor, and sleep no shorter than this."""
RESTLESS = 64
"""So many choices are made before it is tried again to let anybody sleep who would not."""
PACE_GROWTH = 1.25
"""The usual floor is weighed anew when so much more has been spent."""
PRICE_STEP, SAMPLE = 1.02, 4096
"""By which factor the price is moved to see how demand follows it, and of how many sources, evenly taken, it is seen:
the slope only says how far to go next."""


class Desk(Columns):
    """What the policy itself keeps of every source."""

    columns: ClassVar[Mapping[str, Column]] = {
        "last": Column(np.float64, -np.inf),
        "since": Column(np.float64, 0.0),
        "held_until": Column(np.float64, -np.inf),
        "importance": Column(np.float64, 1.0),
        "cost": Column(np.float64, 1.0),
        "max_age": Column(np.float64, np.nan),
        "visited": Column(np.bool_, False),
        "away": Column(np.bool_, False),
        "removed": Column(np.bool_, False),
        "group": Column(np.int64, 0),
        "kin": Column(np.int64, ALONE),
        "turn": Column(np.float64, 0.0),
    }
    last: FloatArray
    since: FloatArray
    held_until: FloatArray
    importance: FloatArray
    cost: FloatArray
    max_age: FloatArray
    visited: BoolArray
    away: BoolArray
    removed: BoolArray
    group: IntArray
    kin: IntArray
    turn: FloatArray


class LearnedWhittle(RankedPolicy):
    """The index of learned parameters.

    Parameters
        objective: "ephemeral" (interest captured), "freshness" (time copies are fresh), "discovery" (delay to new
            items), "changes" (changes found, weighted by the worth collected with them)
        half_life: of an item's interest, for sources without one of their own; None to learn it from worth or interest.
            Times are in time units, or as text such as `6h`, which is seconds
        act: "mean" for the index averaged over the posterior, "thompson" for posterior draws, "optimism" for the
            average plus one standard deviation
        max_age: a source this old goes before all others, oldest first; None for no floor
        rounds: that floor is not below so many rounds of the catalogue at the pace it is crawled at, so that it takes
            at most 1/rounds of the budget; maximum ages that owners gave (`configure`) are kept to
        memory: half-life of evidence, in time units; None for never forgetting
        rates: slowest and fastest rate told apart, per time unit; None for a range that suits the clock
        cold_start: share of every budget kept for sources never crawled, while any wait; more where they are more of
            the catalogue. None for a half, and under freshness for all of it: a page never copied is as stale as can be

    *Cold start.* A source with n newcomers ahead of it is first chosen before more than (n + 1)/cold_start tokens have
    been offered to `choose` (at equal costs, and if nothing holds it), whatever the price. Ahead are those of larger
    importance × half-life / cost, and of equal ones those added before; of a family (`configure`), one member for each
    of the source's own family before it, and at least one.
    """

    def __init__(
        self,
        objective: Objective = "ephemeral",
        half_life: str | float | timedelta | None = None,
        act: Act = "mean",
        max_age: str | float | timedelta | None = None,
        memory: str | float | timedelta | None = None,
        rates: tuple[float, float] | None = None,
        seed: int = 0,
        cold_start: float | None = None,
        rounds: float = 0.0,
    ) -> None:
        super().__init__(seed)
        one_of("objective", objective, OBJECTIVES)
        one_of("act", act, ACTS)
        self.objective, self.act = objective, act
        self.half_life, self.max_age = _some_time("half_life", half_life), _some_time("max_age", max_age)
        self.memory, self.rates = _some_time("memory", memory), None if rates is None else _range("rates", rates)
        share = NEWCOMERS_SHARE[objective == "freshness"] if cold_start is None else cold_start
        self.cold_start = number("cold_start", share, "a share > 0 and <= 1", open_low=True, high=1.0)
        self.rounds = number("rounds", rounds, "a finite number >= 0")

    # -- the catalogue

    def start(
        self,
        targets: int,
        now: float,
        sources: Sources | None = None,
        groups: npt.ArrayLike | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Forget everything; see :meth:`Policy.start`. `targets` may be 0."""
        targets, self.now, numbers = asking.beginning(targets, now, sources, groups, labels)
        self.random = np.random.default_rng(self.seed)
        self.tick, self.asked, self.asked_before = 0.0, -math.inf, -math.inf
        self.grouped = numbers is not None
        self.group_held_until: dict[int, float] = {}
        self.group_free: FloatArray = np.empty(0)
        self.desk = Desk(0)
        self.mind = CatalogueBeliefs(self._setting())
        self.awake = Awake()
        self.newcomers = ColdStart(self.cold_start, self.now, self.grouped)
        self.admitted = 0
        self.cheapest = math.inf
        self.gone = 0
        self.floor = math.inf if self.max_age is None else self.max_age
        self.whole, self.paid, self.paid_since, self.weigh_at = 0.0, 0.0, self.now, 0.0
        self.restless = 0
        """So many choices are made before it is tried again to let anybody sleep."""
        self.price = math.nan
        self.mark = 0
        self.stale = False
        self._enter(targets, numbers, labels, None if sources is None else sources.cost)

    def add(self, count: int, groups: npt.ArrayLike | None = None, labels: Sequence[str] | None = None) -> IntArray:
        """Make room for new targets, in constant time each on average; returns their ids."""
        self.require_start()
        count = asking.more(count, labels)
        if groups is not None and not self.grouped:
            if len(self.desk):
                raise ParameterError("groups", "None: the policy was started without groups", groups)
            self.grouped = True
            self.newcomers = ColdStart(self.cold_start, self.now, self.grouped)
        numbers = None
        if self.grouped:
            first = int(self.desk.group[: len(self.desk)].max(initial=-1)) + 1 if groups is None else 0
            numbers = asking.group_numbers(np.arange(count) + first if groups is None else groups, count)
        return self._enter(count, numbers, labels, None)

    def _enter(
        self, count: int, groups: IntArray | None, labels: Sequence[str] | None, cost: FloatArray | None
    ) -> IntArray:
        desk, before = self.desk, len(self.desk)
        desk.grow(count)
        self.mind.enter(count, labels)
        self.awake.grow(count)
        ids = np.arange(before, before + count)
        desk.since[ids] = self.now
        if groups is not None and count:
            desk.group[ids] = groups
            self._room_for_groups(int(groups.max()) + 1)
        if cost is not None:
            desk.cost[ids] = cost
            self.mind.weight[ids] = 1.0 / cost
        self.cheapest = min(self.cheapest, float(desk.cost[ids].min(initial=math.inf)))
        self.whole += float(desk.cost[ids].sum())
        return ids

    def configure(
        self,
        ids: npt.ArrayLike,
        *,
        importance: npt.ArrayLike | None = None,
        half_life: npt.ArrayLike | None = None,
        max_age: npt.ArrayLike | None = None,
        cost: npt.ArrayLike | None = None,
        kin: npt.ArrayLike | None = None,
    ) -> None:
        """Options of some sources, numbers or one per id; NaN restores the policy's own half-life or maximum age.

        `kin` numbers families of sources that share what one newcomer is owed, from 0; -1 for none. It counts for
        sources that no other call has named yet.
        """
        chosen, desk = self._known(ids), self.desk
        size, positive = len(chosen), "finite and > 0"
        if importance is not None:
            importance = asking.numbers("importance", importance, "finite and >= 0", size)
        half_life = None if half_life is None else asking.own_times("half_life", half_life, positive, size)
        max_age = None if max_age is None else asking.own_times("max_age", max_age, "> 0 or inf", size)
        cost = None if cost is None else asking.numbers("cost", cost, positive, size, open_low=True)
        if kin is not None:
            fresh = chosen >= self.admitted
            desk.kin[chosen[fresh]] = np.broadcast_to(np.asarray(kin, np.int64), chosen.shape)[fresh]
        if importance is not None:
            desk.importance[chosen] = importance
        if half_life is not None:
            self.mind.half_life[chosen] = half_life
        if max_age is not None:
            desk.max_age[chosen] = max_age
        if cost is not None:
            here = np.unique(chosen[~desk.removed[chosen]])
            self.whole -= float(desk.cost[here].sum())
            desk.cost[chosen] = cost
            self.whole += float(desk.cost[here].sum())
            self.cheapest = min(self.cheapest, float(desk.cost[chosen].min(initial=math.inf)))
        self.mind.weight[chosen] = desk.importance[chosen] / desk.cost[chosen]
        self.mind.agree(chosen)
        inside = chosen[(chosen < self.admitted) & ~desk.removed[chosen]]
        waiting = inside[~desk.visited[inside]]
        self.awake.rouse(inside[desk.visited[inside]])
        if len(waiting):
            self.newcomers.configure(waiting, self._merit(waiting), desk.turn[waiting], desk.cost[waiting])

    def remove(self, ids: npt.ArrayLike) -> None:
        """Never choose these again."""
        self._admit()
        chosen, desk = self._known(ids), self.desk
        chosen = np.unique(chosen[~desk.removed[chosen]])
        desk.removed[chosen] = True
        self.gone += len(chosen)
        self.mind.leave(chosen)
        self.whole -= float(desk.cost[chosen].sum())
        self.awake.sleep(chosen, np.full(len(chosen), math.inf))
        self._leave_newcomers(chosen[~desk.visited[chosen]])

    # -- choosing

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """The share of those never crawled, then the highest indices; what one side leaves, the other may spend."""
        now, budget, _ = self.question(now, budget, states)
        self._follow_clock(now)
        self._admit()
        if self.stale:
            self._settle()
        tokens = min(budget, float(self.desk.cost[: len(self.desk)].sum())) if math.isinf(budget) else float(budget)
        chosen = self._pick(now, tokens) if tokens + ROUNDING >= self.cheapest else np.empty(0, np.int64)
        self.desk.away[chosen] = True
        self._follow_pace(now, float(self.desk.cost[chosen].sum()))
        return chosen

    def _follow_pace(self, now: float, spent: float) -> None:
        """How fast the catalogue is crawled, over its last round or two, and what that makes of the usual floor."""
        if self.max_age is None or self.rounds == 0.0:
            return
        self.paid += spent
        if self.paid > 2.0 * self.whole:
            self.paid, self.paid_since = 0.5 * self.paid, 0.5 * (self.paid_since + now)
            self.weigh_at = 0.0
        if self.paid >= self.weigh_at and now > self.paid_since and self.paid > 0.0:
            self.weigh_at = PACE_GROWTH * self.paid + 1.0
            before = self.floor
            self.floor = max(self.max_age, self.rounds * self.whole * (now - self.paid_since) / self.paid)
            if self.floor < before:
                self._rouse_all()

    def _longest(self, ids: IntArray) -> FloatArray:
        """The maximum ages of some sources."""
        own = self.desk.max_age[ids]
        return np.where(np.isnan(own), self.floor, own)

    def _follow_clock(self, now: float) -> None:
        """The least time between two choices is the tick of the index, where time is counted in slots."""
        gap = now - self.asked
        if now < UNIX_TIMES and 0.0 < gap < math.inf:
            before, self.tick = self.tick, gap if self.tick == 0.0 else min(self.tick, gap)
            if self.tick != before:
                self._rouse_all()
        if now < self.asked:  # what a later hour said of those asleep need not hold in an earlier one
            self._rouse_all()
        self.asked_before, self.asked, self.now = self.asked, now, max(self.now, now)

    def _pick(self, now: float, budget: float) -> IntArray:
        cost, newcomers = self.desk.cost, self.newcomers
        first = self._from_newcomers(now, newcomers.earn(budget, self.admitted - self.gone), np.empty(0, np.int64))
        spent = float(cost[first].sum())
        newcomers.pay(spent)
        second = self._from_ranking(now, budget - spent, first)
        taken = np.concatenate([first, second]) if len(first) else second
        rest = budget - float(cost[taken].sum())
        more = self._from_newcomers(now, rest, taken)
        return np.concatenate([taken, more]) if len(more) else taken

    def _from_newcomers(self, now: float, budget: float, taken: IntArray) -> IntArray:
        """Choose from the queue, leaving out the hosts of those taken; the chosen are in flight."""
        queue = self.newcomers
        if budget <= ROUNDING or len(queue) == 0:
            return np.empty(0, np.int64)
        hosts = np.unique(self.desk.group[taken]) if self.grouped and len(taken) else np.empty(0, np.int64)
        if len(hosts):
            queue.hold(hosts, math.inf)
        chosen = queue.choose(now, budget)
        if len(hosts):
            queue.hold(hosts, [self.group_held_until.get(host, -math.inf) for host in hosts.tolist()])
        queue.serve(self._merit(chosen), self.desk.turn[chosen])
        return chosen

    def _from_ranking(self, now: float, budget: float, taken: IntArray) -> IntArray:
        """The highest indices among those crawled before, leaving out the hosts of those taken."""
        if budget + ROUNDING < self.cheapest:
            return np.empty(0, np.int64)
        while True:
            ids = self.awake.at(now)
            free = ids[self._free(ids, now, taken)]
            scores = self._scores(free, now)
            group = self.desk.group[free] if self.grouped else None
            chosen, lowest, end = spend(free, scores, self.desk.cost[free], group, budget, self.cheapest)
            if self.awake.everybody or end >= self.awake.mark:
                break
            self._rouse_all()
        if end > -math.inf:
            self._follow_price(lowest, self._just_freed(chosen))
        self._let_sleep(len(ids), free, scores, now, len(chosen))
        return chosen

    def _free(self, ids: IntArray, now: float, taken: IntArray) -> BoolArray:
        """Which of some sources may be chosen by index."""
        desk = self.desk
        free: BoolArray = desk.visited[ids] & ~desk.away[ids] & ~desk.removed[ids] & (desk.held_until[ids] <= now)
        if self.grouped:
            free &= self.group_free[desk.group[ids]] <= now
            if len(taken):
                free &= ~np.isin(desk.group[ids], desk.group[taken])
        return free

    def _scores(self, ids: IntArray, now: float) -> FloatArray:
        """What some sources are ranked by; those past their maximum age before all others."""
        since, longest = self.desk.since[ids], self._longest(ids)
        scores = self.mind.index(ids, since, now, self.tick)
        overdue = now - since >= longest
        if overdue.any():
            scores[overdue] = OVERDUE * ((now - since[overdue]) / longest[overdue])
        return scores

    def _let_sleep(self, awake: int, free: IntArray, scores: FloatArray, now: float, wanted: int) -> None:
        """If too many are awake, raise the mark, and let those sleep that are far from being chosen."""
        few = max(LEAST_AWAKE, 4 * wanted, math.isqrt(len(self.awake)))
        self.restless -= 1
        if awake <= 4 * few or self.restless > 0 or self.tick > 0.0:
            return
        self.restless = RESTLESS
        desk, group = self.desk, self.desk.group[free] if self.grouped else None
        first, mark, _ = spend(free, scores, np.ones(len(free)), group, float(few), 1.0)
        if len(first) < few or not mark < OVERDUE:
            return
        mark = max(mark, self.awake.mark)
        ids = self.awake.at(now)
        low = ids[~desk.away[ids]]
        until = self.mind.asleep_until(low, desk.since[low], now, mark * BELOW)
        until = np.maximum(np.minimum(until, desk.since[low] + self._longest(low)), desk.held_until[low])
        waits = until > now + SHORTEST_SLEEP_S
        self.awake.mark = mark
        self.awake.sleep(low[waits], until[waits])
        if awake - np.count_nonzero(waits) <= 2 * few:
            self.restless = 0

    def _rouse_all(self) -> None:
        """Everybody's index may have changed, or the mark is too high."""
        desk, end = self.desk, self.admitted
        self.awake.rouse_all(np.flatnonzero(desk.visited[:end] & ~desk.removed[:end]))
        self.restless = 0

    def _just_freed(self, chosen: IntArray) -> bool:
        """Whether all of these were held until now: then each was worth more than the price, and none tells it."""
        held = self.desk.held_until[chosen]
        if self.grouped:
            held = np.maximum(held, self.group_free[self.desk.group[chosen]])
        return bool((held > self.asked_before).all())

    def _follow_price(self, lowest: float, at_most: bool) -> None:
        """The last token bought a source of this index; with `at_most` the price is known to be no higher."""
        if not 0.0 < lowest < OVERDUE or (at_most and lowest > self.price):
            return
        self.price = self.price + SMOOTHING * (lowest - self.price) if math.isfinite(self.price) else lowest

    # -- learning

    def observe(self, visits: Visits) -> None:
        """Learn from the visits that did not fail, note their time, and take all out of flight."""
        ids, desk = self._known(asking.visits_of(visits).ids), self.desk
        self._admit()
        self.now = max(self.now, visits.now)
        useful = visits if visits.failed is None or not visits.failed.any() else successful(visits)
        seen = useful.ids
        if len(seen):
            everybody = self.mind.learn(useful, desk.since[seen], ~desk.visited[seen])
            self._leave_newcomers(seen[~desk.visited[seen] & ~desk.removed[seen]])
            desk.last[seen] = desk.since[seen] = visits.now
            desk.visited[seen] = True
            if everybody:
                self._rouse_all()
        self._land(ids)

    def feedback(
        self,
        ids: npt.ArrayLike,
        *,
        born: npt.ArrayLike,
        found: npt.ArrayLike,
        at: npt.ArrayLike,
        clicks: npt.ArrayLike,
        now: float,
        before: npt.ArrayLike = 0.0,
        mark: int | None = None,
    ) -> IntArray:
        """Readers opened items; which sources are believed otherwise now.

        Parameters
            ids: the source of each item
            born: when each was published (found, where that is not known), Unix seconds
            found: when a crawl found it
            at: when it was opened, on average
            clicks: how often
            before: how often it had been opened before, as far as that is known
            mark: how far the record of clicks has been read, kept for whoever reads it (`mark`)

        What was found and not opened is known from `observe`. The appeal of a source is relative to the catalogue's,
        so that clicks move tokens between sources; an owner's importance multiplies it, an owner's half-life stands.
        """
        chosen = self._known(ids)
        columns = [
            np.broadcast_to(checked(name, given, "finite", low=low), chosen.shape)
            for name, given, low in (
                ("born", born, -math.inf),
                ("found", found, -math.inf),
                ("at", at, -math.inf),
                ("clicks", clicks, 0.0),
                ("before", before, 0.0),
            )
        ]
        self._admit()
        self.now = max(self.now, float(now))
        self.mark = self.mark if mark is None else int(mark)
        touched = np.unique(chosen)
        if self.mind.listen(chosen, Clicked(*columns), self.now):
            self._rouse_all()
        else:
            self.awake.rouse(touched[self.desk.visited[touched] & ~self.desk.removed[touched]])
        return touched

    def release(self, ids: npt.ArrayLike) -> None:
        """Take ids out of flight that were not crawled after all."""
        chosen = self._known(ids)
        self._admit()
        self._land(chosen)

    def _land(self, ids: IntArray) -> None:
        """Out of flight, as old as the last successful visit says."""
        desk = self.desk
        desk.away[ids] = False
        present = ids[~desk.removed[ids]]
        old, new = present[desk.visited[present]], present[~desk.visited[present]]
        self.awake.rouse(old)
        if len(new):
            self.newcomers.land(new, desk.held_until[new])

    # -- holding

    def hold(self, ids: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose these before `until`, one time or one per id."""
        chosen, desk = self._known(ids), self.desk
        moments = times("until", until, len(chosen))
        self._admit()
        desk.held_until[chosen] = moments
        free = chosen[~desk.removed[chosen] & ~desk.away[chosen]]
        if not len(free):
            return
        crawled = desk.visited[free]
        self.awake.rouse(free[crawled])
        if not crawled.all():
            new = np.unique(free[~crawled])
            self.newcomers.defer(new, desk.held_until[new])

    def hold_groups(self, groups: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose any target of these groups before `until`, one time or one per group."""
        numbers = whole_numbers("groups", groups)
        moments = times("until", until, len(numbers))
        self.group_held_until.update(zip(numbers.tolist(), moments.tolist(), strict=True))
        if self.grouped and len(numbers):
            self._room_for_groups(int(numbers.max()) + 1)
            self.group_free[numbers] = moments
            if len(self.newcomers):
                distinct = np.unique(numbers)
                self.newcomers.hold(distinct, [self.group_held_until[group] for group in distinct.tolist()])

    def _room_for_groups(self, count: int) -> None:
        before = len(self.group_free)
        if count > before:
            longer = np.full(max(count, 2 * before, 64), -math.inf)
            longer[:before] = self.group_free
            self.group_free = longer

    # -- looking

    def beliefs(self, ids: npt.ArrayLike) -> Beliefs:
        """Value and rate, importance not included, with standard deviations; NaN where nothing is known."""
        chosen = self._fresh(ids)
        return Beliefs(*self.mind.moments(chosen))

    def appeal(self, ids: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """What clicks have taught: interest in an item compared with the catalogue's mean, and half-life in seconds."""
        appeal, fading = self.mind.appeal(self._fresh(ids))
        return appeal, math.log(2.0) / fading

    def index(self, ids: npt.ArrayLike, now: npt.ArrayLike) -> FloatArray:
        """What sources are ranked by if they are not crawled before `now`, one time or one each; NaN before any crawl.

        Maximum ages are not considered.
        """
        chosen = self._fresh(ids)
        when = np.broadcast_to(np.asarray(now, np.float64), chosen.shape)
        return self.mind.index(chosen, self.desk.since[chosen], when, self.tick)

    def reasons(self, ids: npt.ArrayLike, now: float) -> list[Reason]:
        """The numbers behind the index of each."""
        chosen = self._fresh(ids)
        found = self.mind.reasons(chosen, self.desk.since[chosen], float(now))
        for reason, longest in zip(found, self._longest(chosen).tolist(), strict=True):
            reason.numbers["max_age_s"] = longest
        return found

    def due(self, ids: npt.ArrayLike, price: float | None = None) -> FloatArray:
        """When the index meets a price, by default the present one, or `max_age` is over: Unix time, inf for never.

        A source never crawled is due since it became known. Holds and flights are not considered.
        """
        chosen, desk = self._fresh(ids), self.desk
        level = self.price if price is None else float(price)
        since, latest = desk.since[chosen], desk.since[chosen] + self._longest(chosen)
        if math.isnan(level):
            return since.copy()
        return np.where(desk.visited[chosen], self.mind.meets(chosen, since, level, latest), since)

    def intervals(self, ids: npt.ArrayLike, price: float) -> FloatArray:
        """How long sources are left alone at a price, at no special hour; inf for one never worth it."""
        chosen = self._fresh(ids)
        return np.minimum(self.mind.intervals(chosen, float(price)), self._longest(chosen))

    def survey(self, price: float, now: float, min_interval: float = 0.0, delay: float = 0.0) -> Survey:
        """What would be spent at a price, with no source visited more often than once per `min_interval` seconds and
        no group more often than once per `delay`. A price of NaN counts sources, and nothing else.
        """
        self._fresh(np.empty(0, np.int64))
        desk, end = self.desk, len(self.desk)
        here = ~desk.removed[:end] & (desk.held_until[:end] < math.inf)
        waiting = here & ~desk.visited[:end] & ~desk.away[:end] & (desk.held_until[:end] <= now)
        ids = np.flatnonzero(here & desk.visited[:end])
        newcomers = int(np.count_nonzero(waiting))
        kin = desk.kin[:end][waiting]
        siblings = int(np.count_nonzero(kin != ALONE) - len(np.unique(kin[kin != ALONE])))
        if math.isnan(price):
            return Survey(newcomers=newcomers, siblings=siblings, sources=len(ids))
        checked("price", price, "finite and >= 0")
        cost, shortest = desk.cost[ids], max(min_interval, 1e-9)
        interval, some = np.maximum(self.intervals(ids, price), shortest), slice(None, None, len(ids) // SAMPLE + 1)
        spent, dearer = cost / interval, np.maximum(self.intervals(ids[some], price * PRICE_STEP), shortest)
        slope = np.zeros(len(ids))
        slope[some] = (cost[some] / dearer - spent[some]) / math.log(PRICE_STEP)
        if len(ids) > SAMPLE:
            slope = spent * (slope.sum() / max(spent[some].sum(), 1e-300))
        backlog = float(cost[(now - desk.since[ids] >= interval) & np.isfinite(interval)].sum())
        group = desk.group[ids] if self.grouped else np.arange(len(ids))
        total, slopes = within_delay(spent, slope, cost, group, delay)
        return Survey(total, slopes, backlog, newcomers, len(ids), siblings)

    # -- what shards of a fleet tell each other

    def summary(self) -> dict[str, FloatArray]:
        """Sums over sources to which all that is common to a catalogue is fitted; those of shards are added up."""
        return self.mind.summary()

    def adopt(self, others: dict[str, FloatArray]) -> None:
        """Count the summaries of other shards, added up; replaces what was adopted before."""
        self.mind.adopt(others)
        self._rouse_all()

    # -- keeping

    def rows(self, ids: npt.ArrayLike) -> list[bytes]:
        """All that was learned of some sources, a few hundred bytes each; empty where nothing was."""
        return self.mind.rows(self._known(ids))

    def load_rows(
        self,
        ids: npt.ArrayLike,
        rows: Sequence[bytes],
        last: npt.ArrayLike,
        visited: npt.ArrayLike | None = None,
    ) -> BoolArray:
        """Go on with sources as `rows` gave them; which of the rows could be used.

        `last` is the time of the last successful crawl (NaN or -inf for never), `visited` whether there was one: where
        there was none, `last` is since when the source is known. A row of an unknown layout is not used: its source
        is known to have been crawled, and nothing more.
        """
        chosen, desk = self._known(ids), self.desk
        when = np.array(np.broadcast_to(np.asarray(last, np.float64), chosen.shape))
        crawled = np.isfinite(when)
        if visited is not None:
            crawled &= np.broadcast_to(np.asarray(visited, np.bool_), chosen.shape)
            waiting = np.isfinite(when) & ~crawled
            desk.since[chosen[waiting]] = when[waiting]
        mine = chosen[crawled]
        self._leave_newcomers(mine[(mine < self.admitted) & ~desk.visited[mine] & ~desk.removed[mine]])
        desk.visited[mine] = True
        desk.last[mine] = desk.since[mine] = when[crawled]
        self._admit()
        used = self.mind.load_rows(chosen, rows, np.where(crawled, when, self.now))
        self.mind.know(mine, when[crawled])
        self._land(mine)
        self.stale = True
        return used

    def shared(self) -> bytes:
        """What belongs to no single source: priors, pooled profiles, the price."""
        state = {
            "layout": LAYOUT,
            "objective": self.objective,
            "price": None if math.isnan(self.price) else self.price,
            "credit": self.newcomers.credit,
            "pace": [self.paid, self.now - self.paid_since],
            "floor": self.floor,
            "mark": self.mark,
            "mind": self.mind.shared(),
        }
        return msgspec.msgpack.encode(state)

    def load_shared(self, state: bytes) -> bool:
        """Go on from `shared`; False, and nothing done, if it was written in another layout or for another task."""
        try:
            told: dict[str, Any] = msgspec.msgpack.decode(state)
            if told["layout"] not in READABLE or told["objective"] != self.objective:
                return False
            self.mind.load_shared(told["mind"])
            self.newcomers.credit = float(told.get("credit", 0.0))
            self.mark = int(told.get("mark", 0))
            self.paid, elapsed = told.get("pace", (0.0, 0.0))
            self.paid_since = self.now - float(elapsed)
            if self.max_age is not None and self.rounds > 0.0:
                self.floor = max(self.max_age, float(told.get("floor", 0.0)))
            self.price = math.nan if told["price"] is None else float(told["price"])
        except (msgspec.DecodeError, KeyError, TypeError, IndexError, ValueError, AttributeError):
            self.mind.forget_laws()
            return False
        self.stale = True
        return True

    # -- inside

    def _setting(self) -> Setting:
        return Setting(
            now=self.now,
            objective=self.objective,
            half_life=self.half_life,
            memory=self.memory,
            span=self.rates,
            act=self.act,
            random=self.random,
        )

    def _admit(self) -> None:
        """Bring sources added since the last call into the queue of newcomers, or, with a past, into the ranking."""
        first, end = self.admitted, len(self.desk)
        if end == first:
            return
        self.admitted = end
        desk, ids = self.desk, np.arange(first, end)
        merit, new = self._merit(ids), ~desk.visited[ids]
        desk.turn[ids[new]] = self.newcomers.turns(merit[new], desk.kin[ids[new]])
        group = desk.group[ids] if self.grouped else None
        self.newcomers.add(merit, desk.turn[ids], desk.cost[ids], group, desk.kin[ids])
        self._leave_newcomers(ids[~new])
        if self.grouped and self.group_held_until:
            held = [number for number in np.unique(desk.group[ids]).tolist() if number in self.group_held_until]
            self.newcomers.hold(np.array(held, np.int64), [self.group_held_until[number] for number in held])

    def _leave_newcomers(self, ids: IntArray) -> None:
        if len(ids):
            self.newcomers.leave(ids, self.desk.kin[ids])
            if len(self.newcomers) == 0:
                self.newcomers.begin(self.admitted, self.now)

    def _merit(self, ids: IntArray) -> FloatArray:
        """What newcomers are ranked by, before costs."""
        own = self.mind.half_life[ids] / self.mind.usual_half_life
        merit: FloatArray = self.desk.importance[ids] * np.where(np.isnan(own), 1.0, own)
        return np.maximum(merit, 1e-300)

    def _settle(self) -> None:
        self.stale = False
        self.mind.settle()
        self._rouse_all()

    def _fresh(self, ids: npt.ArrayLike) -> IntArray:
        chosen = self._known(ids)
        self._admit()
        if self.stale:
            self._settle()
        return chosen

    def _known(self, ids: npt.ArrayLike) -> IntArray:
        self.require_start()
        return asking.known(ids, len(self.desk))

    def _observed(self, states: npt.ArrayLike | None) -> FloatArray | None:
        return asking.states_of(states, len(self.desk))

    def require_start(self) -> None:
        """Refuse to work before `start`."""
        if not hasattr(self, "desk"):
            super().require_start()


def successful(visits: Visits) -> Visits:
    """The visits that did not fail."""
    assert visits.failed is not None
    good = np.flatnonzero(~visits.failed)
    kept: dict[str, Any] = {}
    for field in fields(visits):
        value = getattr(visits, field.name)
        if field.name == "now" or value is None:
            kept[field.name] = value
        elif isinstance(value, np.ndarray):
            kept[field.name] = value[good]
        else:
            kept[field.name] = [value[k] for k in good]
    return Visits(**kept)


def _some_time(name: str, given: str | float | timedelta | None) -> float | None:
    """A time longer than nothing, or None."""
    if given is None:
        return None
    seconds = given if plain(given) == math.inf else parse_duration(name, given)
    return number(name, seconds, "a time longer than nothing (such as 6h), inf or None", open_low=True)


def _range(name: str, given: tuple[float, float]) -> tuple[float, float]:
    """Two rates, the slower first."""
    expected = "the slowest and the fastest rate, both finite and > 0"
    pair = [number(name, each, expected, open_low=True) for each in several(name, given, expected)]
    if len(pair) != 2 or pair[0] >= pair[1]:
        raise ParameterError(name, expected, shown(given))
    return pair[0], pair[1]
