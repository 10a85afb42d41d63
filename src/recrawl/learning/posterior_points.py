"""What is believed of each source, condensed for the index: a few atoms of (mass, value, rate), and a kept draw.

The one place that knows the three ways to act on a belief: the averaged index (mean), one posterior draw per source
that holds until its next visit (Thompson), and the averaged index plus some of its standard deviation (optimism).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from recrawl.errors import ParameterError
from recrawl.kernels.mixture_index import Numbers, ripe_ages, scan, young_ages
from recrawl.learning.columns import Column, Columns
from recrawl.records import FloatArray, IntArray

Act = Literal["mean", "thompson", "optimism"]
ACTS: tuple[Act, ...] = ("mean", "thompson", "optimism")
OPTIMISM = 1.0
"""Standard deviations of the index that optimism adds."""
NEAR, EXACT = 0.01, 1e-6
"""How near to a crossing age it is worth coming: to sleep till then, and to tell it."""
_NONE = np.empty(0, np.float32)


class Atoms(Columns):
    """Columns of one row per source; `spread` is the relative standard deviation of the value given the rate.

    Parameters
        dither: standard deviations of the index by which the mean is raised or lowered at random
    """

    mass: Numbers
    value: Numbers
    rate: Numbers
    spread: Numbers
    optimism: Numbers
    drawn_mass: Numbers
    drawn_value: Numbers
    drawn_rate: Numbers

    def __init__(
        self, size: int, atoms: int, act: Act = "mean", random: np.random.Generator | None = None, dither: float = 0.0
    ) -> None:
        if act not in ACTS:
            raise ParameterError("act", f"one of {', '.join(ACTS)}", repr(act))
        self.act, self.dither = act, dither
        self.random = random or np.random.default_rng(0)
        columns = {name: Column(np.float32, 0.0, atoms, kept=False) for name in ("mass", "value", "rate")}
        columns["spread"] = Column(np.float32, 0.0, kept=False)
        if act == "thompson":
            columns["drawn_mass"] = Column(np.float32, 1.0, 1, kept=False)
            columns |= {name: Column(np.float32, 0.0, 1, kept=False) for name in ("drawn_value", "drawn_rate")}
        if act == "optimism" or dither > 0.0:
            columns["optimism"] = Column(np.float32, OPTIMISM if act == "optimism" else 0.0, kept=False)
        super().__init__(size, columns)

    @property
    def certain(self) -> bool:
        """Whether sources are ranked by the averaged index alone, which only rises with age."""
        return self.act == "mean" and self.dither == 0.0

    def redraw(self, rows: IntArray) -> None:
        """The caller has written mass, value, rate and spread of these sources: bring the rest in line.

        Draws anew what stands until the next visit: the dither, or the value and rate Thompson sampling acts on.
        """
        if self.act == "mean" and self.dither > 0.0:
            self.optimism[rows] = self.dither * self.random.standard_normal(len(rows))
        if self.act != "thompson" or len(rows) == 0:
            return
        below = np.cumsum(self.mass[rows], axis=1)
        level = self.random.random(len(rows)) * below[:, -1]
        atom = np.minimum((below <= level[:, None]).sum(axis=1), self.mass.shape[1] - 1)
        shape = 1.0 / np.maximum(self.spread[rows], 1e-6) ** 2
        self.drawn_value[rows, 0] = self.value[rows, atom] * self.random.standard_gamma(shape) / shape
        self.drawn_rate[rows, 0] = self.rate[rows, atom]

    def index(self, rows: IntArray, age: FloatArray, tick: float = 0.0) -> FloatArray:
        """The index of some sources at their ages, at unit weight; `tick` is the least time between choices."""
        out = np.empty(len(rows))
        if self.act == "thompson":
            scan(rows, self.drawn_mass, self.drawn_value, self.drawn_rate, self.spread, _NONE, age, tick, out)
        else:
            hopes = _NONE if self.certain else self.optimism
            scan(rows, self.mass, self.value, self.rate, self.spread, hopes, age, tick, out)
        return out

    def young(self, rows: IntArray, age: FloatArray, level: FloatArray) -> FloatArray:
        """Ages up to which the index of some sources is surely below its level; the present one if nobody can say."""
        if not self.certain:
            return age
        out = np.empty(len(rows))
        young_ages(rows, self.mass, self.value, self.rate, age, level, NEAR, out)
        return out

    def ripe(self, rows: IntArray, level: FloatArray) -> FloatArray:
        """Ages at which the averaged index of some sources meets its level; inf for never."""
        out = np.empty(len(rows))
        ripe_ages(rows, self.mass, self.value, self.rate, level, EXACT, out)
        return out

    def moments(self, rows: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Mean and standard deviation of value, then of rate."""
        mass, value, rate = (column[rows].astype(np.float64) for column in (self.mass, self.value, self.rate))
        mean_value, mean_rate = (mass * value).sum(axis=1), (mass * rate).sum(axis=1)
        square = (mass * value**2).sum(axis=1) * (1.0 + self.spread[rows].astype(np.float64) ** 2)
        value_sd = np.sqrt(np.maximum(square - mean_value**2, 0.0))
        rate_sd = np.sqrt(np.maximum((mass * rate**2).sum(axis=1) - mean_rate**2, 0.0))
        return mean_value, value_sd, mean_rate, rate_sd
