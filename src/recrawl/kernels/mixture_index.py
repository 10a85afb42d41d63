"""The index of a source whose value and rate are uncertain.

The posterior of (v, r) is held as a few atoms of mass m_q, value v_q and rate r_q. A crawl now is worth the expectation
of what it is worth at each atom, so the index is averaged, not taken at the mean of v and r::

    g(τ) = Σ_q m_q·g(τ; v_q, r_q)

Averaging matters: a source that may ripen slowly keeps an index that grows with its age, where the index at a mean
rate would have flattened; the source is looked at again, and the doubt resolved. Each term rises with τ, and so does
the sum: an averaged index has one crossing age for a price, as a known one has.

Crawls that can only happen every d time units have the slotted index [tcns2018, Theorem 1 on the orbit], which tends
to the continuous one as d → 0. Optimism adds a multiple of the standard deviation of g over the posterior, in which
the value given the rate has relative standard deviation c.

Symbols: v value, r rate (per time), τ age, d tick, m mass of an atom, c relative spread of the value.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from recrawl.kernels.continuous_index import EXHAUSTED, index_at_age, ripeness
from recrawl.records import FloatArray, IntArray

NARROW = 2.0
"""Curvature at the top, per squared grid step, from which a posterior counts as narrower than the grid."""


@njit(cache=True)
def tick_lag(rate: float, tick: float) -> float:
    """r − (1 − e^{−rd})/d: by how much less than at rate r worth flows in where it is counted once per tick."""
    if rate <= 0.0 or tick <= 0.0:
        return 0.0
    s = rate * tick
    return rate * s * (0.5 - s / 6.0) if s < 1e-4 else rate + math.expm1(-s) / tick


@njit(cache=True)
def lagged_index(value: float, rate: float, lag: float, age: float) -> float:
    """The index at unit cost, v(G(rτ) + lag·τe^{−rτ}): slotted where `lag` is that of the tick, continuous where 0.

    The slotted index γ_k [tcns2018, Theorem 1 on the orbit] with k = τ/d, written so that what does not depend on the
    age is computed once. Rate 0 is the quadratic form.
    """
    if rate <= 0.0:
        return index_at_age(value, 0.0, age, 1.0)
    s = rate * age
    if s > EXHAUSTED:
        return value
    fading = math.exp(-s)
    share = 1.0 - (1.0 + s) * fading if s >= 0.25 else ripeness(s)
    return value * (share + lag * age * fading)


@njit(cache=True)
def _between(grid: FloatArray, g: int, offset: float) -> float:
    """The grid read `offset` points away from point g, at equal ratios."""
    other = min(max(g + (1 if offset > 0.0 else -1), 0), len(grid) - 1)
    if grid[g] <= 0.0 or grid[other] <= 0.0:
        return grid[g]
    return float(grid[g] * (grid[other] / grid[g]) ** abs(offset))


@njit(cache=True)
def _narrow(
    log_posterior: FloatArray,
    values: FloatArray,
    rates: FloatArray,
    mass: FloatArray,
    value: FloatArray,
    rate: FloatArray,
) -> bool:
    """Two atoms one standard deviation about the mode, for a posterior that the grid is too coarse for; else False."""
    g = int(np.argmax(log_posterior))
    if g == 0 or g == len(rates) - 1:
        return False
    below, above = log_posterior[g - 1], log_posterior[g + 1]
    curvature = 2.0 * log_posterior[g] - below - above
    if curvature < NARROW:
        return False
    mode, deviation = 0.5 * (above - below) / curvature, 1.0 / math.sqrt(curvature)
    for q in range(2):
        offset = mode + (2 * q - 1) * deviation
        mass[q], value[q], rate[q] = 0.5, _between(values, g, offset), _between(rates, g, offset)
    return True


@njit(cache=True)
def condense(
    log_posterior: FloatArray,
    values: FloatArray,
    rates: FloatArray,
    mass: FloatArray,
    value: FloatArray,
    rate: FloatArray,
) -> None:
    """Condense a posterior over a grid of rates into atoms of about equal mass, in order of rate, in place.

    Mass, expected value, and expected value × rate are kept exactly, so the averaged index is exact to first order in
    young and in old sources. Atoms that no grid point falls into get mass 0. A posterior narrower than the grid is
    placed between grid points by the parabola through its top.
    """
    atoms = len(mass)
    mass[:], value[:], rate[:] = 0.0, 0.0, 0.0
    if _narrow(log_posterior, values, rates, mass, value, rate):
        return
    shares = np.exp(log_posterior - log_posterior.max())
    total, below = shares.sum(), 0.0
    for g in range(len(rates)):
        share = shares[g] / total
        q = min(int((below + 0.5 * share) * atoms), atoms - 1)
        below += share
        mass[q] += share
        value[q] += share * values[g]
        rate[q] += share * values[g] * rates[g]
    for q in range(atoms):
        if mass[q] > 0.0 and value[q] > 0.0:
            rate[q] /= value[q]
            value[q] /= mass[q]


@njit(cache=True)
def scan(
    mass: FloatArray,
    value: FloatArray,
    rate: FloatArray,
    lag: FloatArray,
    spread: FloatArray,
    age: FloatArray,
    optimism: FloatArray,
    out: FloatArray,
) -> None:
    """Fill `out` with the averaged index of every source (a row of atoms), plus its `optimism` in deviations."""
    for i in range(len(out)):
        mean, square = 0.0, 0.0
        for q in range(mass.shape[1]):
            if mass[i, q] > 0.0:
                index = lagged_index(value[i, q], rate[i, q], lag[i, q], age[i])
                mean += mass[i, q] * index
                square += mass[i, q] * index * index
        out[i] = mean
        if optimism[i] != 0.0:
            doubt = square * (1.0 + spread[i] * spread[i]) - mean * mean
            out[i] = max(mean + optimism[i] * math.sqrt(max(doubt, 0.0)), 0.0)


@njit(cache=True)
def lags(ids: IntArray, rate: FloatArray, tick: float, lag: FloatArray) -> None:
    """Fill the lag of every atom of some sources."""
    for k in range(len(ids)):
        for q in range(rate.shape[1]):
            lag[ids[k], q] = tick_lag(rate[ids[k], q], tick)
