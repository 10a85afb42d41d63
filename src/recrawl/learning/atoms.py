"""What is believed of each source, condensed for the index: a few atoms of (mass, value, rate), and a kept draw.

The one place that knows the three ways to act on a belief: the averaged index (mean), one posterior draw per source
that holds until its next visit (Thompson), and the averaged index plus some of its standard deviation (optimism).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from recrawl.errors import ParameterError
from recrawl.kernels.mixture_index import lags, scan
from recrawl.records import FloatArray, IntArray

Act = Literal["mean", "thompson", "optimism"]
ACTS: tuple[Act, ...] = ("mean", "thompson", "optimism")
OPTIMISM = 1.0
"""Standard deviations of the index that optimism adds."""


class Atoms:
    """Arrays of one row per source; `spread` is the relative standard deviation of the value given the rate."""

    def __init__(
        self,
        targets: int,
        atoms: int,
        act: Act,
        random: np.random.Generator,
        dither: float = 0.0,
    ) -> None:
        if act not in ACTS:
            raise ParameterError("act", f"one of {', '.join(ACTS)}", repr(act))
        self.act = act
        self.random = random
        self.dither = dither
        self.mass = np.zeros((targets, atoms))
        self.value = np.zeros((targets, atoms))
        self.rate = np.zeros((targets, atoms))
        self.lag = np.zeros((targets, atoms))
        self.spread = np.zeros(targets)
        self.tick = 0.0
        self.optimism = np.full(targets, OPTIMISM if act == "optimism" else 0.0)
        self.drawn_value = np.zeros((targets, 1))
        self.drawn_rate = np.zeros((targets, 1))
        self.drawn_lag = np.zeros((targets, 1))

    def __len__(self) -> int:
        return len(self.spread)

    def grow(self, count: int) -> None:
        """Room for `count` more sources, to be filled by the caller."""
        for name in (
            "mass",
            "value",
            "rate",
            "lag",
            "spread",
            "optimism",
            "drawn_value",
            "drawn_rate",
            "drawn_lag",
        ):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros((count, *array.shape[1:]))]))
        if self.act == "optimism":
            self.optimism[:] = OPTIMISM

    def settle(self, ids: IntArray) -> None:
        """The caller has written mass, value, rate and spread of these sources: bring the rest in line.

        Draws anew what stands until the next visit: the dither, or the value and rate Thompson sampling acts on.
        """
        lags(ids, self.rate, self.tick, self.lag)
        if self.act == "mean" and self.dither > 0.0:
            self.optimism[ids] = self.dither * self.random.standard_normal(len(ids))
        if self.act != "thompson" or len(ids) == 0:
            return
        below = np.cumsum(self.mass[ids], axis=1)
        level = self.random.random(len(ids)) * below[:, -1]
        atom = np.minimum((below <= level[:, None]).sum(axis=1), self.mass.shape[1] - 1)
        shape = 1.0 / np.maximum(self.spread[ids], 1e-6) ** 2
        self.drawn_value[ids, 0] = self.value[ids, atom] * self.random.standard_gamma(shape) / shape
        self.drawn_rate[ids, 0] = self.rate[ids, atom]
        self.drawn_lag[ids, 0] = self.lag[ids, atom]

    def index(self, age: FloatArray, tick: float) -> FloatArray:
        """The index of every source at its age, at unit cost."""
        if tick != self.tick:
            self.tick = tick
            self.settle(np.arange(len(self)))
        out = np.empty(len(age))
        if self.act == "thompson":
            sure, whole = np.zeros(len(age)), np.ones((len(age), 1))
            scan(whole, self.drawn_value, self.drawn_rate, self.drawn_lag, sure, age, sure, out)
        else:
            scan(self.mass, self.value, self.rate, self.lag, self.spread, age, self.optimism, out)
        return out

    def moments(self, ids: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Mean and standard deviation of value, then of rate."""
        mass, value, rate = self.mass[ids], self.value[ids], self.rate[ids]
        mean_value, mean_rate = (mass * value).sum(axis=1), (mass * rate).sum(axis=1)
        square = (mass * value**2).sum(axis=1) * (1.0 + self.spread[ids] ** 2)
        value_sd = np.sqrt(np.maximum(square - mean_value**2, 0.0))
        rate_sd = np.sqrt(np.maximum((mass * rate**2).sum(axis=1) - mean_rate**2, 0.0))
        return mean_value, value_sd, mean_rate, rate_sd
