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
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.continuous_index import EXHAUSTED, age_at_price, index_at_age, ripeness
from recrawl.records import FloatArray, IntArray

Numbers = npt.NDArray[np.float32]

CLIMBS = 200
"""Steps towards a crossing age at most."""
TINY = 1e-9
"""The age from which a crossing is looked for at least."""
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
    mass: Numbers,
    value: Numbers,
    rate: Numbers,
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
    mass: Numbers,
    value: Numbers,
    rate: Numbers,
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
    rows: IntArray,
    mass: Numbers,
    value: Numbers,
    rate: Numbers,
    spread: Numbers,
    optimism: Numbers,
    age: FloatArray,
    tick: float,
    out: FloatArray,
) -> None:
    """Fill `out` with the averaged index of some rows of atoms at their ages, plus its `optimism` in deviations.

    `optimism` is one number per row of atoms, or has no element where there is none.
    """
    hopes = len(optimism) > 0
    for k in range(len(rows)):
        i, mean, square = rows[k], 0.0, 0.0
        for q in range(mass.shape[1]):
            m, v, r = np.float64(mass[i, q]), np.float64(value[i, q]), np.float64(rate[i, q])
            if m > 0.0:
                lag = tick_lag(r, tick) if tick > 0.0 else 0.0
                index = lagged_index(v, r, lag, age[k])
                mean += m * index
                square += m * index * index
        out[k] = mean
        if hopes and optimism[i] != 0.0:
            doubt = square * (1.0 + spread[i] * spread[i]) - mean * mean
            out[k] = max(mean + optimism[i] * math.sqrt(max(doubt, 0.0)), 0.0)


@njit(cache=True)
def young_ages(
    rows: IntArray,
    mass: Numbers,
    value: Numbers,
    rate: Numbers,
    age: FloatArray,
    level: FloatArray,
    near: float,
    out: FloatArray,
) -> None:
    """Ages up to which the averaged index of some rows, now `age` old, is surely below its level; inf for always.

    From age a on, each curve rises no faster than vr²e^{−ra}·τ, so that g(τ) ≤ g(a) + ½K(τ² − a²), K = Σ m·v·r²e^{−ra}
    (v where r = 0). Where that meets the level is the next a; the ages climb to the crossing from below, and stop where
    a step is less than the share `near` of the age.
    """
    for k in range(len(rows)):
        i, a, most, endless = rows[k], age[k], 0.0, False
        for q in range(mass.shape[1]):
            full = np.float64(mass[i, q]) * np.float64(value[i, q])
            most += full
            if full > 0.0 and rate[i, q] <= 0.0:
                endless = True
        if not endless and most <= level[k]:
            out[k] = math.inf
            continue
        for _ in range(CLIMBS):
            index, steep = 0.0, 0.0
            for q in range(mass.shape[1]):
                m, v, r = np.float64(mass[i, q]), np.float64(value[i, q]), np.float64(rate[i, q])
                if m > 0.0:
                    index += m * lagged_index(v, r, 0.0, a)
                    steep += m * v * (r * r * math.exp(-r * a) if r > 0.0 else 1.0)
            if index >= level[k]:
                break
            if steep <= 0.0:
                a = math.inf
                break
            further = math.sqrt(a * a + 2.0 * (level[k] - index) / steep)
            close = further - a < near * further
            a = further
            if close:
                break
        out[k] = a


@njit(cache=True)
def ripe_ages(
    rows: IntArray, mass: Numbers, value: Numbers, rate: Numbers, level: FloatArray, near: float, out: FloatArray
) -> None:
    """Ages at which the averaged index of some rows meets its level, inf for never: Newton's steps on logarithms.

    d ln g/d ln τ = Σ m·v·s²e^{−s}/g, s = rτ (vτ² where r = 0). The first guess is the crossing age of the mean source;
    a step that leaves what is known to enclose the crossing is replaced by halving that.
    """
    for k in range(len(rows)):
        i, full, flow, endless = rows[k], 0.0, 0.0, False
        for q in range(mass.shape[1]):
            worth = np.float64(mass[i, q]) * np.float64(value[i, q])
            full += worth
            flow += worth * np.float64(rate[i, q])
            if worth > 0.0 and rate[i, q] <= 0.0:
                endless = True
        if level[k] <= 0.0 or full <= 0.0 or (not endless and full <= level[k]):
            out[k] = 0.0 if level[k] <= 0.0 else math.inf
            continue
        sought = min(level[k], 0.9 * full) if flow > 0.0 else level[k]
        age = max(age_at_price(full, flow / full, sought, 1.0), TINY)
        low, high = 0.0, math.inf
        for _ in range(CLIMBS):
            index, steep = 0.0, 0.0
            for q in range(mass.shape[1]):
                worth, r = np.float64(mass[i, q]) * np.float64(value[i, q]), np.float64(rate[i, q])
                if worth > 0.0 and r > 0.0:
                    s = r * age
                    fading = math.exp(-s)
                    index += worth * (1.0 - (1.0 + s) * fading if s >= 0.25 else ripeness(s))
                    steep += worth * s * s * fading
                elif worth > 0.0:
                    index += worth * 0.5 * age * age
                    steep += worth * age * age
            low, high = (age, high) if index < level[k] else (low, age)
            step = math.log(level[k] / index) * index / steep if index > 0.0 and steep > 0.0 else 1.0
            further = age * math.exp(min(max(step, -2.0), 2.0))
            if not low <= further <= high:
                further = 0.5 * (low + high)
            close = abs(further - age) <= near * age
            age = further
            if close:
                break
        out[k] = age
