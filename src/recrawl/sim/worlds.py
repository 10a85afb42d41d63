"""A simulated world of sources in slotted time, and the interface the simulator asks of any world.

The worth X of a source follows [tcns2018, (23)]: kept at α and topped up by the slot's inflow, reset by a crawl. With
an exact lifetime M the inflow of M slots ago drops out, so the last M inflows are remembered. A page that changes is
worth its importance from its first change on. A world reveals a worth only to a crawl, or where it is observed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from recrawl.errors import ParameterError
from recrawl.records import BoolArray, FloatArray, IntArray, Sources, Visits
from recrawl.sim.noise import CHANGE, MEAN, STEADY, Noise, draw_inflow, noise_law
from recrawl.sim.randomness import Streams, streams

MOST_HISTORY = 100_000_000


class Dynamics(NamedTuple):
    """How worth evolves, for compiled code."""

    code: int
    numbers: FloatArray
    """The inflow law of every source, see :mod:`recrawl.sim.noise`."""
    keep: FloatArray
    lifetime: FloatArray
    rows: int
    """Slots of inflow history to keep; 1 where no lifetime is exact (one longer than the longest lifetime else)."""


def dynamics_of(sources: Sources, noise: Noise) -> Dynamics:
    """The dynamics of these sources under this noise."""
    lifetime = sources.exact_lifetime
    finite = lifetime[np.isfinite(lifetime)]
    rows = int(finite.max()) + 1 if len(finite) else 1
    if rows * len(sources) > MOST_HISTORY:
        raise ParameterError("lifetime", f"short enough to remember ({MOST_HISTORY // len(sources)} slots)", rows)
    law = noise_law(sources, noise)
    return Dynamics(law.code, law.numbers, sources.decay_factor, lifetime, rows)


@njit(cache=True)
def advance(
    code: int,
    numbers: FloatArray,
    keep: FloatArray,
    lifetime: FloatArray,
    worth: FloatArray,
    slot: int,
    crawled: IntArray,
    history: FloatArray,
    stream: Streams,
) -> None:
    """Move every source to `slot`, in place, from its worth one slot before (0 if crawled then)."""
    if code == STEADY and len(history) == 1:
        for i in range(len(worth)):
            worth[i] = keep[i] * worth[i] + numbers[i, MEAN]
        return
    for i in range(len(worth)):
        fresh = draw_inflow(code, numbers, i, stream)
        if code == CHANGE:
            worth[i] = max(worth[i], fresh)
            continue
        worth[i] = keep[i] * worth[i] + fresh
        if lifetime[i] < math.inf:
            span = int(lifetime[i])
            row = slot % span
            if slot - span > crawled[i]:
                worth[i] = max(0.0, worth[i] - keep[i] ** lifetime[i] * history[row, i])
            history[row, i] = fresh


class SlottedWorld:
    """One run of the world of some sources."""

    def __init__(self, sources: Sources, noise: Noise, seed: int, run: int) -> None:
        self.changing = sources.kind == "changing"
        self.dynamics = dynamics_of(sources, noise)
        self.stream = streams(seed, run, len(sources))
        self.history = np.zeros((self.dynamics.rows, len(sources)))
        self.worth = np.zeros(len(sources))
        self.crawled = np.full(len(sources), -1, dtype=np.int64)
        self.slot = -1
        self.advance()

    def states(self, observed: BoolArray) -> FloatArray:
        """The worth where observed, NaN elsewhere."""
        return np.where(observed, self.worth, np.nan)

    def crawl(self, ids: IntArray, now: float) -> Visits:
        """Collect the worth of these sources."""
        collected = self.worth[ids]
        self.worth[ids] = 0.0
        self.crawled[ids] = self.slot
        return Visits(ids, now, changed=collected > 0 if self.changing else None, worth=collected)

    def advance(self) -> None:
        """Let one slot pass."""
        self.slot += 1
        d = self.dynamics
        advance(d.code, d.numbers, d.keep, d.lifetime, self.worth, self.slot, self.crawled, self.history, self.stream)
