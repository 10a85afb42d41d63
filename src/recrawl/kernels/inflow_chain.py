"""A source whose worth grows by a random amount per slot, as a Markov chain on a grid [tcns2018, (23)].

Left alone the worth moves as y ← αy + U, where the inflow U of a slot has a law known through a sample. The chain lives
on nodes y_0 = 0 < y_1 < …: a step that lands between two nodes goes to either in proportion to its nearness, so that
the expected worth of every step is kept, and a function that is linear between nodes is integrated exactly. What lands
above the last node is counted, not placed: there the source is always crawled and its worth taken as it is.

How fine. A convex function interpolated between nodes h apart is off by about h²/8 of its curvature in each step, and a
walk takes about 1/(1 − α) steps; the number of nodes grows as (1 − α)^{−1/2} to keep the sum of both small.

Symbols: α decay factor, U inflow per slot, u = E U, u* = u/(1 − α) the ceiling, y node.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.errors import ParameterError
from recrawl.records import FloatArray, checked

# More sample points than this are averaged in groups of equal count: far below the sample's own error.
GROUPS = 4096
FEWEST_NODES, MOST_NODES = 512, 8192


@dataclass(frozen=True, eq=False)
class InflowLaw:
    """The law of one slot's inflow and what is kept of the worth per slot.

    Parameters
        points: the values U takes, increasing
        weights: their probabilities
        decay_factor: α
    """

    points: FloatArray
    weights: FloatArray
    decay_factor: float

    @property
    def mean(self) -> float:
        """u, the expected inflow of a slot."""
        return float(self.points @ self.weights)

    @property
    def ceiling(self) -> float:
        """u*, the worth a source tends to on average when never crawled."""
        return self.mean / (1.0 - self.decay_factor)

    @property
    def spread(self) -> float:
        """Standard deviation of the worth of a source that is never crawled."""
        largest = float(self.points[-1])
        if largest == 0.0:
            return 0.0
        variance = float((((self.points - self.mean) / largest) ** 2) @ self.weights)
        return largest * math.sqrt(variance / (1.0 - self.decay_factor**2))

    @property
    def reachable(self) -> float:
        """The worth that a source can approach but never pass."""
        return float(self.points[-1]) / (1.0 - self.decay_factor)

    @property
    def is_constant(self) -> bool:
        """Whether every slot brings the same inflow."""
        return len(self.points) == 1


def inflow_law(sample: npt.ArrayLike, decay_factor: float) -> InflowLaw:
    """The empirical law of a sample of inflows, each finite and >= 0; equal values are merged."""
    values = checked("sample", sample, "finite and >= 0").reshape(-1)
    if len(values) == 0:
        raise ParameterError("sample", "at least one inflow", "an empty sample")
    alpha = checked("decay_factor", decay_factor, "one number in [0, 1)", high=math.nextafter(1.0, 0.0))
    if alpha.ndim:
        raise ParameterError("decay_factor", "one number in [0, 1)", f"shape {alpha.shape}")
    points, counts = np.unique(values, return_counts=True)
    if points[-1] > (1.0 - float(alpha)) * np.finfo(np.float64).max / 1e3:
        raise ParameterError("sample", "small enough that sample / (1 - decay_factor) is finite", points[-1])
    if len(points) > GROUPS:
        groups = np.array_split(np.sort(values), GROUPS)
        points, counts = np.array([g.mean() for g in groups]), np.array([len(g) for g in groups])
    return InflowLaw(points.astype(np.float64), counts / counts.sum(), float(alpha))


def grid(law: InflowLaw, top: float, nodes: int | None = None) -> FloatArray:
    """Nodes from 0 to `top`: nearly even up to the ceiling, wider apart in proportion beyond it, with two additions.

    The orbit of the mean is where an almost constant inflow puts all its mass, and where the index of a constant one
    bends; it is followed while its steps are wider than the nodes. Around the ceiling, where waiting long takes the
    worth and the index is steepest, half as many nodes again resolve the spread.
    """
    count = nodes or int(np.clip(math.sqrt(2.4e5 / (1.0 - law.decay_factor)), FEWEST_NODES, MOST_NODES))
    scale = 2.0 * law.ceiling
    even = scale * np.expm1(np.linspace(0.0, math.log1p(top / scale), count + 1))
    even[-1] = top
    gap = scale * math.log1p(top / scale) / count
    orbit: list[float] = []
    worth = step = law.mean
    while step > gap and worth < top and len(orbit) < count:
        orbit.append(worth)
        step *= law.decay_factor
        worth += step
    near = law.ceiling + 5.0 * law.spread * np.linspace(-1.0, 1.0, count // 2 + 1)
    near = near[(near > 0.0) & (near < top)] if 5.0 * law.spread < 0.2 * law.ceiling else near[:0]
    return distinct(np.concatenate([even, np.array(orbit), near]), 1e-9 * gap)


def distinct(nodes: FloatArray, gap: float) -> FloatArray:
    """The nodes in order, those within `gap` of the next dropped; the last one stays."""
    ordered = np.sort(nodes)
    apart: FloatArray = ordered[np.append(np.diff(ordered) > gap, True)]
    return apart


def highest_worth(law: InflowLaw, spreads: float = 8.0) -> float:
    """How far up an index is worth tabulating: a number of spreads above the ceiling, but not above what is reached."""
    return min(max(law.ceiling + spreads * law.spread, float(law.points[-1])), law.reachable)


@njit(cache=True)
def reach(nodes: FloatArray, low: float, high: float, decay_factor: float) -> tuple[FloatArray, FloatArray]:
    """First and last node that a step from each node can touch, as whole numbers in float arrays."""
    count = len(nodes)
    first, last = np.empty(count), np.empty(count)
    f = p = 0
    for i in range(count):
        while f + 1 < count and nodes[f + 1] <= decay_factor * nodes[i] + low:
            f += 1
        while p + 1 < count and nodes[p] < decay_factor * nodes[i] + high:
            p += 1
        first[i], last[i] = min(f, i), max(p, min(i + 1, count - 1))
    return first, last


@njit(cache=True)
def step_from(
    origin: float, nodes: FloatArray, points: FloatArray, weights: FloatArray, offset: int, row: FloatArray
) -> float:
    """Add to `row` (column 0 is node `offset`) where a step from kept worth `origin` lands; return what lands above."""
    count = len(nodes)
    k = offset
    above = 0.0
    for n in range(len(points)):
        y = origin + points[n]
        while k + 1 < count and nodes[k + 1] <= y:
            k += 1
        if k + 1 == count:
            if y <= nodes[k]:
                row[k - offset] += weights[n]
            else:
                above += weights[n]
        else:
            share = (y - nodes[k]) / (nodes[k + 1] - nodes[k])
            row[k - offset] += weights[n] * (1.0 - share)
            if share > 0.0:  # else the node may be the last that a step can touch
                row[k + 1 - offset] += weights[n] * share
    return above


@njit(cache=True)
def _all_steps(nodes: FloatArray, points: FloatArray, weights: FloatArray, decay_factor: float) -> FloatArray:
    matrix = np.zeros((len(nodes), len(nodes)))
    for i in range(len(nodes)):
        step_from(decay_factor * nodes[i], nodes, points, weights, 0, matrix[i])
    return matrix


def transitions(law: InflowLaw, nodes: FloatArray) -> FloatArray:
    """The passive chain as a dense matrix over the nodes; rows fall short of 1 by what lands above the last node."""
    return _all_steps(nodes, law.points, law.weights, law.decay_factor)
