"""Sources whose crawls show items, dated or counted: objectives ephemeral and discovery.

Λ comes from counts over gaps, the initial interest ξ and its decay μ from the interest (or worth) of items at their
ages where a crawl shows it; where it does not, every item counts 1 and the half-life is the given or the default one.
"""

from __future__ import annotations

import numpy as np

from recrawl.learning.arrivals import ArrivalBeliefs
from recrawl.learning.averaged_model import AveragedModel, Terms
from recrawl.learning.interest import FadingInterest
from recrawl.learning.model import Setting
from recrawl.learning.posterior_points import Atoms
from recrawl.learning.rates import ATOMS
from recrawl.records import BoolArray, FloatArray, IntArray, Visits


def counted(visits: Visits, since: FloatArray, first: BoolArray) -> tuple[FloatArray, FloatArray]:
    """New items per visit and the time over which they came.

    A first visit shows a backlog. Dated items older than the source is known stretch the time back to the oldest of
    them, which marks the window and is not counted; undated ones belong to no known time and are left out.
    """
    count, exposure = np.zeros(len(visits)), visits.now - since
    for k in range(len(visits)):
        if visits.published is not None:
            times = np.asarray(visits.published[k], dtype=np.float64)
            count[k] = times.size
            if first[k] and times.size and times.min() < since[k]:
                count[k] -= 1.0
                exposure[k] = visits.now - times.min()
        if visits.new is not None:
            if not first[k]:
                count[k] += visits.new[k]
            elif visits.published is None:
                exposure[k] = 0.0
    return count, exposure


class ItemModel(AveragedModel):
    """Arrival rates and, for ephemeral items, their interest."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.arrivals = ArrivalBeliefs(0, setting.memory)
        self.interest = FadingInterest(0, setting.decays, setting.memory)
        self.appraised = False
        """Whether any crawl has shown the interest of items."""
        self.terms = Terms(0)
        self.atoms = Atoms(0, ATOMS, setting.act, setting.random)
        self.parts = (self.arrivals, self.interest, self.terms, self.atoms)

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray) -> bool:
        """Counts over gaps, and interest at ages."""
        if visits.published is None and visits.new is None:
            return False
        count, exposure = counted(visits, since, first)
        known = exposure > 0.0
        refitted = bool(known.any()) and self.arrivals.learn(visits.ids[known], count[known], exposure[known])
        if self.setting.objective == "ephemeral" and visits.published is not None:
            refitted |= self._appraise(visits, since)
        self.condense(np.arange(len(self)) if refitted else visits.ids)
        return refitted

    def _appraise(self, visits: Visits, since: FloatArray) -> bool:
        """Learn interest and decay from what items showed; True if the prior was fitted anew."""
        assert visits.published is not None
        if visits.interest is None and visits.worth is None:
            return False
        refitted, self.appraised = not self.appraised, True
        for k, i in enumerate(visits.ids.tolist()):
            ages = np.maximum(visits.now - np.asarray(visits.published[k], dtype=np.float64), 0.0)
            if ages.size:
                shown = visits.worth[k] if visits.interest is None else np.sum(visits.interest[k])  # type: ignore[index]
                refitted |= self.interest.appraise(i, ages, float(shown), float(visits.now - since[k]))
        return refitted

    def condense(self, rows: IntArray) -> None:
        """Put arrival rate and interest together in the atoms of some sources."""
        atoms, shape = self.atoms, self.arrivals.posterior(rows)[0]
        atoms.mass[rows], atoms.value[rows], atoms.rate[rows], atoms.spread[rows] = 0.0, 0.0, 0.0, 0.0
        if self.setting.objective == "discovery" or not self.appraised:
            fading = 0.0 * rows if self.setting.objective == "discovery" else self.terms.fading[rows]
            atoms.mass[rows, 0], atoms.rate[rows, 0] = 1.0, fading
            atoms.value[rows, 0] = 1.0 / np.where(fading > 0.0, fading, 1.0)
        else:
            self.interest.condense(rows, atoms.mass, atoms.value, atoms.rate, atoms.spread)
        atoms.value[rows] *= self.arrivals.mean(rows)[:, None]
        atoms.spread[rows] = np.sqrt(atoms.spread[rows] ** 2 + 1.0 / shape)
        atoms.redraw(rows)
