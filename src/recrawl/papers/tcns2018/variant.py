"""A computation that yields the published 253.1, found by trying readings; not for use.

Three readings that the text leaves open, taken together: the simplified formula γ = η((1 − α)x − u) + x with its
ceiling also off the orbit; above u*, where the logarithm has a negative argument, its real part
η = ⌈ln|1 − x/u*| / ln α⌉, which is what complex arithmetic makes of it; and the inflow of a slot as a Poisson number of
items, each of the average fade (1 − α)/μ, instead of items that fade from their own times of arrival.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.compiled_code import njit
from recrawl.records import FloatArray, Sources


@njit(cache=True)
def _real_part_index(x: float, rate: float, inflow: float, ceiling: float) -> float:
    rest = abs(1.0 - x / ceiling)
    slots = math.ceil(math.log(rest) / -rate) if rest > 0.0 else 0.0
    return x - slots * inflow * (1.0 - x / ceiling)


@njit(cache=True)
def _run(rate: FloatArray, inflow: FloatArray, ceiling: FloatArray, items: FloatArray, steps: int, seed: int) -> float:
    np.random.seed(seed)  # noqa: NPY002 (the generator of compiled code)
    keep, worth, total = np.exp(-rate), np.zeros(len(rate)), 0.0
    for _ in range(steps):
        best, most = 0, -math.inf
        for i in range(len(rate)):
            worth[i] = keep[i] * worth[i] + inflow[i] * np.random.poisson(items[i]) / items[i]  # noqa: NPY002
            score = _real_part_index(worth[i], rate[i], inflow[i], ceiling[i])
            if score > most:
                best, most = i, score
        total += worth[best]
        worth[best] = 0.0
    return total / steps


def published_protocol(sources: Sources, steps: int, runs: int, seed: int) -> FloatArray:
    """The mean reward of each of some runs at M = 1."""
    seeds = np.random.SeedSequence([seed, 253]).generate_state(runs)
    columns = (sources.decay_rate, sources.inflow, sources.ceiling, sources.arrivals_per_slot)
    return np.array([_run(*columns, steps, int(each)) for each in seeds])
