"""The dynamic programmes of [tcns2018] solved by plain value iteration: slow, obvious, and independent of the kernels.

One source, a subsidy λ for leaving it alone, on a grid of worths. A step between two grid points is interpolated;
above the last one the value function continues with slope 1 (where a source is crawled at once, one more unit of worth
is one more unit of value).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Source:
    """α, the points and probabilities of one slot's inflow, C, and the grid (increasing, from 0)."""

    decay_factor: float
    inflow: np.ndarray
    probability: np.ndarray
    cost: float
    grid: np.ndarray

    def expected(self, value: np.ndarray, worth: np.ndarray) -> np.ndarray:
        """E V(worth + U) for each worth that is kept."""
        landing = worth[:, None] + self.inflow[None, :]
        beyond = np.maximum(landing - self.grid[-1], 0.0)
        return (np.interp(landing, self.grid, value) + beyond) @ self.probability


def deterministic(decay_factor: float, inflow: float, cost: float, worths: np.ndarray) -> Source:
    """A source with constant inflow, on a grid that contains 0, the inflow and the ceiling besides `worths`."""
    ceiling = inflow / (1.0 - decay_factor)
    grid = np.unique(np.concatenate([[0.0, inflow, ceiling], worths]))
    return Source(decay_factor, np.array([inflow]), np.array([1.0]), cost, grid)


def on_orbits(decay_factor: float, inflow: float, cost: float, state: float, slots: int) -> Source:
    """A source with constant inflow on the worths it passes from 0 and from `state`: nothing is interpolated."""
    start = np.array([0.0, state])
    orbits = [start]
    for _ in range(slots):
        orbits.append(decay_factor * orbits[-1] + inflow)
    return deterministic(decay_factor, inflow, cost, np.concatenate(orbits))


def discounted_value(source: Source, subsidy: float, discount: float, tolerance: float = 1e-11) -> np.ndarray:
    """V_δ of (8), or of (24) where the inflow is random."""
    kept = source.decay_factor * source.grid
    value = source.grid.copy()
    while True:
        wait = source.cost * subsidy + discount * source.expected(value, kept)
        crawl = source.grid + discount * source.expected(value, np.zeros(1))
        new = np.maximum(wait, crawl)
        if np.abs(new - value).max() <= tolerance * (1.0 - discount) * (1.0 + np.abs(new).max()):
            return new
        value = new


def average_value(source: Source, subsidy: float, tolerance: float = 1e-12) -> tuple[np.ndarray, float]:
    """V and β of (10), or of (25), with E V(U) = 0: relative value iteration, damped because the chain is periodic."""
    kept = source.decay_factor * source.grid
    value = source.grid.copy()
    scale = source.grid[-1] + source.cost * abs(subsidy)
    for _ in range(200_000):
        value = value - source.expected(value, np.zeros(1))
        new = np.maximum(source.cost * subsidy + source.expected(value, kept), source.grid)
        gain = new - value
        value = 0.5 * (value + new)
        if np.ptp(gain) <= tolerance * scale:
            value = value - source.expected(value, np.zeros(1))
            return value, float(gain.mean())
    raise AssertionError("value iteration did not settle")


def advantage_of_waiting(source: Source, subsidy: float, value: np.ndarray) -> np.ndarray:
    """By how much waiting beats crawling at each grid point, given V of (10): positive on the passive set B."""
    return source.cost * subsidy + source.expected(value, source.decay_factor * source.grid) - source.grid


def indifference(source: Source, state: float, tolerance: float = 1e-9) -> float:
    """The subsidy at which waiting and crawling are worth the same in `state`, by bisection."""
    at = int(np.searchsorted(source.grid, state))
    assert source.grid[at] == state
    low, high = 0.0, 2.0 * source.grid[-1] / source.cost
    while high - low > tolerance * high:
        middle = 0.5 * (low + high)
        value, _ = average_value(source, middle)
        if advantage_of_waiting(source, middle, value)[at] > 0.0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)
