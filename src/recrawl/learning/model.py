"""What a belief model is: it learns from visits, and says how much it wants each source now.

A model is chosen by the objective. All of them hold flat arrays over the catalogue, update in constant time per visit
and answer an index for every source in one compiled scan.

===========  =========================================  ==================================
objective    a crawl after age τ is worth               atoms (value, rate) at change rate Δ
===========  =========================================  ==================================
changes      w(1 − e^{−Δτ})                             (w, Δ)
freshness    (1 − e^{−Δτ})/Δ                            (1/Δ, Δ)
ephemeral    items: Λξ(1 − e^{−μτ})/μ                   (Λξ/μ, μ)
             pages: wΔ(1 − e^{−(Δ+μ)τ})/(Δ+μ)           (wΔ/(Δ+μ), Δ+μ)
             worth alone: v(1 − e^{−rτ})                (v, r)
discovery    Λτ²/2 of delay saved                       (Λ, 0)
===========  =========================================  ==================================

Freshness starts with that index and goes over to the plan of :mod:`recrawl.learning.planned`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from recrawl.learning.atoms import Act
from recrawl.learning.rates import default_range
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

Objective = Literal["ephemeral", "freshness", "discovery", "changes"]
OBJECTIVES: tuple[Objective, ...] = ("ephemeral", "freshness", "discovery", "changes")
DEFAULT_HALF_LIFE_S = 6 * 3600.0
"""Half-life of an item's interest in seconds where none is given and no interest is ever shown."""
Moments = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Setting:
    """What a model is told once: the objective's options and how to act on doubt; times in the caller's unit."""

    targets: int
    now: float
    objective: Objective
    half_life: float | None
    memory: float | None
    span: tuple[float, float] | None
    act: Act
    random: np.random.Generator
    labels: Sequence[str] | None = None

    @property
    def rates(self) -> tuple[float, float]:
        """Slowest and fastest rate told apart."""
        return default_range(self.now) if self.span is None else self.span

    @property
    def fading(self) -> float:
        """μ, the decay of interest that is given or assumed, per time unit."""
        return math.log(2.0) / (self.half_life or DEFAULT_HALF_LIFE_S)

    @property
    def decays(self) -> tuple[float, float]:
        """Slowest and fastest decay of interest to tell apart; one and the same where the half-life is given."""
        return self.rates if self.half_life is None else (self.fading, self.fading)


class BeliefModel(Protocol):
    """What the learned policy asks of a model.

    `since` is when a source was last looked at, or when it became known; `first` marks sources never visited before:
    a first visit is a baseline, whose changed flag, backlog and worth belong to no known gap.
    """

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray) -> None:
        """Take in successful visits; `since` and `first` are per visited id."""
        ...

    def index(self, now: float, since: FloatArray, tick: float) -> FloatArray:
        """How much a crawl of each source is wanted now, at unit cost; `tick` is the least time between choices."""
        ...

    def moments(self, ids: IntArray) -> Moments:
        """Mean and standard deviation of value, then of rate."""
        ...

    def grow(self, count: int) -> None:
        """Room for new sources."""
        ...
