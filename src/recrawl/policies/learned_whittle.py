"""The learned index policy: learn value and rate of every source from what crawls show, crawl the highest index.

Nothing is known beforehand. A belief model, chosen by the objective and by what the first visits reveal, keeps a
posterior per source and a prior over the catalogue; the index is averaged over the posterior. Doubt about a slow source
makes its averaged index grow with age, so that no separate exploration is needed; `act` offers Thompson draws and
optimism beside it, and `max_age` a floor under all of them.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError
from recrawl.learning.atoms import ACTS, Act
from recrawl.learning.model import OBJECTIVES, BeliefModel, Objective, Setting
from recrawl.learning.models import MixedModel
from recrawl.policies.base import RankedPolicy
from recrawl.policies.contract import Beliefs
from recrawl.records import FloatArray, IntArray, Visits, checked
from recrawl.scheduling.spending import ROUNDING

# Above every index: a source past its maximum age, the oldest first.
OVERDUE = 1e250


class LearnedWhittle(RankedPolicy):
    """The index of learned parameters.

    Parameters
        objective: "ephemeral" (interest captured), "freshness" (time copies are fresh), "discovery" (delay to new
            items), "changes" (changes found, weighted by the worth collected with them)
        half_life: of an item's interest, in time units; None to learn it from worth or interest
        act: "mean" for the index averaged over the posterior, "thompson" for posterior draws, "optimism" for the
            average plus one standard deviation
        max_age: a source this old goes before all others, oldest first; None for no floor
        memory: half-life of evidence, in time units; None for never forgetting
        rates: slowest and fastest rate told apart, per time unit; None for a range that suits the clock (5 minutes to
            3 years for Unix times, 1e-5 to 10 per slot otherwise)
    """

    def __init__(
        self,
        objective: Objective = "ephemeral",
        half_life: float | None = None,
        act: Act = "mean",
        max_age: float | None = None,
        memory: float | None = None,
        rates: tuple[float, float] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        for name, given, allowed in (("objective", objective, OBJECTIVES), ("act", act, ACTS)):
            if given not in allowed:
                raise ParameterError(name, f"one of {', '.join(allowed)}", repr(given))
        for name, time in (("half_life", half_life), ("max_age", max_age), ("memory", memory)):
            if time is not None:
                checked(name, time, "a positive time, or None", open_low=True)
        self.objective, self.act = objective, act
        self.half_life, self.max_age, self.memory, self.rates = half_life, max_age, memory, rates

    def begin(self, now: float) -> None:
        """Know nothing."""
        self.model: BeliefModel = MixedModel(self._setting(now))
        self.now, self.tick, self.asked = now, 0.0, -np.inf
        self.since: FloatArray = np.full(len(self.last), now)
        self.visited = np.zeros(len(self.last), dtype=bool)

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """The highest learned indices; the least time between two choices is the tick of the index."""
        self.require_start()
        gap = now - self.asked
        if 0.0 < gap < np.inf:
            self.tick = gap if self.tick == 0.0 else min(self.tick, gap)
        self.asked = self.now = now
        if budget + ROUNDING < self.cost.min():
            return np.empty(0, dtype=np.int64)
        return super().choose(now, budget, states)

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """The learned index per cost; by age until something has been seen."""
        since = np.maximum(self.last, self.since)
        scores = self.model.index(now, since, self.tick) / self.cost
        if self.max_age is None:
            return scores
        age = now - since
        return np.where(age >= self.max_age, OVERDUE * (age / self.max_age), scores)

    def learn(self, visits: Visits) -> None:
        """Hand successful visits to the model; the first ones decide which model it is."""
        self.now = max(self.now, visits.now)
        useful = visits if visits.failed is None or not visits.failed.any() else successful(visits)
        if len(useful) == 0:
            return
        ids = useful.ids
        self.model.learn(useful, self.since[ids], ~self.visited[ids])
        self.since[ids] = useful.now
        self.visited[ids] = True

    def grow(self, count: int) -> None:
        """New targets are known from now on."""
        self.since = np.concatenate([self.since, np.full(count, self.now)])
        self.visited = np.concatenate([self.visited, np.zeros(count, dtype=bool)])
        self.model.grow(count)

    def beliefs(self, ids: npt.ArrayLike) -> Beliefs:
        """Posterior means and standard deviations of value and rate; NaN before anything was seen."""
        chosen = self._known(ids)
        return Beliefs(*self.model.moments(chosen))

    def _setting(self, now: float) -> Setting:
        return Setting(
            targets=len(self.last),
            now=now,
            objective=self.objective,
            half_life=self.half_life,
            memory=self.memory,
            span=self.rates,
            act=self.act,
            random=self.random,
            labels=self.labels,
        )


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
