"""The learned index policy: learn value and rate of every source from what crawls show, crawl the highest index.

Nothing is known beforehand. Beliefs are those of :mod:`recrawl.learning.beliefs`: a posterior per source, a law over
the catalogue, and an index that is averaged over doubt, looks ahead to busy hours, or follows a plan, as the objective
and what visits show have it. Doubt about a slow source makes its averaged index grow with age, so that no separate
exploration is needed; `act` offers Thompson draws and optimism beside it, and `max_age` a floor under all of them
(:mod:`recrawl.policies.age_floor`).

Sources crawled before are ranked by index (:mod:`recrawl.policies.index_ranking`). Sources never crawled wait in a
queue of their own with a share of every budget (:mod:`recrawl.policies.cold_start`). What is kept of both, and who
comes and goes, is the matter of :mod:`recrawl.policies.learned_sources`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from recrawl.arguments import number, one_of, plain, several, shown
from recrawl.errors import ParameterError
from recrawl.kernels.worth import half_life_of
from recrawl.learning import belief_rows
from recrawl.learning.beliefs import CatalogueBeliefs
from recrawl.learning.layouts import LAYOUT, READABLE
from recrawl.learning.list_reports import Heard, ListBelief
from recrawl.learning.model import OBJECTIVES, Objective, Setting
from recrawl.learning.posterior_points import ACTS, Act
from recrawl.learning.rates import UNIX_TIMES
from recrawl.policies import call_checks
from recrawl.policies.age_floor import AgeFloor
from recrawl.policies.cold_start import ColdStart
from recrawl.policies.contract import Beliefs, Reason
from recrawl.policies.demand_survey import Survey, survey_of
from recrawl.policies.index_ranking import IndexRanking
from recrawl.policies.learned_sources import LearnedSources
from recrawl.policies.source_columns import SourceColumns
from recrawl.records import BoolArray, FloatArray, IntArray, Sources
from recrawl.scheduling.spending import ROUNDING
from recrawl.units import parse_duration

NEWCOMERS_SHARE = (0.5, 1.0)
"""Of the budget, in general and under freshness."""


class LearnedWhittle(LearnedSources):
    """The index of learned parameters.

    Lists (sitemaps, feeds and pages that name others) and pushes are heard, and believed as far as each has earned it
    (`lists`).

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
    of the source's own family before it, and at least one. Where there are lists they are numbered after the pages that
    they name, and tell which of those to look at first: so the last target of `start` is looked at before its equals,
    unless owners have said something of targets, and if it is a list, the one before it.
    """

    uses_lists = True

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

    def start(
        self,
        targets: int,
        now: float,
        sources: Sources | None = None,
        groups: npt.ArrayLike | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Forget everything; see :meth:`Policy.start`. `targets` may be 0."""
        targets, self.now, numbers = call_checks.beginning(targets, now, sources, groups, labels)
        self.random = np.random.default_rng(self.seed)
        setting = Setting(
            now=self.now,
            objective=self.objective,
            half_life=self.half_life,
            memory=self.memory,
            span=self.rates,
            act=self.act,
            random=self.random,
        )
        self.kept = SourceColumns(grouped=numbers is not None)
        self.learned = CatalogueBeliefs(setting)
        self.ages = AgeFloor(self.kept, self.max_age, self.rounds, self.now)
        self.ranking = IndexRanking(self.kept, self.learned, self.ages)
        self.newcomers = ColdStart(self.cold_start, self.now, self.kept, self.learned)
        self.mark, self.stale = 0, False
        self._enter(targets, numbers, labels, None if sources is None else sources.cost)
        self.lists_come_last = targets > 1 and self.now > UNIX_TIMES

    @property
    def price(self) -> float:
        """The index of the last one chosen, smoothed; NaN before the first."""
        return self.ranking.price

    # -- choosing

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """The share of those never crawled, then the highest indices; what one side leaves, the other may spend."""
        now, budget, _ = self.question(now, budget, states)
        kept, self.now = self.kept, max(self.now, now)
        self.ranking.follow_clock(now)
        self._admit()
        if self.lists_come_last:
            self.newcomers.hasten_last()
        if self.stale:
            self._recompute()
        tokens = min(budget, float(kept.cost[: len(kept)].sum())) if math.isinf(budget) else float(budget)
        chosen = self._pick(now, tokens) if tokens + ROUNDING >= kept.cheapest else np.empty(0, np.int64)
        kept.away[chosen] = True
        if self.ages.pay(now, float(kept.cost[chosen].sum())):
            self.ranking.wake_overdue()
        return chosen

    def _pick(self, now: float, budget: float) -> IntArray:
        cost, newcomers = self.kept.cost, self.newcomers
        first = newcomers.choose(now, newcomers.earn(budget), np.empty(0, np.int64))
        spent = float(cost[first].sum())
        newcomers.pay(spent)
        second = self.ranking.choose(now, budget - spent, first)
        taken = np.concatenate([first, second]) if len(first) else second
        more = newcomers.choose(now, budget - float(cost[taken].sum()), taken)
        return np.concatenate([taken, more]) if len(more) else taken

    # -- queries

    def beliefs(self, ids: npt.ArrayLike) -> Beliefs:
        """Value and rate, importance not included, with standard deviations; NaN where nothing is known."""
        chosen = self._fresh(ids)
        return Beliefs(*self.learned.moments(chosen))

    def appeal(self, ids: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """What clicks have taught: interest in an item compared with the catalogue's mean, and half-life in seconds."""
        appeal, fading = self.learned.appeal(self._fresh(ids))
        return appeal, half_life_of(fading)

    def index(self, ids: npt.ArrayLike, now: npt.ArrayLike) -> FloatArray:
        """What sources are ranked by if they are not crawled before `now`, one time or one each; NaN before any crawl.

        Maximum ages are not considered.
        """
        chosen = self._fresh(ids)
        when = np.broadcast_to(np.asarray(now, np.float64), chosen.shape)
        return self.learned.index(chosen, self.kept.since[chosen], when, self.ranking.tick)

    def lists(self, now: float, most: int | None = None) -> list[ListBelief]:
        """What is thought of every list, and of the pushes of every site; of so many at most, those that name most."""
        signals = self.learned.signals
        return [] if signals is None else signals.reports.lists(float(now), most)

    def heard(self, ids: npt.ArrayLike) -> list[Heard | None]:
        """What lists and pushes have said of some sources; None for one that nobody names."""
        chosen, signals = self._fresh(ids), self.learned.signals
        return [None] * len(chosen) if signals is None else signals.heard(chosen)

    def reasons(self, ids: npt.ArrayLike, now: float) -> list[Reason]:
        """The numbers behind the index of each."""
        chosen = self._fresh(ids)
        found = self.learned.reasons(chosen, self.kept.since[chosen], float(now))
        for reason, longest in zip(found, self.ages.of(chosen).tolist(), strict=True):
            reason.numbers["max_age_s"] = longest
        return found

    def due(self, ids: npt.ArrayLike, price: float | None = None) -> FloatArray:
        """When the index meets a price, by default the present one, or `max_age` is over: Unix time, inf for never.

        A source never crawled is due since it became known. Holds and flights are not considered.
        """
        chosen, kept = self._fresh(ids), self.kept
        level = self.price if price is None else float(price)
        since, latest = kept.since[chosen], kept.since[chosen] + self.ages.of(chosen)
        if math.isnan(level):
            return since.copy()
        return np.where(kept.visited[chosen], self.learned.meets(chosen, since, level, latest, self.now), since)

    def intervals(self, ids: npt.ArrayLike, price: float) -> FloatArray:
        """How long sources are left alone at a price, at no special hour; inf for one never worth it."""
        chosen = self._fresh(ids)
        return np.minimum(self.learned.intervals(chosen, float(price)), self.ages.of(chosen))

    def survey(self, price: float, now: float, min_interval: float = 0.0, delay: float = 0.0) -> Survey:
        """What would be spent at a price, with no source visited more often than once per `min_interval` seconds and
        no group more often than once per `delay`. A price of NaN counts sources, and nothing else.
        """
        self._fresh(np.empty(0, np.int64))
        return survey_of(self.kept, self.intervals, price, now, min_interval, delay)

    # -- what shards of a fleet tell each other

    def summary(self) -> dict[str, FloatArray]:
        """Sums over sources to which all that is common to a catalogue is fitted; those of shards are added up."""
        return self.learned.summary()

    def adopt(self, others: dict[str, FloatArray]) -> None:
        """Count the summaries of other shards, added up; replaces what was adopted before."""
        self.learned.adopt(others)
        self.ranking.rouse_all()

    # -- keeping

    def rows(self, ids: npt.ArrayLike) -> list[bytes]:
        """All that was learned of some sources, a few hundred bytes each; empty where nothing was."""
        return belief_rows.pack(self.learned, self._known(ids))

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
        chosen, kept, self.lists_come_last = self._known(ids), self.kept, False
        when = np.array(np.broadcast_to(np.asarray(last, np.float64), chosen.shape))
        crawled = np.isfinite(when)
        if visited is not None:
            crawled &= np.broadcast_to(np.asarray(visited, np.bool_), chosen.shape)
            waiting = np.isfinite(when) & ~crawled
            kept.since[chosen[waiting]] = when[waiting]
        mine = chosen[crawled]
        waited = ~(self.newcomers.strangers(mine) | kept.visited[mine] | kept.removed[mine])
        self.newcomers.leave(mine[waited], self.now)
        kept.visited[mine] = True
        kept.since[mine] = when[crawled]
        if not self.newcomers.strangers(chosen).all():  # else they are taken in with all that will be known of them
            self._admit()
        used = belief_rows.unpack(self.learned, chosen, rows, np.where(crawled, when, self.now))
        self.learned.know(mine, when[crawled])
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
            "pace": self.ages.pace(self.now),
            "floor": self.ages.floor,
            "mark": self.mark,
            "mind": belief_rows.shared(self.learned),
        }
        return msgspec.msgpack.encode(state)

    def load_shared(self, state: bytes) -> bool:
        """Go on from `shared`; False, and nothing done, if it was written in another layout or for another task."""
        try:
            told: dict[str, Any] = msgspec.msgpack.decode(state)
            if told["layout"] not in READABLE or told["objective"] != self.objective:
                return False
            belief_rows.load_shared(self.learned, told["mind"])
            self.newcomers.credit = float(told.get("credit", 0.0))
            self.mark = int(told.get("mark", 0))
            paid, elapsed = told.get("pace", (0.0, 0.0))
            self.ages.resume(self.now, paid, elapsed, told.get("floor", 0.0))
            self.ranking.price = math.nan if told["price"] is None else float(told["price"])
        except (msgspec.DecodeError, KeyError, TypeError, IndexError, ValueError, AttributeError):
            self.learned.forget_laws()
            return False
        self.stale = True
        return True


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
