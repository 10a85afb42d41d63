"""Sources of which a crawl shows only the worth it collected."""

from __future__ import annotations

import numpy as np

from recrawl.learning.averaged_model import AveragedModel, Terms
from recrawl.learning.interest import FadingInterest
from recrawl.learning.model import Setting
from recrawl.learning.posterior_points import Atoms
from recrawl.learning.rates import ATOMS
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

DITHER = 0.3
"""Posterior standard deviations of the index by which crawls of worth-only sources come early or late at random.

A steady schedule visits a source at one age for ever, and worth at one age cannot tell a large value that ripens slowly
from a small one that ripens fast. The dither vanishes with the doubt.
"""


class WorthModel(AveragedModel):
    """Sources of which a crawl shows only the worth collected."""

    def __init__(self, setting: Setting) -> None:
        self.interest = FadingInterest(0, setting.decays, setting.memory)
        self.terms = Terms(0)
        self.atoms = Atoms(0, ATOMS, setting.act, setting.random, dither=DITHER)
        self.parts = (self.interest, self.terms, self.atoms)

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray) -> bool:
        """Worth after known gaps; a first visit's only says of what size worth is."""
        if visits.worth is None:
            return False
        gaps = visits.now - since
        known = ~first & (gaps > 0.0)
        refitted = False
        if not known.all():
            before = self.interest.mean_inflow
            self.interest.scale(float(visits.worth[~known].mean()))
            refitted = self.interest.mean_inflow != before
        rows = visits.ids[known]
        if len(rows):
            refitted |= self.interest.collect(rows, gaps[known], visits.worth[known])
        self.condense(np.arange(len(self)) if refitted else rows)
        return refitted

    def condense(self, rows: IntArray) -> None:
        """Write the atoms of some sources anew."""
        self.interest.condense(rows, self.atoms.mass, self.atoms.value, self.atoms.rate, self.atoms.spread)
        self.atoms.redraw(rows)
