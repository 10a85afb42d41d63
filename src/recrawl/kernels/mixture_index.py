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
    young and in old sources. Atoms that no grid point falls into get mass 0.
    """
    atoms = len(mass)
    shares = np.exp(log_posterior - log_posterior.max())
    total = shares.sum()
    mass[:], value[:], rate[:] = 0.0, 0.0, 0.0
    below = 0.0
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
