"""Reproducible random numbers for compiled worlds: one stream per run and source.

A source's stream does not depend on what a policy does, so every policy meets the same world (common random
numbers), in any order and on any number of threads. The generator is SplitMix64.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Streams = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def streams(seed: int, run: int, count: int) -> Streams:
    """Fresh streams for `count` sources of one run."""
    return np.random.SeedSequence([seed, run]).generate_state(count, np.uint64).astype(np.uint64)


@njit(cache=True)
def uniform(stream: Streams, i: int) -> float:
    """The next number of stream i, in (0, 1)."""
    stream[i] += _GOLDEN
    z = stream[i]
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    z = z ^ (z >> np.uint64(31))
    return (float(z >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)


@njit(cache=True)
def exponential(stream: Streams, i: int) -> float:
    """An exponential number of mean 1."""
    return -math.log(uniform(stream, i))


@njit(cache=True)
def normal(stream: Streams, i: int) -> float:
    """A standard normal number (Box–Muller)."""
    return math.sqrt(-2.0 * math.log(uniform(stream, i))) * math.cos(2.0 * math.pi * uniform(stream, i))


@njit(cache=True)
def poisson(stream: Streams, i: int, mean: float) -> int:
    """A Poisson number by inversion, in parts whose probability of none does not vanish."""
    count = 0
    while mean > 32.0:
        count += _poisson(stream, i, 32.0)
        mean -= 32.0
    return count + _poisson(stream, i, mean)


@njit(cache=True)
def _poisson(stream: Streams, i: int, mean: float) -> int:
    u = uniform(stream, i)
    term = math.exp(-mean)
    count, below = 0, term
    while u > below and term > 0.0:
        count += 1
        term *= mean / count
        below += term
    return count


@njit(cache=True)
def gamma(stream: Streams, i: int, shape: float) -> float:
    """A gamma number of scale 1 (Marsaglia–Tsang; a shape below 1 is raised by 1 and corrected by a power)."""
    boost = 1.0
    if shape < 1.0:
        boost = uniform(stream, i) ** (1.0 / max(shape, 1e-300))
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(stream, i)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        if math.log(uniform(stream, i)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v
