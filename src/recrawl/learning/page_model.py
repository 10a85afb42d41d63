"""Pages that crawls find changed or unchanged: objectives changes, freshness, discovery and fading news.

The change rate Δ of a page has a posterior on a grid, with a prior fitted to the catalogue and tilted along paths
(:mod:`recrawl.learning.changes`). It is condensed into a few atoms, over which the index is averaged; under freshness
pages are ranked by age × planned rate instead, once there is a plan (:mod:`recrawl.learning.freshness_plan`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.kernels.crawl_rates import averaged_rates
from recrawl.kernels.mixture_index import Numbers
from recrawl.learning.averaged_model import AveragedModel, Terms
from recrawl.learning.changes import (
    CHANGES,
    DISCOVERY,
    FADING,
    FRESHNESS,
    ChangeBeliefs,
    condense_rows,
    condense_shares,
)
from recrawl.learning.columns import Column, Columns
from recrawl.learning.freshness_plan import HOPELESS, Plan
from recrawl.learning.listed_beliefs import believed_rates
from recrawl.learning.lists import Lists
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


class Hearing(Columns):
    """Where each page is known to lists (-1 for nowhere), and the share of its changes that no list will name."""

    columns: ClassVar[Mapping[str, Column]] = {
        "place": Column(np.int32, -1, kept=False),
        "hidden": Column(np.float64, 1.0, kept=False),
    }
    place: npt.NDArray[np.int32]
    hidden: FloatArray


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
        self.lists: Lists | None = None
        self.heard = Hearing(0)
        self.parts = (
            self.changes,
            self.importance,
            self.terms,
            self.atoms,
            self.heard,
            *([] if self.plan is None else [self.plan]),
        )

    def enter(self, rows: IntArray, labels: Sequence[str] | None) -> None:
        """New rows: nothing is known of them but where they live."""
        if labels is not None:
            self.changes.label(rows, labels)

    def leave(self, rows: IntArray) -> None:
        """What these showed no longer counts in the law of change rates."""
        self.changes.counted[rows] = False

    def listen(self, rows: IntArray, places: IntArray, lists: Lists) -> None:
        """Lists name some pages, at these places; nobody tells of those that are nowhere."""
        self.lists, self.heard.place[rows] = lists, places
        self.heard.hidden[rows[places < 0]] = 1.0

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray, prompted: float = 0.0) -> bool:
        """Changed flags after known gaps teach the rate, worth collected with a change teaches its importance.

        So many of the visits, `prompted`, were made because of signals.
        """
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
        planned = self._plan_anew(np.count_nonzero(~first) - prompted, visits.now)
        planned |= self.importance.common != common
        if not known.any():
            return planned
        told = rows[known]
        refitted = self.changes.learn(told, gaps[known], changed[known], self._evidence_by_lists)
        self.condense(np.arange(len(self)) if refitted else told)
        return planned or refitted

    def _plan_anew(self, visits: float, now: float) -> bool:
        """Plan for the pages that are there, if it is time."""
        here = self.changes.counted[: len(self)]
        if self.plan is None or not self.plan.due(visits, now, int(np.count_nonzero(here))):
            return False
        everyone = np.arange(len(self))
        return self.plan.make(
            now, self.atoms, np.where(here, self.worth(everyone), 0.0), self.heard.hidden[: len(self)]
        )

    def index(self, rows: IntArray, since: FloatArray, now: Times, tick: float) -> FloatArray:
        """The averaged index, or for freshness the planned urgency: the price, for a page just due by the plan."""
        if self.plan is None or not self.plan.made:
            return super().index(rows, since, now, tick)
        return np.maximum(now - since, 0.0) * self.plan.rate[rows] * self.plan.price

    def asleep_until(self, rows: IntArray, since: FloatArray, now: float, level: Times) -> FloatArray:
        """Times before which the index of some pages is surely below a level; the urgency is a line."""
        if self.plan is None or not self.plan.made:
            return super().asleep_until(rows, since, now, level)
        return since + self._urgent(rows, level)

    def meets(self, rows: IntArray, since: FloatArray, level: Times, latest: FloatArray) -> FloatArray:
        """Times at which the index of some pages meets a level, `latest` at most."""
        if self.plan is None or not self.plan.made:
            return super().meets(rows, since, level, latest)
        return np.minimum(since + self._urgent(rows, level), latest)

    def _urgent(self, rows: IntArray, level: Times) -> FloatArray:
        """The age at which the planned urgency of some pages meets a level."""
        assert self.plan is not None
        with np.errstate(divide="ignore"):
            result: FloatArray = level / (self.plan.rate[rows] * self.plan.price)
        return result

    def ages(self, rows: IntArray, level: Times) -> FloatArray:
        """The interval at which some pages would be crawled at a price; inf for never."""
        if self.plan is None or not self.plan.made:
            return super().ages(rows, level)
        out = np.zeros(len(self))
        with np.errstate(divide="ignore"):
            worth, hidden, inverse_price = self.worth(rows), self.heard.hidden[rows], 1.0 / np.float64(level)
            averaged_rates(rows, self.atoms.mass, self.atoms.rate, worth, hidden, inverse_price, HOPELESS, out)
            return 1.0 / out[rows]

    def summary(self) -> FloatArray:
        """What the law of change rates is fitted to, summed over pages."""
        return self.changes.summary()

    def adopt(self, others: FloatArray) -> None:
        """Count the summary of pages that others know of."""
        self.changes.others = others
        self.changes.refit(self._evidence_by_lists())
        self.recompute()

    def moments(self, rows: IntArray) -> Moments:
        """Value and rate of the index, owners' terms not included."""
        value, value_sd, rate, rate_sd = self.atoms.moments(rows)
        shown = self.importance.mean(rows)
        return shown * value, shown * value_sd, rate, rate_sd

    def reasons(self, rows: IntArray, since: FloatArray, now: float) -> list[Reason]:
        """The change rate with its doubt, and the planned rate or the value and rate of the index."""
        found, (mean, sd) = super().reasons(rows, since, now), self._change_moments(rows)
        for k, reason in enumerate(found):
            change = {"change_rate_per_s": float(mean[k]), "change_rate_sd": float(sd[k])}
            if self.plan is not None and self.plan.made:
                plan = {"planned_rate_per_s": float(self.plan.rate[rows[k]]), "plan_price": self.plan.price}
                found[k] = Reason("planned", change | plan | {"age_s": reason.numbers["age_s"]})
            else:
                found[k] = Reason("averaged", change | reason.numbers)
        return found

    def _change_moments(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the change rate, by lists too where some name the page."""
        mean, sd = self.changes.mean(rows), self.changes.sd(rows)
        listed = np.flatnonzero(self.heard.place[rows] >= 0)
        if len(listed):
            mass, rate = (each.astype(np.float64) for each in self.change_atoms(rows[listed]))
            total = np.maximum(mass.sum(axis=1), 1e-300)
            mean[listed] = (mass * rate).sum(axis=1) / total
            sd[listed] = np.sqrt((mass * (rate - mean[listed][:, None]) ** 2).sum(axis=1) / total)
        return mean, sd

    def shared(self) -> dict[str, Any]:
        """What belongs to no single page, as plain numbers."""
        plan = self.plan
        return {
            "span": [float(self.changes.rates[0]), float(self.changes.rates[-1])],
            "prior": self.changes.log_prior.tolist(),
            "refits": [self.changes.refits.observed, self.changes.refits.due_at],
            "plan": None if plan is None else [plan.inverse_price, self.now - plan.since, float(plan.visits)],
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
            self.plan.inverse_price, self.plan.visits = float(plan[0]), float(plan[2])
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
        changes.put("fastest", rows, rates[-1])

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
        listed = rows[self.heard.place[rows] >= 0]
        if len(listed):
            self._condense_listed(listed)
        atoms.redraw(rows)
        if self.plan is not None:
            self.plan.believed(rows, atoms, self.worth(rows), self.heard.hidden[rows])

    # -- what lists say

    def _condense_listed(self, rows: IntArray) -> None:
        """Atoms of pages that lists name: what is believed with and without the list, as far as it is trusted."""
        lists, places, atoms = self.lists, self.heard.place[rows].astype(np.int64), self.atoms
        assert lists is not None
        self.heard.hidden[rows] = lists.hidden(places)
        shares = self.shares(rows, places, lists.law(places)[3])
        condense_shares(
            rows, shares, self.changes.rates, self.terms.fading, self.heard.hidden, self.form,
            atoms.mass, atoms.value, atoms.rate,
        )  # fmt: skip

    def shares(self, rows: IntArray, places: IntArray, trust: FloatArray) -> FloatArray:
        """Probabilities over the change rates of listed pages, if their lists are right with these probabilities."""
        lists, changes = self.lists, self.changes
        assert lists is not None
        recall, per_change, per_time, _ = lists.law(places)
        heard, out = lists.sources, np.empty((len(rows), len(changes.rates)))
        believed_rates(
            rows, changes.evidence, changes.log_prior, changes.tilt, changes.rates,
            places, heard.evidence, heard.count, heard.time, recall, per_change, per_time, trust, out,
        )  # fmt: skip
        return out

    def _evidence_by_lists(self) -> tuple[IntArray, npt.NDArray[np.float32]]:
        """The pages whose lists are rather believed than not, and the evidence of their rates by that."""
        rows = np.flatnonzero(self.heard.place[: len(self)] >= 0)
        places = self.heard.place[rows].astype(np.int64)
        if self.lists is None or not len(rows):
            return rows, np.empty((0, len(self.changes.rates)), np.float32)
        believed = self.lists.law(places)[3] > 0.5
        rows, places = rows[believed], places[believed]
        prior = self.changes.log_prior + self.changes.tilt[rows][:, None] * np.arange(len(self.changes.rates))
        evidence = np.log(np.maximum(self.shares(rows, places, np.ones(len(rows))), 1e-300)) - prior
        evidence -= evidence.max(axis=1, keepdims=True, initial=-np.inf) if len(rows) else 0.0
        return rows, np.maximum(evidence, -1e30).astype(np.float32)

    def change_atoms(self, rows: IntArray) -> tuple[Numbers, Numbers]:
        """Masses of the atoms of some pages, and the change rate at each."""
        atoms, hidden = self.atoms, np.maximum(self.heard.hidden[rows][:, None], 1e-9)
        mass, rate = atoms.mass[rows], atoms.rate[rows].astype(np.float64)
        if self.form == FADING:
            rate = np.maximum(rate - self.terms.fading[rows][:, None], 0.0) / hidden
        elif self.form == CHANGES:
            rate = rate / hidden
        elif self.form == DISCOVERY:
            rate = atoms.value[rows] / hidden
        return mass, rate.astype(np.float32)
