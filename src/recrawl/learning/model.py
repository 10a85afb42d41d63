"""What a belief model is: it learns from visits, and says how much it wants each source now.

A model serves one kind of source and counts its sources by row. All of them hold columns, update in constant time per
visit, and answer the index of any sources in one compiled scan.

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

Each is multiplied by the owner's importance, over the cost. Freshness starts with that index and goes over to the plan
of :mod:`recrawl.learning.freshness_plan`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from recrawl.kernels.worth import decay_of
from recrawl.learning.posterior_points import Act
from recrawl.learning.rates import default_range
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

Objective = Literal["ephemeral", "freshness", "discovery", "changes"]
OBJECTIVES: tuple[Objective, ...] = ("ephemeral", "freshness", "discovery", "changes")
DEFAULT_HALF_LIFE_S = 6 * 3600.0
"""Half-life of an item's interest in seconds where none is given and no interest is ever shown."""
Times = float | FloatArray
"""One time, or one per source."""
Moments = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Setting:
    """What a model is told once: the objective's options and how to act on doubt; times in the caller's unit."""

    now: float
    objective: Objective
    half_life: float | None
    memory: float | None
    span: tuple[float, float] | None
    act: Act
    random: np.random.Generator

    @property
    def rates(self) -> tuple[float, float]:
        """Slowest and fastest rate told apart."""
        return default_range(self.now, self.half_life or math.inf) if self.span is None else self.span

    @property
    def fading(self) -> float:
        """μ, the decay of interest that is given or assumed, per time unit."""
        return decay_of(self.half_life or DEFAULT_HALF_LIFE_S)

    @property
    def decays(self) -> tuple[float, float]:
        """Slowest and fastest decay of interest to tell apart; one and the same where the half-life is given."""
        return self.rates if self.half_life is None else (self.fading, self.fading)


@dataclass(frozen=True)
class Reason:
    """Why the index of one target is what it is, for people who want to check it.

    Parameters
        form: of the index: "closed" (of one value and rate), "averaged" (over doubt), "rhythm" (by the hour),
            "planned" (age times a planned rate), "timer" (no index: a rule says when), ...
        numbers: what it is computed from, by names that say the unit
    """

    form: str
    numbers: dict[str, float] = field(default_factory=dict)


class BeliefModel(Protocol):
    """What is asked of a model. Sources are rows, which are added as they are met.

    `since` is when a source was last looked at, or when it became known, one time per row named.
    """

    def __len__(self) -> int: ...

    def grow(self, count: int) -> None:
        """Rows for new sources."""
        ...

    def clear(self, rows: IntArray) -> None:
        """Make rows new again, for other sources."""
        ...

    def enter(self, rows: IntArray, labels: Sequence[str] | None) -> None:
        """Rows are taken by new sources, perhaps with URLs or paths."""
        ...

    def agree(self, rows: IntArray, fading: FloatArray, weight: FloatArray) -> None:
        """Terms of some sources: the decay of interest, and what a unit of worth counts per unit of cost."""
        ...

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray) -> bool:
        """Take in successful visits, whose ids are rows; whether what is believed of everybody has changed.

        `first` marks sources never visited before: a first visit is a baseline, whose changed flag, backlog and worth
        belong to no known gap.
        """
        ...

    def index(self, rows: IntArray, since: FloatArray, now: Times, tick: float) -> FloatArray:
        """How much a crawl of some sources is wanted at `now`; `tick` is the least time between choices."""
        ...

    def asleep_until(self, rows: IntArray, since: FloatArray, now: float, level: Times) -> FloatArray:
        """Times before which the index of some sources is surely below a level, one or one each; `now` where nobody
        can say."""
        ...

    def meets(self, rows: IntArray, since: FloatArray, level: Times, latest: FloatArray) -> FloatArray:
        """Times at which the index of some sources meets a level, `latest` at most."""
        ...

    def ages(self, rows: IntArray, level: Times) -> FloatArray:
        """Ages at which it does so at no special hour; inf for never."""
        ...

    def moments(self, rows: IntArray) -> Moments:
        """Mean and standard deviation of value, then of rate, owners' terms not included."""
        ...

    def reasons(self, rows: IntArray, since: FloatArray, now: float) -> list[Reason]:
        """The numbers behind the index."""
        ...

    def pack(self, rows: IntArray) -> list[bytes]:
        """All that was learned of some sources."""
        ...

    def unpack(self, rows: IntArray, packed: Sequence[bytes]) -> None:
        """Put it back."""
        ...

    @property
    def row_bytes(self) -> int:
        """How long a packed row is."""
        ...

    def shared(self) -> dict[str, Any]:
        """What belongs to no single source, as plain numbers."""
        ...

    def load_shared(self, state: dict[str, Any]) -> None:
        """Go on from `shared`."""
        ...

    def recompute(self) -> None:
        """Bring everything in line with rows and common laws, after either was loaded."""
        ...
