"""The soft threshold policy with the true thresholds [allerton2019, §III]: what the learner's actor tries to become.

It is the index policy seen through T_i = γ_i⁻¹(max_{j≠i} γ_j), with the step at T_i made soft. As the unit of worth
shrinks it becomes the index policy. It needs all parameters and has no name in `policies.make`: it is there to measure
what softness alone costs.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from recrawl.compiled_code import njit
from recrawl.kernels.slotted_index import worth_after
from recrawl.kernels.soft_threshold import crawl_probabilities
from recrawl.kernels.threshold_map import threshold_map
from recrawl.policies.base import RankedPolicy
from recrawl.records import FloatArray, Sources, checked


def worth_now(sources: Sources, slots: FloatArray, observed: FloatArray | None) -> FloatArray:
    """The worth of every source: as observed, else as expected so many slots after its crawl (2)–(3)."""
    seen = np.full(len(slots), np.nan) if observed is None else observed
    return np.asarray(_filled(seen, slots, sources.exact_lifetime, sources.decay_rate, sources.unbounded_ceiling))


@njit(cache=True)
def _filled(
    states: FloatArray, slots: FloatArray, lifetime: FloatArray, rate: FloatArray, unbounded: FloatArray
) -> FloatArray:
    out = states.copy()
    for i in range(len(out)):
        if math.isnan(out[i]):
            out[i] = worth_after(min(slots[i], lifetime[i]), rate[i], unbounded[i])
    return out


class SoftThreshold(RankedPolicy):
    """Crawls each source with probability f_i at its true threshold.

    Parameters
        sharpness: κ
        active: N₀, how many sources the index policy would crawl
        unit: worths are divided by this
    """

    soft_budget = True
    needs_sources: ClassVar[bool] = True

    def __init__(
        self, sharpness: float = 2.0, active: int = 1, unit: float = 1.0, seed: int | tuple[int, ...] = 0
    ) -> None:
        super().__init__(seed)
        self.sharpness = float(checked("sharpness", sharpness, "finite and > 0", open_low=True))
        self.unit = float(checked("unit", unit, "finite and > 0", open_low=True))
        self.active = active

    def begin(self, now: float) -> None:
        """Every source crawled one slot ago."""
        self.last = np.full(len(self.last), now - 1.0)

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """x_i − T_i of the sources that were drawn."""
        assert self.sources is not None
        worth = worth_now(self.sources, now - self.last, states)
        threshold = threshold_map(self.sources, worth, self.active)
        sharpness = np.full(len(worth), self.sharpness)
        probability = crawl_probabilities(worth / self.unit, threshold / self.unit, sharpness)
        return np.where(self.random.random(len(worth)) < probability, worth - threshold, -np.inf)
