"""Pages that crawls find changed or unchanged: objectives changes, freshness, discovery and fading news.

The change rate Δ of a page has a posterior on a grid, with a prior fitted to the catalogue and tilted along paths
(:mod:`recrawl.learning.changes`). It is condensed into a few atoms, over which the index is averaged; under freshness
pages are ranked by age × planned rate instead, once there is a plan (:mod:`recrawl.learning.freshness_plan`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recrawl.kernels.crawl_rates import averaged_rates
from recrawl.learning.averaged_model import AveragedModel, Terms
from recrawl.learning.changes import CHANGES, DISCOVERY, FADING, FRESHNESS, ChangeBeliefs, condense_rows
from recrawl.learning.freshness_plan import HOPELESS, Plan
from recrawl.learning.model import Moments, Objective, Reason, Setting, Times
from recrawl.learning.posterior_points import Atoms
from recrawl.learning.rates import ATOMS, regridded
from recrawl.learning.shrinkage import MeanWorth
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

_FORMS: dict[Objective, int] = {
    "ephemeral": FADING,
    "changes": CHANGES,
    "freshness": FRESHNESS,
    "discovery": DISCOVERY,
}


def saw_change(visits: Visits) -> BoolArray | None:
    """Whether each visit saw something new, in whatever terms it says so; None if it does not say."""
    if visits.changed is not None:
        return visits.changed
    if visits.published is not None:
        return np.array([np.size(times) > 0 for times in visits.published])
    if visits.new is not None:
        return visits.new > 0
    return None if visits.worth is None else visits.worth > 0.0


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * other


class PageModel(AveragedModel):
    """Pages seen changed or unchanged."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.now = setting, setting.now
        self.changes = ChangeBeliefs(0, setting.rates, setting.memory)
        self.told_by: tuple[float, ...] = setting.rates
        """The slowest and the fastest rate of what was loaded."""
        self.importance = MeanWorth(0)
        self.terms = Terms(0)
        self.atoms = Atoms(0, ATOMS, setting.act, setting.random)
        self.form = _FORMS[setting.objective]
        self.plan = Plan(0, setting.now) if self.form == FRESHNESS and setting.act == "mean" else None
        self.parts = (
            self.changes,
            self.importance,
            self.terms,
            self.atoms,
            *([] if self.plan is None else [self.plan]),
        )

    def enter(self, rows: IntArray, labels: Sequence[str] | None) -> None:
        """New rows: nothing is known of them but where they live."""
        if labels is not None:
            self.changes.label(rows, labels)

    def leave(self, rows: IntArray) -> None:
        """What these showed no longer counts in the law of change rates."""
        self.changes.counted[rows] = False

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray) -> bool:
        """Changed flags after known gaps teach the rate, worth collected with a change teaches its importance."""
        rows, changed = visits.ids, saw_change(visits)
        self.now = max(self.now, visits.now)
        if changed is None:
            return False
        common = self.importance.common
        if visits.worth is not None:
            hit = changed & (visits.worth > 0.0)
            if hit.any():
                self.importance.learn(rows[hit], visits.worth[hit])
        gaps = visits.now - since
        known = ~first & (gaps > 0.0)
        planned = self._plan_anew(int(np.count_nonzero(~first)), visits.now)
        planned |= self.importance.common != common
        if not known.any():
            return planned
        told = rows[known]
        refitted = self.changes.learn(told, gaps[known], changed[known])
        self.condense(np.arange(len(self)) if refitted else told)
        return planned or refitted

    def _plan_anew(self, visits: int, now: float) -> bool:
        """Plan for the pages that are there, if it is time."""
        here = self.changes.counted[: len(self)]
        if self.plan is None or not self.plan.due(visits, now, int(np.count_nonzero(here))):
            return False
        return self.plan.make(now, self.atoms, np.where(here, self.worth(np.arange(len(self))), 0.0))

    def index(self, rows: IntArray, since: FloatArray, now: Times, tick: float) -> FloatArray:
        """The averaged index, or for freshness the planned urgency: the price, for a page just due by the plan."""
        if self.plan is None or not self.plan.made:
            return super().index(rows, since, now, tick)
        return np.maximum(now - since, 0.0) * self.plan.rate[rows] * self.plan.price

    def asleep_until(self, rows: IntArray, since: FloatArray, now: float, level: float) -> FloatArray:
        """Times before which the index of some pages is surely below a level; the urgency is a line."""
        if self.plan is None or not self.plan.made:
            return super().asleep_until(rows, since, now, level)
        return since + self._urgent(rows, level)

    def meets(self, rows: IntArray, since: FloatArray, level: float, latest: FloatArray) -> FloatArray:
        """Times at which the index of some pages meets a level, `latest` at most."""
        if self.plan is None or not self.plan.made:
            return super().meets(rows, since, level, latest)
        return np.minimum(since + self._urgent(rows, level), latest)

    def _urgent(self, rows: IntArray, level: float) -> FloatArray:
        """The age at which the planned urgency of some pages meets a level."""
        assert self.plan is not None
        with np.errstate(divide="ignore"):
            return level / (self.plan.rate[rows] * self.plan.price)

    def ages(self, rows: IntArray, level: float) -> FloatArray:
        """The interval at which some pages would be crawled at a price; inf for never."""
        if self.plan is None or not self.plan.made:
            return super().ages(rows, level)
        out = np.zeros(len(self))
        with np.errstate(divide="ignore"):
            averaged_rates(
                rows, self.atoms.mass, self.atoms.rate, self.worth(rows), 1.0 / np.float64(level), HOPELESS, out
            )
            return 1.0 / out[rows]

    def summary(self) -> FloatArray:
        """What the law of change rates is fitted to, summed over pages."""
        return self.changes.summary()

    def adopt(self, others: FloatArray) -> None:
        """Count the summary of pages that others know of."""
        self.changes.others = others
        self.changes.refit()
        self.recompute()

    def moments(self, rows: IntArray) -> Moments:
        """Value and rate of the index, owners' terms not included."""
        value, value_sd, rate, rate_sd = self.atoms.moments(rows)
        shown = self.importance.mean(rows)
        return shown * value, shown * value_sd, rate, rate_sd

    def reasons(self, rows: IntArray, since: FloatArray, now: float) -> list[Reason]:
        """The change rate with its doubt, and the planned rate or the value and rate of the index."""
        found, mean, sd = super().reasons(rows, since, now), self.changes.mean(rows), self.changes.sd(rows)
        for k, reason in enumerate(found):
            change = {"change_rate_per_s": float(mean[k]), "change_rate_sd": float(sd[k])}
            if self.plan is not None and self.plan.made:
                plan = {"planned_rate_per_s": float(self.plan.rate[rows[k]]), "plan_price": self.plan.price}
                found[k] = Reason("planned", change | plan | {"age_s": reason.numbers["age_s"]})
            else:
                found[k] = Reason("averaged", change | reason.numbers)
        return found

    def shared(self) -> dict[str, Any]:
        """What belongs to no single page, as plain numbers."""
        plan = self.plan
        return {
            "span": [float(self.changes.rates[0]), float(self.changes.rates[-1])],
            "prior": self.changes.log_prior.tolist(),
            "refits": [self.changes.refits.observed, self.changes.refits.due_at],
            "plan": None if plan is None else [plan.inverse_price, self.now - plan.since, plan.visits],
        }

    def load_shared(self, state: dict[str, Any]) -> None:
        """Go on from `shared`; what was told apart by other rates is carried over to those of now."""
        span, rates, prior = tuple(state["span"]), self.changes.rates, np.array(state["prior"], np.float64)
        plan, refits = state.get("plan"), (int(state["refits"][0]), float(state["refits"][1]))
        if prior.shape != rates.shape or not 0.0 < span[0] <= span[1] < np.inf:
            raise ValueError("the law of change rates is of another form")
        self.told_by = span
        self.changes.log_prior = prior if _same(span[1], rates[-1]) else regridded(prior[None], span, rates)[0]
        self.changes.refits.observed, self.changes.refits.due_at = refits
        if self.plan is not None and plan:
            self.plan.inverse_price, self.plan.visits = float(plan[0]), int(plan[2])
            self.plan.since = self.setting.now - float(plan[1])

    def unpack(self, rows: IntArray, packed: Sequence[bytes]) -> None:
        """Write rows packed before, perhaps by other rates than those of now; 0 for those of the shared record."""
        super().unpack(rows, packed)
        changes, rates = self.changes, self.changes.rates
        fastest = np.where(changes.fastest[rows] > 0.0, changes.fastest[rows], self.told_by[1])
        for each in np.unique(fastest).tolist():
            mine = rows[fastest == each]
            if not _same(each, rates[-1]):
                changes.evidence[mine] = regridded(changes.evidence[mine], (self.told_by[0], each), rates)
        changes.fastest[rows] = rates[-1]

    def recompute(self) -> None:
        """Bring everything in line with rows and common laws, after either was loaded."""
        self.importance.refit()
        super().recompute()

    def worth(self, rows: IntArray) -> FloatArray:
        """What the index at unit weight is multiplied by."""
        return self.terms.weight[rows] * self.importance.hopeful(rows)

    def condense(self, rows: IntArray) -> None:
        """Write atoms and planned rates of some pages anew."""
        changes, atoms = self.changes, self.atoms
        condense_rows(
            rows,
            changes.evidence,
            changes.log_prior,
            changes.tilt,
            changes.rates,
            self.terms.fading,
            self.form,
            atoms.mass,
            atoms.value,
            atoms.rate,
        )
        atoms.redraw(rows)
        if self.plan is not None:
            self.plan.believed(rows, atoms, self.worth(rows))
