"""Pages that crawls find changed or unchanged: objectives changes, freshness, discovery and fading news."""

from __future__ import annotations

import numpy as np

from recrawl.learning.atoms import Atoms
from recrawl.learning.changes import ChangeBeliefs, condense_rows
from recrawl.learning.model import Moments, Setting
from recrawl.learning.planned import Plan
from recrawl.learning.rates import ATOMS
from recrawl.learning.shrinkage import MeanWorth
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

NEVER_COPIED = 1e15
"""The age of a page that was never copied: above any other, in any unit of time."""


def saw_change(visits: Visits) -> BoolArray | None:
    """Whether each visit saw something new, in whatever terms it says so; None if it does not say."""
    if visits.changed is not None:
        return visits.changed
    if visits.published is not None:
        return np.array([np.size(times) > 0 for times in visits.published])
    if visits.new is not None:
        return visits.new > 0
    return None if visits.worth is None else visits.worth > 0.0


class PageModel:
    """Pages seen changed or unchanged: objectives changes, freshness, and ephemeral (news that fade)."""

    def __init__(self, setting: Setting) -> None:
        self.changes = ChangeBeliefs(setting.targets, setting.rates, setting.memory, setting.labels)
        self.importance = MeanWorth(setting.targets)
        self.atoms = Atoms(setting.targets, ATOMS, setting.act, setting.random)
        self.unvisited = np.ones(setting.targets, dtype=bool)
        self.freshness = setting.objective == "freshness"
        self.plan = Plan(setting.targets, setting.now) if self.freshness and setting.act == "mean" else None
        rates = self.changes.rates
        if setting.objective == "discovery":
            self.values, self.ripening = rates, np.zeros_like(rates)
        else:
            fading = setting.fading if setting.objective == "ephemeral" else 0.0
            self.values = 1.0 / rates if self.freshness else rates / (rates + fading)
            self.ripening = rates + fading
        self._condense(np.arange(setting.targets))

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray) -> None:
        """Changed flags after known gaps teach the rate, worth collected with a change teaches its importance."""
        ids, changed = visits.ids, saw_change(visits)
        if changed is None:
            return
        if visits.worth is not None:
            hit = changed & (visits.worth > 0.0)
            if hit.any():
                self.importance.learn(ids[hit], visits.worth[hit])
        self.unvisited[ids] = False
        if self.plan is not None and self.plan.due(len(ids), visits.now):
            self.plan.make(visits.now, self.atoms, self.importance.hopeful())
        gaps = visits.now - since
        known = ~first & (gaps > 0.0)
        if not known.any():
            return
        told = ids[known]
        refitted = self.changes.learn(told, gaps[known], changed[known])
        self._condense(np.arange(len(self.atoms)) if refitted else told)

    def index(self, now: float, since: FloatArray, tick: float) -> FloatArray:
        """The averaged index, or for freshness the planned urgency; a page never copied is as stale as can be."""
        age = now - since
        if self.plan is not None and self.plan.made:
            return np.where(self.unvisited, NEVER_COPIED, age) * self.plan.rate
        if self.freshness:
            age = np.where(self.unvisited, np.inf, age)
        return self.importance.hopeful() * self.atoms.index(age, tick)

    def moments(self, ids: IntArray) -> Moments:
        """Value and rate of the index, importance included."""
        value, value_sd, rate, rate_sd = self.atoms.moments(ids)
        weight = self.importance.mean()[ids]
        return weight * value, weight * value_sd, rate, rate_sd

    def grow(self, count: int) -> None:
        """Room for new sources."""
        before = len(self.atoms)
        self.changes.grow(count)
        self.importance.grow(count)
        self.atoms.grow(count)
        self.unvisited = np.concatenate([self.unvisited, np.ones(count, dtype=bool)])
        if self.plan is not None:
            self.plan.grow(count)
        self._condense(np.arange(before, before + count))

    def _condense(self, ids: IntArray) -> None:
        beliefs, atoms = self.changes, self.atoms
        condense_rows(
            ids,
            beliefs.evidence,
            beliefs.log_prior,
            beliefs.tilt,
            self.values,
            self.ripening,
            atoms.mass,
            atoms.value,
            atoms.rate,
        )
        atoms.settle(ids)
        if self.plan is not None:
            self.plan.believed(ids, atoms, self.importance.hopeful(ids))
