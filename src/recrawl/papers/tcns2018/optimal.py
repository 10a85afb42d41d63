"""The best that any policy can earn on Table I, by dynamic programming over all sources together.

The joint state is the slots since each source's last crawl, followed up to `ages` and then held there. Value iteration
on it is bounded: the state space is ages^N, and the reward per slot always lies between the least and the largest
change of value in one sweep. A source held at its last age earns either what it is worth at that age, which no real
source falls short of, or its ceiling, which none exceeds; so the two programmes enclose the true optimum.

Sweeps are damped by half, because an optimal schedule is periodic and plain sweeps would cycle with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recrawl.errors import ParameterError
from recrawl.kernels.slotted_index import whittle_index_after
from recrawl.records import FloatArray, IntArray, Sources

AGES = 12
MOST_STATES = 1_000_000
MOST_SWEEPS = 5000
PRECISION = 1e-8


@dataclass(frozen=True)
class Optimum:
    """The optimal reward per slot lies between `low` and `high`."""

    low: float
    high: float


def joint_optimum(sources: Sources, budget: int, ages: int = AGES) -> Optimum:
    """The optimal average reward when exactly `budget` sources are crawled per slot, enclosed from both sides."""
    count = len(sources)
    if ages**count > MOST_STATES:
        raise ParameterError("ages", f"at most {int(MOST_STATES ** (1 / count))} for {count} sources", ages)
    worth = sources.ceiling * -np.expm1(-sources.decay_rate * np.arange(1, ages + 1)[:, None])
    saturated = worth.copy()
    saturated[-1] = sources.ceiling
    return Optimum(_iterate(worth, budget)[0], _iterate(saturated, budget)[1])


def _iterate(worth: FloatArray, budget: int) -> tuple[float, float]:
    """Value iteration; row k of `worth` is what crawling each source earns k + 1 slots after its last crawl."""
    ages, count = worth.shape
    value, older = np.zeros((ages,) * count), np.minimum(np.arange(ages) + 1, ages - 1)
    low, high = -np.inf, np.inf
    for _ in range(MOST_SWEEPS):
        swept = np.full(value.shape, -np.inf)
        for crawled in combinations(range(count), budget):
            np.maximum(swept, _after(value, worth, older, crawled), out=swept)
        low, high = float((swept - value).min()), float((swept - value).max())
        if high - low < PRECISION:
            break
        value = 0.5 * (value + swept)
        value -= value.flat[0]
    return low, high


def _after(value: FloatArray, worth: FloatArray, older: IntArray, crawled: tuple[int, ...]) -> FloatArray:
    """Reward now and value next of crawling these sources, in every joint state."""
    ages, count = worth.shape
    reset = np.zeros(ages, dtype=np.int64)
    out: FloatArray = value[np.ix_(*(reset if i in crawled else older for i in range(count)))]
    for i in crawled:
        shape = [1] * count
        shape[i] = ages
        out = out + worth[:, i].reshape(shape)
    return out


def index_cycle(sources: Sources, budget: int, most: int = 100_000) -> tuple[float, int]:
    """What the index policy earns per slot over the cycle it settles into, and the length of that cycle.

    Ages are whole numbers, so a joint state that comes again has closed the cycle.
    """
    age, total = np.ones(len(sources), dtype=np.int64), [0.0]
    seen: dict[tuple[int, ...], int] = {}
    for slot in range(most):
        # A source that is never crawled ages for ever; past this age its worth no longer moves.
        key = tuple(np.minimum(age, 200).tolist())
        if key in seen:
            start = seen[key]
            return (total[slot] - total[start]) / (slot - start), slot - start
        seen[key] = slot
        crawled = np.argsort(-whittle_index_after(sources, age), kind="stable")[:budget]
        worth = sources.ceiling * -np.expm1(-sources.decay_rate * age)
        total.append(total[-1] + float(worth[crawled].sum()))
        age += 1
        age[crawled] = 1
    raise ParameterError("most", "long enough for the policy to settle", most)
