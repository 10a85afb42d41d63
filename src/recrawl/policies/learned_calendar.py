"""The learned index policy for catalogues too large to scan: every source is one (value, rate) in the calendar.

:class:`~recrawl.policies.learned_whittle.LearnedWhittle` asks its models for the index of every source at every choice.
Here each source is reduced to (v, r) when it is visited, and :class:`~recrawl.scheduling.calendar.Calendar` ranks by::

    index = continuous_index(importance·v, r, age, cost)

so that a choice and an observation cost nothing for sources they do not concern. Whoever knows v, r, the price and the
time of the last crawl can compute index and due time by hand: `beliefs` reports exactly what the calendar ranks by.
At each new hour the values of all feeds are written anew, once, by their profile of that hour. What this costs against
the dense policy is measured in docs/design/007.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError
from recrawl.kernels.continuous_index import continuous_index, crossing_age
from recrawl.kernels.demand import demand
from recrawl.learning.columns import Column, Columns
from recrawl.learning.live import LAYOUT, LiveBeliefs
from recrawl.learning.model import OBJECTIVES, Objective
from recrawl.learning.readership import Clicked
from recrawl.policies.base import RankedPolicy
from recrawl.policies.cold_start import ALONE, ColdStart, ranked
from recrawl.policies.contract import Beliefs, Reason
from recrawl.policies.learned_whittle import successful
from recrawl.policies.surveying import Survey, within_delay
from recrawl.records import BoolArray, FloatArray, IntArray, Sources, Visits, checked
from recrawl.scheduling.calendar import Calendar
from recrawl.scheduling.spending import ROUNDING

HOUR_S = 3600.0
ACTS = ("mean", "optimism")
OUTGROWN_FROM, OUTGROWN_FACTOR = 1024, 8
"""A calendar that has grown beyond so many sources, and by this factor, is built anew with a wheel that suits it."""


class Desk(Columns):
    """What the policy itself keeps of every source."""

    columns: ClassVar[dict[str, Column]] = {
        "last": Column(np.float64, -np.inf),
        "since": Column(np.float64, 0.0),
        "held_until": Column(np.float64, -np.inf),
        "importance": Column(np.float64, 1.0),
        "cost": Column(np.float64, 1.0),
        "max_age": Column(np.float64, np.inf),
        "visited": Column(np.bool_, False),
        "away": Column(np.bool_, False),
        "removed": Column(np.bool_, False),
        "group": Column(np.int64, 0),
        "kin": Column(np.int64, ALONE),
        "turn": Column(np.float64, 0.0),
        "value": Column(np.float64, 0.0),
        "value_sd": Column(np.float64, 0.0),
        "rate": Column(np.float64, 0.0),
        "rate_sd": Column(np.float64, 0.0),
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
    value: FloatArray
    value_sd: FloatArray
    rate: FloatArray
    rate_sd: FloatArray


class LearnedCalendar(RankedPolicy):
    """The index of learned parameters, ranked by the calendar.

    Parameters
        objective: "ephemeral" (interest captured), "freshness" (time copies are fresh), "discovery" (delay to new
            items), "changes" (changes found)
        half_life: of an item's interest, in seconds, for sources without one of their own; None for six hours
        act: "mean", or "optimism" for values raised by one standard deviation. Posterior draws are not offered: they
            could not be recomputed from what is reported
        max_age: a source this old goes before all others, longest overdue first; None for no floor
        memory: half-life of evidence about pages, in seconds; None for never forgetting
        rates: slowest and fastest change rate of pages told apart, per second; None for a range that suits half-life
            and clock
        cold_start: share of every budget kept for sources never crawled, while any wait; more where they are more of
            the catalogue

    *Cold start.* A source with n newcomers ahead of it is first chosen before more than (n + 1)/cold_start tokens have
    been offered to `choose` (at equal costs, and if nothing holds it), whatever the price. Ahead are those of larger
    importance × half-life / cost, and of equal ones those added before; of a family (`configure`), one member for each
    of the source's own family before it, and at least one.

    Worth and interest of items (`Visits.worth`, `Visits.interest`) are not looked at: every item counts 1, every change
    1, times the importance given. Where readers' clicks are told of (`feedback`), an item counts the appeal of its
    source, which is 1 on average.
    """

    def __init__(
        self,
        objective: Objective = "ephemeral",
        half_life: float | None = None,
        act: Literal["mean", "optimism"] = "mean",
        max_age: float | None = None,
        memory: float | None = None,
        rates: tuple[float, float] | None = None,
        seed: int = 0,
        cold_start: float = 0.5,
    ) -> None:
        super().__init__(seed)
        for name, given, allowed in (("objective", objective, OBJECTIVES), ("act", act, ACTS)):
            if given not in allowed:
                raise ParameterError(name, f"one of {', '.join(allowed)}", repr(given))
        for name, time in (("half_life", half_life), ("max_age", max_age), ("memory", memory)):
            if time is not None:
                checked(name, time, "a positive time, or None", open_low=True)
        checked("cold_start", cold_start, "a share > 0 and <= 1", open_low=True, high=1.0)
        self.objective, self.act, self.cold_start = objective, act, float(cold_start)
        self.half_life, self.max_age, self.memory, self.rates = half_life, max_age, memory, rates

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
        if targets < 0:
            raise ParameterError("targets", "a number of targets >= 0", targets)
        for name, given in (("sources", sources), ("labels", labels)):
            if given is not None and len(given) != targets:
                raise ParameterError(name, f"one per target ({targets})", f"{len(given)} {name}")
        numbers = None if groups is None else self._group_numbers(groups, targets)
        self.now = float(now)
        self.hour = math.floor(self.now / HOUR_S)
        self.grouped = numbers is not None
        self.group_held_until = {}
        self.desk = Desk(0)
        self.mind = LiveBeliefs(
            0, now, self.objective, self.half_life, self.memory, self.rates, self.act == "optimism", labels
        )
        self.admitted = 0
        self.known_price = math.nan
        self.mark = 0
        self.stale = False
        self._build()
        self._enter(targets, numbers, None if sources is None else sources.cost)

    def add(self, count: int, groups: npt.ArrayLike | None = None, labels: Sequence[str] | None = None) -> IntArray:
        """Make room for new targets, in constant time each on average; returns their ids."""
        self.require_start()
        if count < 0:
            raise ParameterError("count", ">= 0", count)
        if groups is not None and not self.grouped:
            if len(self.desk):
                raise ParameterError("groups", "None: the policy was started without groups", groups)
            self.grouped = True
            self._build()
        numbers = None
        if self.grouped:
            first = int(self.desk.group[: len(self.desk)].max(initial=-1)) + 1 if groups is None else 0
            numbers = self._group_numbers(np.arange(count) + first if groups is None else groups, count)
        return self._enter(count, numbers, None)

    def _enter(self, count: int, groups: IntArray | None, cost: FloatArray | None) -> IntArray:
        desk, before = self.desk, len(self.desk)
        desk.grow(count)
        self.mind.grow(count)
        ids = np.arange(before, before + count)
        desk.since[ids] = self.now
        desk.max_age[ids] = math.inf if self.max_age is None else self.max_age
        if groups is not None:
            desk.group[ids] = groups
        if cost is not None:
            desk.cost[ids] = cost
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
        if kin is not None:
            fresh = chosen >= self.admitted
            desk.kin[chosen[fresh]] = np.broadcast_to(np.asarray(kin, np.int64), chosen.shape)[fresh]
        if importance is not None:
            desk.importance[chosen] = checked("importance", importance, "finite and >= 0")
        if half_life is not None:
            self.mind.half_life[chosen] = _or_default("half_life", half_life, math.nan)
        if max_age is not None:
            usual = math.inf if self.max_age is None else self.max_age
            desk.max_age[chosen] = _or_default("max_age", max_age, usual)
        if cost is not None:
            desk.cost[chosen] = checked("cost", cost, "finite and > 0", open_low=True)
        inside = chosen[(chosen < self.admitted) & ~desk.removed[chosen]]
        self._believe(inside)
        if max_age is not None or cost is not None:
            self.calendar.configure(inside, desk.cost[inside], desk.max_age[inside])
        waiting = inside[~desk.visited[inside]]
        if len(waiting):
            if cost is not None:
                self.newcomers.queue.configure(waiting, desk.cost[waiting])
            self.newcomers.queue.update(waiting, ranked(self._merit(waiting), desk.turn[waiting]))

    def remove(self, ids: npt.ArrayLike) -> None:
        """Never choose these again."""
        self._admit()
        chosen, desk = self._known(ids), self.desk
        chosen = np.unique(chosen[~desk.removed[chosen]])
        desk.removed[chosen] = True
        self.calendar.remove(chosen)
        self._leave_newcomers(chosen[~desk.visited[chosen]])

    # -- choosing

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """The share of those never crawled, then the highest indices; what one side leaves, the other may spend."""
        self.require_start()
        if not budget >= 0.0:
            raise ParameterError("budget", ">= 0", budget)
        self._observed(states)
        self.now = max(self.now, float(now))
        self._admit()
        self._turn_hour(now)
        if self.stale:
            self._believe_all()
        tokens = min(budget, float(self.desk.cost[: len(self.desk)].sum())) if math.isinf(budget) else float(budget)
        chosen = self._pick(now, tokens)
        self.desk.away[chosen] = True
        return chosen

    def _pick(self, now: float, budget: float) -> IntArray:
        cost, newcomers = self.desk.cost, self.newcomers
        first = self._from(newcomers.queue, now, newcomers.earn(budget, len(self.calendar)), np.empty(0, np.int64))
        self._serve(first)
        spent = float(cost[first].sum())
        newcomers.pay(spent)
        second = self._from(self.calendar, now, budget - spent, first)
        taken = np.concatenate([first, second])
        rest = budget - float(cost[taken].sum())
        more = self._from(newcomers.queue, now, rest, taken)
        self._serve(more)
        return np.concatenate([taken, more])

    def _serve(self, chosen: IntArray) -> None:
        self.newcomers.serve(self._merit(chosen), self.desk.turn[chosen])

    def _from(self, calendar: Calendar, now: float, budget: float, taken: IntArray) -> IntArray:
        """Choose from one side, leaving out the hosts of those taken from the other; the chosen are in flight."""
        if budget <= ROUNDING or len(calendar) == 0:
            return np.empty(0, np.int64)
        hosts = np.unique(self.desk.group[taken]) if self.grouped and len(taken) else np.empty(0, np.int64)
        if len(hosts):
            calendar.hold(hosts, math.inf)
        chosen = calendar.choose(now, budget)
        if len(hosts):
            calendar.hold(hosts, [self.group_held_until.get(host, -math.inf) for host in hosts.tolist()])
        calendar.defer(chosen, math.inf)
        return chosen

    def _turn_hour(self, now: float) -> None:
        """Write the values of all feeds anew at each new hour."""
        hour = math.floor(now / HOUR_S)
        if hour != self.hour:
            self.hour = hour
            self._believe_all()

    # -- learning

    def observe(self, visits: Visits) -> None:
        """Learn from the visits that did not fail, note their time, and take all out of flight."""
        self.require_start()
        ids, desk = self._known(visits.ids), self.desk
        self._admit()
        self.now = max(self.now, visits.now)
        useful = visits if visits.failed is None or not visits.failed.any() else successful(visits)
        seen = useful.ids
        everybody = self.mind.learn(useful, desk.since[seen])
        new = seen[~desk.visited[seen] & ~desk.removed[seen]]
        desk.last[seen] = desk.since[seen] = visits.now
        desk.visited[seen] = True
        self._leave_newcomers(new)
        if everybody:
            self._believe_all()
        else:
            self._believe(seen)
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
        everybody = self.mind.listen(chosen, Clicked(*columns), self.now)
        touched = np.unique(chosen)
        if everybody:
            self._believe_all()
        else:
            self._believe(touched)
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
        self.calendar.crawled(old, desk.last[old])
        self.calendar.defer(old, desk.held_until[old])
        self.newcomers.queue.crawled(new, -math.inf)
        self.newcomers.queue.defer(new, desk.held_until[new])

    # -- holding

    def hold(self, ids: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose these before `until`, one time or one per id."""
        chosen, desk = self._known(ids), self.desk
        self._admit()
        desk.held_until[chosen] = _times("until", until, len(chosen))
        free = np.unique(chosen[~desk.removed[chosen] & ~desk.away[chosen]])
        old, new = free[desk.visited[free]], free[~desk.visited[free]]
        self.calendar.defer(old, desk.held_until[old])
        self.newcomers.queue.defer(new, desk.held_until[new])

    def hold_groups(self, groups: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose any target of these groups before `until`, one time or one per group."""
        numbers = np.atleast_1d(np.asarray(groups, dtype=np.int64))
        times = _times("until", until, len(numbers))
        self.group_held_until.update(zip(numbers.tolist(), times.tolist(), strict=True))
        if self.grouped:
            distinct = np.unique(numbers)
            standing = [self.group_held_until[group] for group in distinct.tolist()]
            self.calendar.hold(distinct, standing)
            self.newcomers.queue.hold(distinct, standing)

    # -- looking

    @property
    def price(self) -> float:
        """The index of the last source chosen by index, smoothed; NaN before the first."""
        price = self.calendar.price
        return self.known_price if math.isnan(price) else price

    def beliefs(self, ids: npt.ArrayLike) -> Beliefs:
        """Value and rate as the calendar ranks by them, importance not included, with standard deviations."""
        chosen, desk = self._known(ids), self.desk
        self._fresh(chosen)
        return Beliefs(desk.value[chosen], desk.value_sd[chosen], desk.rate[chosen], desk.rate_sd[chosen])

    def appeal(self, ids: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """What clicks have taught: interest in an item compared with the catalogue's mean, and half-life in seconds."""
        appeal, _, fading = self.mind.appeal(self._known(ids))
        return appeal, math.log(2.0) / fading

    def index(self, ids: npt.ArrayLike, now: float) -> FloatArray:
        """The index of some sources; of one never crawled, as if it had been when it became known."""
        chosen, desk = self._known(ids), self.desk
        self._fresh(chosen)
        age = np.maximum(now - desk.since[chosen], 0.0)
        worth = desk.importance[chosen] * desk.value[chosen]
        return np.atleast_1d(np.asarray(continuous_index(worth, desk.rate[chosen], age, desk.cost[chosen])))

    def due(self, ids: npt.ArrayLike, price: float | None = None) -> FloatArray:
        """When the index meets the present price, or another, or `max_age` is over: Unix time, inf for never.

        A source never crawled is due since it became known. Holds and flights are not considered.
        """
        chosen, desk = self._known(ids), self.desk
        self._fresh(chosen)
        price = self.price if price is None else price
        price = 0.0 if math.isnan(price) else price
        worth = desk.importance[chosen] * desk.value[chosen]
        wait = np.minimum(crossing_age(worth, desk.rate[chosen], price, desk.cost[chosen]), desk.max_age[chosen])
        return desk.since[chosen] + np.where(desk.visited[chosen], wait, 0.0)

    def intervals(self, ids: npt.ArrayLike, price: float) -> FloatArray:
        """How long sources are left alone at a price, at most their maximum age."""
        chosen, desk = self._known(ids), self.desk
        self._fresh(chosen)
        worth = desk.importance[chosen] * desk.value[chosen]
        return np.minimum(crossing_age(worth, desk.rate[chosen], price, desk.cost[chosen]), desk.max_age[chosen])

    def reasons(self, ids: npt.ArrayLike, now: float) -> list[Reason]:
        """The numbers behind the index of each."""
        chosen, found = self._known(ids), self.beliefs(ids)
        columns = {
            "value": found.value,
            "value_sd": found.value_sd,
            "rate_per_s": found.rate,
            "rate_sd": found.rate_sd,
            "importance": self.desk.importance[chosen],
            "cost": self.desk.cost[chosen],
        }
        return [
            Reason("closed", {name: float(column[k]) for name, column in columns.items()}) for k in range(len(chosen))
        ]

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
        worth, cost = desk.importance[ids] * desk.value[ids], desk.cost[ids]
        age = np.maximum(now - desk.since[ids], 0.0)
        each, slope, backlog = demand(worth, desk.rate[ids], price, cost, min_interval, desk.max_age[ids], age)
        group = desk.group[ids] if self.grouped else np.arange(len(ids))
        spent, slopes = within_delay(each, slope, cost, group, delay)
        return Survey(spent, slopes, backlog, newcomers, len(ids), siblings)

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

        `last` is the time of the last successful crawl (NaN or -inf for never), `visited` whether there was one. A
        row of another layout is not used: its source is known to have been crawled, and nothing more.
        """
        chosen, desk = self._known(ids), self.desk
        times = np.array(np.broadcast_to(np.asarray(last, np.float64), chosen.shape))
        crawled = np.isfinite(times)
        if visited is not None:
            crawled &= np.broadcast_to(np.asarray(visited, np.bool_), chosen.shape)
        mine = chosen[crawled]
        self._leave_newcomers(mine[(mine < self.admitted) & ~desk.visited[mine] & ~desk.removed[mine]])
        desk.visited[mine] = True
        desk.last[mine] = desk.since[mine] = times[crawled]
        self._admit()
        used = self.mind.load_rows(chosen, rows)
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
            "mark": self.mark,
            "mind": self.mind.shared(),
        }
        return msgspec.msgpack.encode(state)

    def load_shared(self, state: bytes) -> bool:
        """Go on from `shared`; False, and nothing done, if it was written in another layout or for another task."""
        try:
            told: dict[str, Any] = msgspec.msgpack.decode(state)
            if told["layout"] != LAYOUT or told["objective"] != self.objective:
                return False
            if not self.mind.load_shared(told["mind"]):
                return False
            self.newcomers.credit = float(told["credit"])
            self.mark = int(told["mark"])
            self.known_price = math.nan if told["price"] is None else float(told["price"])
        except (msgspec.DecodeError, KeyError, TypeError, IndexError, ValueError):
            return False
        self.stale = True
        return True

    # -- inside

    def _build(self) -> None:
        """New, empty calendars: sources are admitted when next needed."""
        nobody, group = np.empty(0), np.empty(0, np.int64) if self.grouped else None
        self.calendar = Calendar(nobody, 0.0, now=self.now, group=group)
        self.outgrown_at = 0
        self.newcomers = ColdStart(self.cold_start, self.now, self.grouped)

    def _admit(self) -> None:
        """Bring sources added since the last call into the calendars."""
        first, end = self.admitted, len(self.desk)
        if end == first:
            return
        self.admitted = end
        ids = np.arange(first, end)
        self._write(ids)
        if end > self.outgrown_at:
            self._rebuild()
        else:
            self.calendar.add(**self._columns(ids))
            self.calendar.defer(ids, math.inf)
        self._queue_up(ids)

    def _queue_up(self, ids: IntArray) -> None:
        """Into the newcomers' queue, which counts as the calendar does; those with a past leave it at once."""
        desk, merit = self.desk, self._merit(ids)
        new, known = ~desk.visited[ids], ids[desk.visited[ids]]
        desk.turn[ids[new]] = self.newcomers.turns(merit[new], desk.kin[ids[new]])
        group = desk.group[ids] if self.grouped else None
        self.newcomers.add(merit, desk.turn[ids], desk.cost[ids], group, desk.kin[ids])
        self._leave_newcomers(known)

    def _leave_newcomers(self, ids: IntArray) -> None:
        self.newcomers.leave(ids, self.desk.kin[ids])

    def _columns(self, ids: IntArray) -> dict[str, Any]:
        """Sources as the calendar takes them in; one never crawled is as old as it is known."""
        desk = self.desk
        return {
            "value": desk.importance[ids] * desk.value[ids],
            "rate": desk.rate[ids],
            "cost": desk.cost[ids],
            "last": desk.since[ids],
            "group": desk.group[ids] if self.grouped else None,
            "max_age": desk.max_age[ids],
        }

    def _rebuild(self) -> None:
        """The calendar anew, with a wheel that suits the size it has grown to."""
        desk, ids, self.known_price = self.desk, np.arange(self.admitted), self.price
        self.outgrown_at = max(OUTGROWN_FROM, OUTGROWN_FACTOR * self.admitted)
        self.calendar = Calendar(now=self.now, **self._columns(ids))
        waits = desk.away[ids] | ~desk.visited[ids]
        self.calendar.defer(ids, np.where(waits, math.inf, desk.held_until[ids]))
        self.calendar.remove(np.flatnonzero(desk.removed[ids]))
        if self.grouped:
            self.calendar.hold(np.array([*self.group_held_until], np.int64), [*self.group_held_until.values()])

    def _merit(self, ids: IntArray) -> FloatArray:
        """What newcomers are ranked by, before costs."""
        usual = math.log(2.0) / self.mind.usual_half_life
        merit: FloatArray = self.desk.importance[ids] * usual / self.mind.fading(ids)
        return np.maximum(merit, 1e-300)

    def _write(self, ids: IntArray) -> None:
        desk = self.desk
        names = ("value", "value_sd", "rate", "rate_sd")
        for name, column in zip(names, self.mind.beliefs(ids, desk.since[ids], self.hour * HOUR_S), strict=True):
            getattr(desk, name)[ids] = column

    def _believe(self, ids: IntArray) -> None:
        """What is believed of some sources has changed."""
        self._write(ids)
        desk = self.desk
        ranked = ids[desk.visited[ids] & ~desk.removed[ids]]
        self.calendar.update(ranked, desk.importance[ranked] * desk.value[ranked], desk.rate[ranked])

    def _believe_all(self) -> None:
        self.stale = False
        self._believe(np.arange(self.admitted))

    def _fresh(self, ids: IntArray) -> None:
        self._admit()
        if self.stale:
            self._believe_all()

    def _known(self, ids: npt.ArrayLike) -> IntArray:
        self.require_start()
        chosen = np.atleast_1d(np.asarray(ids, dtype=np.int64))
        outside = (chosen < 0) | (chosen >= len(self.desk))
        if outside.any():
            place = int(np.argmax(outside))
            raise ParameterError("ids", f"a known target (0 to {len(self.desk) - 1})", int(chosen[place]), (place,))
        return chosen

    def _observed(self, states: npt.ArrayLike | None) -> FloatArray | None:
        if states is not None and np.shape(states) != (len(self.desk),):
            raise ParameterError("states", f"one per target ({len(self.desk)}), NaN where unobserved", np.shape(states))
        return None

    def require_start(self) -> None:
        """Refuse to work before `start`."""
        if not hasattr(self, "desk"):
            super().require_start()


def _or_default(name: str, given: npt.ArrayLike, default: float) -> FloatArray:
    """Times > 0 or inf, with the default for NaN."""
    times = np.asarray(given, np.float64)
    checked(name, np.where(np.isnan(times), 1.0, times), "> 0, inf, or NaN for the usual one", open_low=True)
    return np.where(np.isnan(times), default, times)


def _times(name: str, given: npt.ArrayLike, count: int) -> FloatArray:
    """One time per id; -inf for a hold that is over."""
    times = checked(name, given, "a time, inf for always, -inf for never", low=-math.inf)
    if times.ndim and len(times) != count:
        raise ParameterError(name, f"one time or one per id ({count})", f"{len(times)} times")
    return np.broadcast_to(times, (count,))
