"""The sources of the learned policy: who is there, what owners said of them, what visits and readers showed.

It passes on what each call means: to the columns, to what is believed, to the queue of newcomers, to the ranking. It
chooses nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError
from recrawl.learning.beliefs import CatalogueBeliefs
from recrawl.learning.readership import Clicked
from recrawl.policies import call_checks
from recrawl.policies.base import RankedPolicy
from recrawl.policies.call_checks import some_visits, times
from recrawl.policies.cold_start import ColdStart
from recrawl.policies.index_ranking import IndexRanking
from recrawl.policies.source_columns import SourceColumns
from recrawl.records import BoolArray, FloatArray, IntArray, Visits, checked, whole_numbers

CLICKED_FROM = (-math.inf, -math.inf, -math.inf, 0.0, 0.0)
"""The least that each column of `Clicked` may hold."""


class LearnedSources(RankedPolicy):
    """Sources that come, change and go, each a newcomer or in the ranking."""

    now: float
    kept: SourceColumns
    learned: CatalogueBeliefs
    newcomers: ColdStart
    ranking: IndexRanking
    mark: int
    """How far the record of clicks has been read."""
    lists_come_last: bool
    """Whether the last targets of a catalogue nobody has said anything of may be lists."""
    stale: bool
    """Whether rows or laws were loaded that nothing has been fitted to yet."""

    # -- who is there

    def add(self, count: int, groups: npt.ArrayLike | None = None, labels: Sequence[str] | None = None) -> IntArray:
        """Make room for new targets, in constant time each on average; returns their ids."""
        self.require_start()
        count, kept, self.lists_come_last = call_checks.more(count, labels), self.kept, False
        if groups is not None and not kept.grouped:
            if len(kept):
                raise ParameterError("groups", "None: the policy was started without groups", groups)
            kept.grouped = True
            self.newcomers = ColdStart(self.newcomers.share, self.now, kept, self.learned)
        numbers = None
        if kept.grouped:
            first = int(kept.group[: len(kept)].max(initial=-1)) + 1 if groups is None else 0
            numbers = call_checks.group_numbers(np.arange(count) + first if groups is None else groups, count)
        return self._enter(count, numbers, labels, None)

    def _enter(
        self, count: int, groups: IntArray | None, labels: Sequence[str] | None, cost: FloatArray | None
    ) -> IntArray:
        ids = self.kept.enter(count, self.now, groups, cost)
        self.learned.enter(count, labels)
        self.ranking.awake.grow(count)
        if cost is not None:
            self.learned.put("weight", ids, 1.0 / cost)
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
        index_delay: npt.ArrayLike | None = None,
        index_batch: npt.ArrayLike | None = None,
    ) -> None:
        """Options of some sources, numbers or one per id; NaN restores the policy's own half-life or maximum age.

        `kin` numbers families of sources that share what one newcomer is owed, from 0; -1 for none. It counts for
        sources that no other call has named yet. `index_delay` and `index_batch` say how long what is found takes to
        become visible, and how often the engine takes something in, in seconds; 0 for at once.
        """
        chosen, kept, self.lists_come_last = self._known(ids), self.kept, False
        size, positive = len(chosen), "finite and > 0"
        if importance is not None:
            importance = call_checks.numbers("importance", importance, "finite and >= 0", size)
        half_life = None if half_life is None else call_checks.own_times("half_life", half_life, positive, size)
        max_age = None if max_age is None else call_checks.own_times("max_age", max_age, "> 0 or inf", size)
        cost = None if cost is None else call_checks.numbers("cost", cost, positive, size, open_low=True)
        waits = [
            None if given is None else call_checks.numbers(name, given, "finite and >= 0", size)
            for name, given in (("index_delay", index_delay), ("index_batch", index_batch))
        ]
        if kin is not None:
            fresh = self.newcomers.strangers(chosen)
            kept.put("kin", chosen[fresh], np.broadcast_to(np.asarray(kin, np.int64), chosen.shape)[fresh])
        if importance is not None:
            kept.put("importance", chosen, importance)
        if half_life is not None:
            self.learned.put("half_life", chosen, half_life)
        if max_age is not None:
            kept.put("max_age", chosen, max_age)
        if cost is not None:
            kept.set_cost(chosen, cost)
        self.learned.put("weight", chosen, kept.importance[chosen] / kept.cost[chosen])
        self.learned.wait(chosen, *waits)
        self.learned.agree(chosen)
        inside = chosen[~self.newcomers.strangers(chosen) & ~kept.removed[chosen]]
        self.ranking.rouse(inside)
        self.newcomers.configure(inside[~kept.visited[inside]])

    def remove(self, ids: npt.ArrayLike) -> None:
        """Never choose these again."""
        self._admit()
        gone = self.kept.remove(self._known(ids))
        self.learned.leave(gone)
        if self.learned.signals is not None:
            touched = self.learned.signals.forget(gone)
            self._heard(touched, touched)
        self.ranking.awake.sleep(gone, np.full(len(gone), math.inf))
        self.newcomers.leave(gone[~self.kept.visited[gone]], self.now)

    # -- what was seen

    def observe(self, visits: Visits) -> None:
        """Learn from the visits that did not fail, note their time, and take all out of flight."""
        ids, kept = self._visited(visits), self.kept
        self._admit()
        self.now = max(self.now, visits.now)
        useful = visits if visits.failed is None else some_visits(visits, ~visits.failed)
        seen = useful.ids
        if len(seen):
            everybody = self._learn(useful)
            self.newcomers.leave(seen[~kept.visited[seen] & ~kept.removed[seen]], self.now)
            kept.since[seen] = visits.now
            kept.visited[seen] = True
            self._read_lists(useful)
            if everybody:
                self.ranking.rouse_all()
        if self.learned.signals is not None and visits.failed is not None:
            failed = ids[visits.failed]
            for target in failed[self.learned.signals.are_lists(failed)].tolist():
                self.learned.signals.failed(target)
        self._land(ids)
        self._keep_up()

    def _learn(self, visits: Visits) -> bool:
        """Learn from visits; one to a list that shows nothing of its own teaches only what it says."""
        shows = visits.published is not None or visits.new is not None or visits.changed is not None
        lists = visits.of_lists
        if not shows and self.learned.signals is not None:
            lists = lists | self.learned.signals.are_lists(visits.ids)
        own = visits if shows or not lists.any() else some_visits(visits, ~lists)
        since, first = self.kept.since[own.ids], ~self.kept.visited[own.ids]
        return len(own) > 0 and self.learned.learn(own, since, first)

    def _read_lists(self, visits: Visits) -> None:
        """Take in what lists say of other sources; one that does not say says what it said before."""
        kept = self.kept
        entries = visits.sitemap or [None] * len(visits)
        for target, entry in zip(visits.ids.tolist(), entries, strict=True):
            if kept.removed[target]:
                continue
            if entry is not None:
                pages, lastmod = entry
                here = ~kept.removed[pages] & (pages != target)
                pages, lastmod = pages[here], lastmod[here]
                last = np.where(kept.visited[pages], kept.since[pages], -np.inf)
                touched = self.learned.told().read(target, visits.now, pages, lastmod, last)
                self._heard(touched, touched)
                if self.lists_come_last:
                    self.newcomers.found_list(target)
            elif self.learned.signals is not None and self.learned.signals.are_lists(np.array([target]))[0]:
                self.learned.signals.same(target, visits.now)

    def hear(self, ids: IntArray, now: float, at: FloatArray) -> None:
        """A push is a signal of the site of each."""
        kept = self.kept
        self._admit()
        self.now = max(self.now, now)
        here = ~kept.removed[ids]
        ids, place = np.unique(ids[here], return_inverse=True)
        latest = np.full(len(ids), -np.inf)
        np.maximum.at(latest, place, at[here])
        last = np.where(kept.visited[ids], kept.since[ids], -np.inf)
        self._heard(self.learned.told().push(ids, now, latest, last), ids)

    def are_lists(self, ids: npt.ArrayLike) -> BoolArray:
        """Which targets have turned out to be lists."""
        chosen, signals = self._known(ids), self.learned.signals
        return np.zeros(len(chosen), dtype=bool) if signals is None else signals.are_lists(chosen)

    def expect_lists(self, ids: npt.ArrayLike) -> None:
        """Some sources are lists, as far as anybody knows: of newcomers these are looked at first."""
        chosen = self._known(ids)
        self._admit()
        self.newcomers.hasten(chosen[~self.kept.visited[chosen] & ~self.kept.removed[chosen]])

    def drain_told(self) -> IntArray:
        """The sources of which lists or pushes said something since this was asked last: their rows are others now."""
        if self.learned.signals is None:
            return np.empty(0, np.int64)
        told = self.learned.signals.lists.drain_unsaved()
        return told[~self.kept.removed[told]]

    def _heard(self, touched: IntArray, named: IntArray) -> None:
        """Something was said of sources (`named`), which changes what is thought of some."""
        self.ranking.rouse(touched)
        self.newcomers.configure(named[~self.kept.visited[named] & ~self.kept.removed[named]])

    def _keep_up(self) -> None:
        """A little of what has to be brought in line from time to time."""
        signals = self.learned.signals
        if signals is not None:
            signals.worth.price = self.ranking.price
            kept = signals.keep_up(self.now)
            kept = kept[~self.kept.removed[kept]]
            self._heard(kept, kept)

    def feedback(self, ids: npt.ArrayLike, clicked: Clicked, *, now: float, mark: int | None = None) -> IntArray:
        """Readers opened items; which sources are believed otherwise now.

        Parameters
            ids: the source of each item
            clicked: when it was found and opened, and how often; numbers or one per item
            mark: how far the record of clicks has been read, kept for whoever reads it (`mark`)

        What was found and not opened is known from `observe`. The appeal of a source is relative to the catalogue's,
        so that clicks move tokens between sources; an owner's importance multiplies it, an owner's half-life stands.
        """
        chosen = self._known(ids)
        columns = [
            np.broadcast_to(checked(name, given, "finite", low=low), chosen.shape)
            for name, given, low in zip(clicked._fields, clicked, CLICKED_FROM, strict=True)
        ]
        self._admit()
        self.now = max(self.now, float(now))
        self.mark = self.mark if mark is None else int(mark)
        touched = np.unique(chosen)
        if self.learned.listen(chosen, Clicked(*columns), self.now):
            self.ranking.rouse_all()
        else:
            self.ranking.rouse(touched[~self.kept.removed[touched]])
        return touched

    def release(self, ids: npt.ArrayLike) -> None:
        """Take ids out of flight that were not crawled after all."""
        chosen = self._known(ids)
        self._admit()
        self._land(chosen)

    def _land(self, ids: IntArray) -> None:
        """Out of flight, as old as the last successful visit says."""
        kept = self.kept
        kept.away[ids] = False
        present = ids[~kept.removed[ids]]
        self.ranking.rouse(present)
        self.newcomers.land(present[~kept.visited[present]])

    # -- holding

    def hold(self, ids: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose these before `until`, one time or one per id."""
        chosen, kept = self._known(ids), self.kept
        moments = times("until", until, len(chosen))
        self._admit()
        kept.held_until[chosen] = moments
        free = chosen[~kept.removed[chosen] & ~kept.away[chosen]]
        self.ranking.rouse(free)
        if not kept.visited[free].all():
            self.newcomers.defer(np.unique(free[~kept.visited[free]]))

    def hold_groups(self, groups: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose any target of these groups before `until`, one time or one per group."""
        numbers = whole_numbers("groups", groups)
        self.kept.hold_groups(numbers, times("until", until, len(numbers)))
        if self.kept.grouped:
            self.newcomers.hold(np.unique(numbers))

    # -- inside

    def _admit(self) -> None:
        self.newcomers.admit(self.now)

    def _recompute(self) -> None:
        """Bring everything in line with what was loaded."""
        self.stale = False
        self.learned.recompute()
        self.ranking.rouse_all()

    def _fresh(self, ids: npt.ArrayLike) -> IntArray:
        """The ids, once all that was added or loaded has been taken in."""
        chosen = self._known(ids)
        self._admit()
        if self.stale:
            self._recompute()
        return chosen

    def _known(self, ids: npt.ArrayLike, argument: str = "ids") -> IntArray:
        self.require_start()
        return call_checks.known(ids, len(self.kept), argument)

    def _observed(self, states: npt.ArrayLike | None) -> FloatArray | None:
        return call_checks.states_of(states, len(self.kept))

    def require_start(self) -> None:
        """Refuse to work before `start`."""
        if not hasattr(self, "kept"):
            super().require_start()
