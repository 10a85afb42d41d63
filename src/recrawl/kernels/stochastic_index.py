"""The Whittle index where each slot's inflow is random and the worth of a source is observed [tcns2018, §VIII].

For a threshold a let H(y) be the expected number of slots until a source of worth y, left alone, reaches [a, ∞), and
R(y) its expected worth there. Crawling exactly at and above a is optimal when a crawl is priced at γ(a), for which
waiting and crawling are worth the same in a itself. From (28)–(31), with (30) read as ∫V dφ = 0 (as printed, V(u) = 0
is not the reset of a random source)::

    C·γ(a) = R₀ + (1 + H₀)(a − R₁)/(1 + H₁)

where index 0 starts from U and index 1 from αa + U. Write D(y) = R(y) − y, the worth gained while waiting. Both solve
the same linear system on the nodes below a, with P the chain of :mod:`~recrawl.kernels.inflow_chain`::

    H = 1 + PH,   D = (1 − α)(u* − y) + PD,   C·γ(a) = D(0) − H(0)·D(a)/H(a)

Here the value at a is that of waiting there. One elimination of I − P from the lowest node up serves *every* threshold:
when it comes to node a it has removed all nodes below, so the transformed right-hand side at a is H(a) and D(a), and
H(0) and D(0) are running sums over the nodes removed, weighted by the expected visits from 0. The pivots are sums of
probabilities of leaving upwards (Grassmann, Taksar and Heyman), so nothing cancels.

With a constant inflow this is Theorem 1. Far above the ceiling γ(a) tends to a/C, and the table is continued with that
slope.

Symbols: α decay factor, U inflow of a slot with law φ, u = E U, u* = u/(1 − α), C cost, a threshold, γ index.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from recrawl.arguments import one_of, whole
from recrawl.compiled_code import njit
from recrawl.errors import ParameterError
from recrawl.kernels.arguments import as_float, shaped
from recrawl.kernels.continuous_index import LARGEST
from recrawl.kernels.inflow_chain import InflowLaw, distinct, grid, highest_worth, inflow_law, reach, step_from
from recrawl.kernels.slotted_index import index_after, worth_after
from recrawl.kernels.stochastic_approximation import approximated_index, two_time_scale_index
from recrawl.records import FloatArray, checked

Method = Literal["renewal", "approximation", "two_time_scale"]
METHODS: tuple[Method, ...] = ("renewal", "approximation", "two_time_scale")
# A threshold that takes more slots than this to reach is beyond the table: rounding grows with the wait.
LONGEST_WAIT = 1e8
# A finer grid than this is for the computation; the table keeps every second, third, … node.
LONGEST_TABLE = 2048


@njit(cache=True)
def interpolated_index(x: float, thresholds: FloatArray, values: FloatArray, cost: float) -> float:
    """The index at worth x from a table whose first threshold is 0; above the last one it rises by 1/C."""
    last = len(thresholds) - 1
    if x >= thresholds[last]:
        return min(float(values[last] + (x - thresholds[last]) / cost), LARGEST)
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        if thresholds[middle] <= x:
            low = middle
        else:
            high = middle
    share = (x - thresholds[low]) / (thresholds[high] - thresholds[low])
    return float(values[low] + share * (values[high] - values[low]))


@njit(cache=True)
def _interpolate(x: FloatArray, thresholds: FloatArray, values: FloatArray, cost: float) -> FloatArray:
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = interpolated_index(x[i], thresholds, values, cost)
    return out


@dataclass(frozen=True, eq=False)
class StochasticIndex:
    """The index of one source as a function of its observed worth: a table, linear between its thresholds.

    Parameters
        thresholds: worths, increasing from 0
        values: the index at each
        cost: C; above the last threshold the index rises by 1/C per unit of worth
    """

    thresholds: FloatArray
    values: FloatArray
    cost: float

    def __call__(self, state: npt.ArrayLike) -> FloatArray | float:
        """The index at any worth `state` >= 0."""
        worth = checked("state", as_float("state", state), "a finite worth >= 0")
        return shaped(_interpolate(worth.reshape(-1), self.thresholds, self.values, self.cost), worth.shape)


@njit(cache=True)
def _eliminate(
    nodes: FloatArray,
    points: FloatArray,
    weights: FloatArray,
    decay_factor: float,
    ceiling: float,
    out: FloatArray,
) -> int:
    """Fill `out` with C·γ at each node; return how many nodes were reached within the longest wait."""
    count = len(nodes)
    first_f, last_f = reach(nodes, points[0], points[-1], decay_factor)
    first, last = first_f.astype(np.int64), last_f.astype(np.int64)
    band = np.zeros((count, np.max(last - first) + 1))
    above, visits = np.empty(count), np.zeros(count)
    wait, gain = np.ones(count), (1.0 - decay_factor) * (ceiling - nodes)
    for i in range(count):
        above[i] = step_from(decay_factor * nodes[i], nodes, points, weights, first[i], band[i])
    visits[0] = 1.0
    wait_from_0 = gain_from_0 = 0.0
    for j in range(count):
        if wait[j] > LONGEST_WAIT:
            return j
        out[j] = gain_from_0 - wait_from_0 * gain[j] / wait[j]
        own = j - first[j]
        width = last[j] - j
        leaving = above[j]
        for c in range(1, width + 1):
            leaving += band[j, own + c]
        if leaving * LONGEST_WAIT <= 1.0:
            return j + 1
        visits[j] /= leaving
        wait_from_0 += visits[j] * wait[j]
        gain_from_0 += visits[j] * gain[j]
        for c in range(1, width + 1):
            visits[j + c] += visits[j] * band[j, own + c]
        for i in range(j + 1, count):
            if first[i] > j:
                break
            factor = band[i, j - first[i]] / leaving
            if factor > 0.0:
                here = j - first[i]
                for c in range(1, width + 1):
                    band[i, here + c] += factor * band[j, own + c]
                above[i] += factor * above[j]
                wait[i] += factor * wait[j]
                gain[i] += factor * gain[j]
    return count


def renewal_index(law: InflowLaw, nodes: FloatArray, cost: float = 1.0) -> FloatArray:
    """γ at each node by the renewal form; nan at nodes that are practically never reached.

    `nodes` increase from 0 and are both the thresholds and the grid of the computation.
    """
    out = np.full(len(nodes), np.nan)
    reached = _eliminate(nodes, law.points, law.weights, law.decay_factor, law.ceiling, out)
    out[reached:] = np.nan
    return out / cost


def _orbit_table(law: InflowLaw, cost: float) -> tuple[FloatArray, FloatArray]:
    """Theorem 1 as a table: it is linear between orbit points, all of them at first and then ever fewer."""
    rate = -math.log(law.decay_factor) if law.decay_factor > 0.0 else math.inf
    slots = np.unique(np.floor(np.geomspace(1.0, max(1.0, 45.0 / rate), 4096)))
    worth = np.array([worth_after(k, rate, law.ceiling) for k in slots])
    value = np.array([index_after(k, rate, law.mean, law.ceiling, cost) for k in slots])
    inner = np.append(np.diff(worth) > 0.0, False) & (worth < law.ceiling)
    thresholds = np.concatenate([[0.0], worth[inner], [law.ceiling]])
    return thresholds, np.concatenate([[0.0], value[inner], [law.ceiling / cost]])


def _renewal_table(law: InflowLaw, cost: float) -> tuple[FloatArray, FloatArray]:
    if law.mean == 0.0:
        return np.array([0.0, 1.0]), np.array([0.0, 1.0 / cost])
    if law.is_constant:
        return _orbit_table(law, cost)
    nodes = grid(law, highest_worth(law))
    values = renewal_index(law, nodes, cost)
    reached = np.flatnonzero(np.isfinite(values))
    kept = np.union1d(reached[:: -(-len(reached) // LONGEST_TABLE)], reached[-1])
    # The index rises with the worth; rounding may not undo that.
    return nodes[kept], np.maximum.accumulate(values[kept])


def _approximate_table(
    law: InflowLaw, cost: float, method: Method, thresholds: FloatArray | None, seed: int
) -> tuple[FloatArray, FloatArray]:
    worths = thresholds if thresholds is not None else np.linspace(0.0, highest_worth(law, spreads=3.0), 25)
    worths = distinct(np.concatenate([[0.0], worths]), 0.0)
    learn = approximated_index if method == "approximation" else two_time_scale_index
    values = [learn(law, float(a), cost, seed=seed) for a in worths[1:]]
    return worths, np.concatenate([[0.0], values])


def stochastic_index(
    sample: npt.ArrayLike,
    decay_factor: float,
    cost: float = 1.0,
    *,
    method: Method = "renewal",
    thresholds: npt.ArrayLike | None = None,
    seed: int = 0,
) -> StochasticIndex:
    """The index of a source from samples of one slot's inflow, as a function of its observed worth.

    Parameters
        sample: inflows U of single slots, each >= 0
        decay_factor: α, what is left of the worth after a slot, in [0, 1)
        cost: C, what a crawl spends
        method: "renewal" is exact on a grid; "approximation" (32) and "two_time_scale" (33)–(35) learn it by simulation
        thresholds: worths at which the learning methods run (they run once per threshold); the renewal form needs none
        seed: of the learning methods

    >>> index = stochastic_index(sample=[0.5, 1.5], decay_factor=0.5)
    >>> round(index(1.2), 3)
    0.8
    """
    one_of("method", method, METHODS)
    seed = whole("seed", seed)
    law = inflow_law(sample, decay_factor)
    spend = checked("cost", cost, "one finite number > 0", open_low=True)
    if spend.ndim:
        raise ParameterError("cost", "one finite number > 0", f"shape {spend.shape}")
    price = float(spend)
    if highest_worth(law) > min(price, 1.0) * np.finfo(np.float64).max / 1e3:
        raise ParameterError("cost", "large enough that sample / (1 - decay_factor) / cost is finite", price)
    if method == "renewal":
        if thresholds is not None:
            raise ParameterError("thresholds", "left out with method='renewal', which finds all at once", "an array")
        return StochasticIndex(*_renewal_table(law, price), cost=price)
    worths = None if thresholds is None else checked("thresholds", thresholds, "finite and >= 0").reshape(-1)
    return StochasticIndex(*_approximate_table(law, price, method, worths, seed), cost=price)
