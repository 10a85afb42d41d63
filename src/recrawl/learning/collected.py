"""Sources of which a crawl shows only the worth it collected."""

from __future__ import annotations

import numpy as np

from recrawl.learning.atoms import Atoms
from recrawl.learning.interest import FadingInterest
from recrawl.learning.model import Moments, Setting
from recrawl.learning.rates import ATOMS
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

DITHER = 0.3
"""Posterior standard deviations of the index by which crawls of worth-only sources come early or late at random.

A steady schedule visits a source at one age for ever, and worth at one age cannot tell a large value that ripens slowly
from a small one that ripens fast. The dither vanishes with the doubt.
"""


class WorthModel:
    """Sources of which a crawl shows only the worth collected."""

    def __init__(self, setting: Setting) -> None:
        self.interest = FadingInterest(setting.targets, setting.decays, setting.memory)
        self.atoms = Atoms(setting.targets, ATOMS, setting.act, setting.random, dither=DITHER)
        self._condense(np.arange(setting.targets))

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray) -> None:
        """Worth after known gaps; a first visit's only says of what size worth is."""
        if visits.worth is None:
            return
        gaps = visits.now - since
        known = ~first & (gaps > 0.0)
        refitted = False
        if not known.all():
            before = self.interest.mean_inflow
            self.interest.scale(float(visits.worth[~known].mean()))
            refitted = self.interest.mean_inflow != before
        ids = visits.ids[known]
        if len(ids):
            refitted |= self.interest.collect(ids, gaps[known], visits.worth[known])
        self._condense(np.arange(len(self.atoms)) if refitted else ids)

    def index(self, now: float, since: FloatArray, tick: float) -> FloatArray:
        """The averaged index."""
        return self.atoms.index(now - since, tick)

    def moments(self, ids: IntArray) -> Moments:
        """Value and rate of the index."""
        return self.atoms.moments(ids)

    def grow(self, count: int) -> None:
        """Room for new sources."""
        before = len(self.atoms)
        self.interest.grow(count)
        self.atoms.grow(count)
        self._condense(np.arange(before, before + count))

    def _condense(self, ids: IntArray) -> None:
        self.interest.condense(ids, self.atoms.mass, self.atoms.value, self.atoms.rate, self.atoms.spread)
        self.atoms.settle(ids)
