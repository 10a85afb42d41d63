"""What policies share: who may be chosen, what is in flight, and spending a budget on the top of a ranking.

A policy built on :class:`RankedPolicy` says only how much it wants each target (`rank`) and what it learns from a
visit (`learn`).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from recrawl.arguments import whole
from recrawl.errors import ParameterError
from recrawl.policies import call_checks
from recrawl.policies.contract import Beliefs
from recrawl.policies.targets import Targets
from recrawl.records import FloatArray, IntArray, Sources, Visits
from recrawl.scheduling.spending import ROUNDING, affordable, first_of_each, top

LARGEST_SEED = 2**256
Question = tuple[float, float, FloatArray | None]
"""When, for how much, and what is seen."""


class RankedPolicy(Targets):
    """Chooses the highest ranked of the targets that may be crawled, as far as the budget goes."""

    soft_budget: bool = False
    uses_lists: bool = False
    needs_sources: ClassVar[bool] = False
    fewest: ClassVar[int] = 1
    """Targets it takes to start."""

    def __init__(self, seed: int | tuple[int, ...] = 0) -> None:
        if isinstance(seed, tuple):
            self.seed: int | tuple[int, ...] = tuple(whole("seed", each, high=LARGEST_SEED) for each in seed)
        else:
            self.seed = whole("seed", seed, high=LARGEST_SEED)

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """How much each target is wanted now; −inf for not at all. Subclasses answer for every id."""
        raise NotImplementedError

    def learn(self, visits: Visits) -> None:
        """What the policy takes from visits to pages and sources beyond their time; nothing by default."""

    def learn_lists(self, visits: Visits) -> None:
        """What it takes from what lists say; nothing by default."""

    def grow(self, count: int) -> None:
        """Make room for `count` more targets in whatever the subclass keeps per target."""
        if self.needs_sources:
            raise ParameterError("count", f"0: {type(self).__name__} knows only the sources it started with", count)

    def start(
        self,
        targets: int,
        now: float,
        sources: Sources | None = None,
        groups: npt.ArrayLike | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Reset; see :meth:`Policy.start`."""
        targets, now, numbers = call_checks.beginning(targets, now, sources, groups, labels, self.fewest)
        if self.needs_sources and sources is None:
            raise ParameterError("sources", f"given: {type(self).__name__} needs known parameters", None)
        self.random = np.random.default_rng(self.seed)
        self.sources = sources
        self.cost: FloatArray = np.ones(targets) if sources is None else sources.cost.copy()
        self.last: FloatArray = np.full(targets, -np.inf)
        self.held_until: FloatArray = np.full(targets, -np.inf)
        self.away = np.zeros(targets, dtype=bool)
        self.removed = np.zeros(targets, dtype=bool)
        self.groups = numbers
        self.group_held_until: dict[int, float] = {}
        self.begin(now)

    def begin(self, now: float) -> None:
        """The subclass's part of `start`."""

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """The most wanted targets that may be crawled, as far as the budget pays (or, if it is soft, all wanted)."""
        now, budget, observed = self.question(now, budget, states)
        most = len(self.last)
        if most == 0:
            return np.empty(0, np.int64)
        scores = np.where(self.allowed(now), self.scores(now, observed), -np.inf)
        if self.groups is None and not self.soft_budget:
            most = int(min(most, (budget + ROUNDING) // self.cost.min()))
        chosen = top(scores, most)
        if self.groups is not None:
            chosen = first_of_each(chosen, self.groups)
        if not self.soft_budget:
            chosen = affordable(chosen, self.cost, budget)
        self.away[chosen] = True
        self.pay(budget, float(self.cost[chosen].sum()))
        return chosen

    def question(self, now: float, budget: float, states: npt.ArrayLike | None) -> Question:
        """A question to `choose` that can be answered; the error says why another cannot."""
        self.require_start()
        return *call_checks.choice(now, budget), self._observed(states)

    def scores(self, now: float, states: FloatArray | None) -> FloatArray:
        """The ranking, and whatever goes before it."""
        return self.rank(now, states)

    def pay(self, budget: float, spent: float) -> None:
        """Told what a choice spent of which budget; nothing by default."""

    def observe(self, visits: Visits) -> None:
        """Learn, note the times of the visits that did not fail, and take the ids out of flight."""
        ids, lists = self._visited(visits), visits.of_lists
        if not lists.any():
            self.learn(visits)
        else:
            if not lists.all():
                self.learn(call_checks.some_visits(visits, ~lists))
            self.learn_lists(call_checks.some_visits(visits, lists))
        self.last[ids if visits.failed is None else ids[~visits.failed]] = visits.now
        self.away[ids] = False

    def signal(self, ids: npt.ArrayLike, now: float, at: npt.ArrayLike | None = None) -> None:
        """Whoever changed elsewhere; checked, and told to `hear`."""
        self.require_start()
        chosen = self._known(ids)
        self.hear(chosen, *call_checks.signalled(now, at, len(chosen)))

    def hear(self, ids: IntArray, now: float, at: FloatArray) -> None:
        """What the policy takes from a signal; nothing by default."""

    def beliefs(self, ids: npt.ArrayLike) -> Beliefs:
        """Known parameters without doubt, or no opinion."""
        chosen = self._known(ids)
        nothing = np.full(len(chosen), np.nan)
        if self.sources is None:
            return Beliefs(nothing, nothing, nothing, nothing)
        sure = np.zeros(len(chosen))
        return Beliefs(self.sources.ceiling[chosen], sure, self.sources.decay_rate[chosen], sure)

    def dump(self) -> dict[str, Any]:
        """A copy of everything that `start` and later calls set up."""
        return copy.deepcopy(dict(vars(self).items()))

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a dump."""
        vars(self).clear()
        vars(self).update(copy.deepcopy(state))

    def spawn(self, run: int) -> Self:
        """A policy of the same kind and options whose randomness is that of run number `run`."""
        twin = copy.copy(self)
        first = self.seed if isinstance(self.seed, tuple) else (self.seed,)
        twin.seed = (*first, run)
        return twin

    def _observed(self, states: npt.ArrayLike | None) -> FloatArray | None:
        return call_checks.states_of(states, len(self.last))

    def _visited(self, visits: Visits) -> IntArray:
        """Whom visits were to, if they and all that lists among them name are known."""
        ids = self._known(call_checks.visits_of(visits).ids)
        for pages, _ in call_checks.listings(visits):
            self._known(pages, "sitemap")
        return ids
