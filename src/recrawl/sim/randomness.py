"""Reproducible random numbers for compiled worlds: one stream per run and source.

A source's stream does not depend on what a policy does, so every policy meets the same world (common random
numbers), in any order and on any number of threads. The generator is SplitMix64.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from recrawl.records import FloatArray
from recrawl.scheduling.compiled import inlined, inner

Streams = npt.NDArray[np.uint64]

# A Poisson number of a larger mean is drawn in parts.
IN_ONE_PART = 32.0
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def streams(seed: int, run: int, count: int) -> Streams:
    """Fresh streams for `count` sources of one run."""
    return np.random.SeedSequence([seed, run]).generate_state(count, np.uint64).astype(np.uint64)


@inlined
def uniform(stream: Streams, i: int) -> float:
    """The next number of stream i, in (0, 1)."""
    stream[i] += _GOLDEN
    return mixed(stream[i])


@inlined
def state_after(stream: Streams, i: int, count: int) -> np.uint64:
    """The state of stream i after so many more numbers."""
    return stream[i] + np.uint64(count) * _GOLDEN


@inlined
def mixed(z: np.uint64) -> float:
    """The number that a state stands for, in (0, 1)."""
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    z = z ^ (z >> np.uint64(31))
    return (float(z >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)


@inner
def uniforms(stream: Streams, out: FloatArray) -> None:
    """The next number of every stream, in vector instructions."""
    for i in range(len(out)):
        stream[i] += _GOLDEN
        out[i] = mixed(stream[i])


@inlined
def skip(stream: Streams, i: int) -> None:
    """Leave out one number of stream i."""
    stream[i] += _GOLDEN


@inlined
def give_back(stream: Streams, i: int) -> None:
    """Let the latest number of stream i be drawn again."""
    stream[i] -= _GOLDEN


@inner
def exponential(stream: Streams, i: int) -> float:
    """An exponential number of mean 1."""
    return -math.log(uniform(stream, i))


@inner
def normal(stream: Streams, i: int) -> float:
    """A standard normal number (Box–Muller)."""
    return math.sqrt(-2.0 * math.log(uniform(stream, i))) * math.cos(2.0 * math.pi * uniform(stream, i))


@inner
def poisson(stream: Streams, i: int, mean: float) -> int:
    """A Poisson number by inversion, in parts whose probability of none does not vanish."""
    count = 0
    while mean > IN_ONE_PART:
        count += _poisson(stream, i, IN_ONE_PART)
        mean -= IN_ONE_PART
    return count + _poisson(stream, i, mean)


@inner
def _poisson(stream: Streams, i: int, mean: float) -> int:
    return poisson_at(uniform(stream, i), mean, math.exp(-mean))


@inlined
def poisson_at(u: float, mean: float, none: float) -> int:
    """The quantile of a Poisson law at u; `none` is its probability of 0."""
    term = none
    count, below = 0, term
    while u > below and term > 0.0:
        count += 1
        term *= mean / count
        below += term
    return count


@inner
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
