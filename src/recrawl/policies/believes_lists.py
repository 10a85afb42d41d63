"""Believe every list: what a crawler does that takes sitemaps at their word.

Each list is fetched once a day, within a share of what is spent. A page that a list says was modified after its last
visit is visited, the oldest such word first; what is left goes round. Nobody asks whether a list was right before: one
that calls every page new each week has every page visited each week, and a change that no list mentions waits its turn.

Whether a target is a list shows when it is visited. Lists are numbered after the pages they name, so targets never
visited are taken from the last one backwards, and before all words: a page without a copy is as stale as can be.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import numpy.typing as npt

from recrawl import arguments
from recrawl.policies import call_checks
from recrawl.policies.base import Question, RankedPolicy
from recrawl.records import FloatArray, IntArray, Visits
from recrawl.units import parse_duration

ROUND, NAMED, NEW, LIST = range(4)
"""What goes before what, last first."""


class BelievesLists(RankedPolicy):
    """Visits what lists and signals name, and the rest in turn.

    Parameters
        every: time between two fetches of a list, in time units or as text such as `1d`, which is seconds
        share: lists take at most this share of all that is spent; with many lists or a small budget the time between
            two fetches grows
    """

    uses_lists = True

    def __init__(
        self, every: str | float | timedelta = "1d", share: float = 0.25, seed: int | tuple[int, ...] = 0
    ) -> None:
        super().__init__(seed)
        pause = parse_duration("every", every)
        self.every = arguments.number("every", pause, "a time longer than nothing", open_low=True)
        self.share = arguments.number("share", share, "a share > 0 and <= 1", open_low=True, high=1.0)

    def begin(self, now: float) -> None:
        """Nobody has said anything."""
        targets = len(self.last)
        self.is_list = np.zeros(targets, dtype=bool)
        self.stated: FloatArray = np.full(targets, -np.inf)
        """The latest time at which anybody says a page was modified."""
        self.spent, self.spent_on_lists = 0.0, 0.0
        self.offered = 0.0

    def grow(self, count: int) -> None:
        """Nobody has said anything of the new ones."""
        self.is_list = np.concatenate([self.is_list, np.zeros(count, dtype=bool)])
        self.stated = np.concatenate([self.stated, np.full(count, -np.inf)])

    def question(self, now: float, budget: float, states: npt.ArrayLike | None) -> Question:
        """Note what is offered: lists have a share of it."""
        now, budget, observed = super().question(now, budget, states)
        self.offered = budget
        return now, budget, observed

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """Lists whose day is over, targets never visited, pages that were named, the rest; by age within each."""
        new, named = np.isneginf(self.last), self.stated > self.last
        kind = np.where(self.is_list, LIST, np.where(new, NEW, np.where(named, NAMED, ROUND)))
        number = np.arange(len(kind))
        since = np.select([self.is_list, new, named], [self.last, -1.0 * number, self.stated], self.last)
        places = np.empty(len(kind))
        places[np.lexsort((-number, -since, kind))] = number
        places[self._lists_to_leave(now)] = -np.inf
        return places

    def _lists_to_leave(self, now: float) -> IntArray:
        """Lists whose day is not over, or that are too dear by now; the longest unseen are the last to be left."""
        lists = np.flatnonzero(self.is_list)
        lists = lists[np.argsort(self.last[lists], kind="stable")]
        due = self.allowed(now)[lists] & (now - self.last[lists] >= self.every)
        in_flight = float(self.cost[self.is_list & self.away].sum())
        left = self.share * (self.spent + self.offered) - self.spent_on_lists - in_flight
        paid = np.cumsum(np.where(due, self.cost[lists], 0.0)) <= left
        return lists[~(due & paid)]

    def pay(self, budget: float, spent: float) -> None:
        """Keep count."""
        self.spent += spent

    def observe(self, visits: Visits) -> None:
        """Note who is a list, what it says, and what it cost."""
        super().observe(visits)
        lists = visits.ids[self.is_list[visits.ids]]
        self.spent_on_lists += float(self.cost[lists].sum())

    def learn(self, visits: Visits) -> None:
        """A target that showed no list is none."""
        shown = visits.ids if visits.failed is None else visits.ids[~visits.failed]
        self.is_list[shown] = False

    def learn_lists(self, visits: Visits) -> None:
        """Believe every word; what is said to happen later has happened by now."""
        self.is_list[visits.ids] = True
        for pages, lastmod in call_checks.listings(visits):
            said = ~np.isnan(lastmod)
            self.hear(pages[said], visits.now, lastmod[said])

    def hear(self, ids: IntArray, now: float, at: FloatArray) -> None:
        """Believe it."""
        np.maximum.at(self.stated, ids, np.minimum(at, now))
