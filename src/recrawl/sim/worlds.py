"""A simulated world of sources in slotted time, and the interface the simulator asks of any world.

The worth X of a source follows [tcns2018, (23)]: kept at α and topped up by the slot's inflow, reset by a crawl. With
an exact lifetime M the inflow of M slots ago drops out, so the last M inflows are remembered. A page that changes is
worth its importance from its first change on. A world reveals a worth only to a crawl, or where it is observed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from recrawl.compiled_code import njit
from recrawl.errors import ParameterError
from recrawl.records import BoolArray, FloatArray, IntArray, Sources, Visits
from recrawl.scheduling.compiled import inner
from recrawl.sim.noise import CHANGE, STEADY, Inflow, Noise, NoiseLaw, draw_inflows, inflow_room, noise_law
from recrawl.sim.randomness import Streams, streams

MOST_HISTORY = 100_000_000


class Dynamics(NamedTuple):
    """How worth evolves, for compiled code."""

    law: NoiseLaw
    """Of every source's inflow."""
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
    return Dynamics(noise_law(sources, noise), sources.decay_factor, lifetime, rows)


@inner
def advance(
    dynamics: Dynamics,
    worth: FloatArray,
    slot: int,
    crawled: IntArray,
    history: FloatArray,
    stream: Streams,
    room: Inflow,
) -> None:
    """Move every source to `slot`, in place, from its worth one slot before (0 if crawled then)."""
    law, keep, lifetime, _ = dynamics
    code, fresh = law.code, room.fresh
    if code != STEADY or slot == 0:
        draw_inflows(law, stream, room)
    if code == CHANGE:
        for i in range(len(worth)):
            worth[i] = max(worth[i], fresh[i])
        return
    for i in range(len(worth)):
        worth[i] = keep[i] * worth[i] + fresh[i]
    if len(history) == 1:
        return
    for i in range(len(worth)):
        if lifetime[i] < math.inf:
            span = int(lifetime[i])
            row = slot % span
            if slot - span > crawled[i]:
                worth[i] = max(0.0, worth[i] - keep[i] ** lifetime[i] * history[row, i])
            history[row, i] = fresh[i]


@njit(cache=True)
def _advance(
    dynamics: Dynamics,
    worth: FloatArray,
    slot: int,
    crawled: IntArray,
    history: FloatArray,
    stream: Streams,
    room: Inflow,
) -> None:
    """`advance`, for the interpreter."""
    advance(dynamics, worth, slot, crawled, history, stream, room)


class SlottedWorld:
    """One run of the world of some sources."""

    def __init__(self, sources: Sources, noise: Noise, seed: int, run: int) -> None:
        self.changing = sources.kind == "changing"
        self.dynamics = dynamics_of(sources, noise)
        self.stream = streams(seed, run, len(sources))
        self.history = np.zeros((self.dynamics.rows, len(sources)))
        self.room = inflow_room(len(sources))
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
        _advance(self.dynamics, self.worth, self.slot, self.crawled, self.history, self.stream, self.room)
