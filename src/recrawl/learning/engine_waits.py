"""How long what is found in each source waits for the indexing engine, and what that does to its index.

A source whose items fade at μ, indexed a delay D after the fetch or after the next batch x from now, is worth
e^{−μ(D+x)} of what it would be if it were visible at once (:mod:`recrawl.kernels.indexing_engine`). Between two batches
that share rises, as does an index that grows with age, so they meet a level at most once. The first batch at which
they could is known; between it and the one before, the time is found by halving.

It knows nothing of where an index comes from: whoever asks says when the index alone meets a level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from recrawl.kernels.indexing_engine import batch_wait, even_batch_share, visible_share
from recrawl.learning.columns import Column, Columns
from recrawl.learning.model import Times
from recrawl.records import BoolArray, FloatArray, IntArray

LEAST = 1e-100
"""What has faded to less than this counts as this."""
NEAR, STEP_S, STEPS = 1.0 - 1e-6, 900.0, 192
"""When an index is as good as at a level; in which steps it is looked for, and how many."""
Reach = Callable[[IntArray, FloatArray], FloatArray]
"""When the index of some sources, by their places among those asked for, meets a level each; or a time before that."""
Index = Callable[[IntArray, FloatArray], FloatArray]
"""The index of some sources, by their places, with its wait, at a time each."""


class Waits(NamedTuple):
    """Delay, period of the batches and decay of some sources; 0 for no delay or no batches."""

    delay: FloatArray
    batch: FloatArray
    fading: FloatArray

    @classmethod
    def none(cls, count: int) -> Waits:
        """For sources that wait for nothing."""
        return cls(*np.zeros((3, count)))

    def without(self, some: BoolArray) -> Waits:
        """The same, but some sources do not wait."""
        return Waits(np.where(some, 0.0, self.delay), np.where(some, 0.0, self.batch), self.fading)

    def best(self) -> FloatArray:
        """The share that is left of what is fetched just before a batch."""
        return np.maximum(visible_share(self.fading, self.delay), LEAST)

    def even(self) -> FloatArray:
        """The share that is left on average, if fetches come at any time between two batches."""
        return np.maximum(self.best() * even_batch_share(self.fading, self.batch), LEAST)

    def seconds(self, now: Times) -> FloatArray:
        """How long what is fetched at `now` waits."""
        return self.delay + batch_wait(now, self.batch)

    def share(self, now: Times) -> FloatArray:
        """The share that is left of what is fetched at `now`."""
        return np.maximum(visible_share(self.fading, self.seconds(now)), LEAST)

    def first_met(self, level: float, reach: Reach, halvings: int, now: float = -math.inf) -> tuple[FloatArray, ...]:
        """From `now` on, times before which the index with its wait is below a level, and times at which it is not.

        The two are a batch over 2^halvings apart. Without batches they are the same, and may be past.
        """
        best = self.best()
        late = reach(np.arange(len(best)), level / best)
        early = late.copy()
        some = np.flatnonzero((self.batch > 0.0) & np.isfinite(late))
        if len(some):
            early[some], late[some] = self._halved(some, np.maximum(late[some], now), level / best, reach, halvings)
        return early, late

    def looked_up(self, met: FloatArray, level: float, latest: FloatArray, index: Index) -> FloatArray:
        """Times at which the index is at a level indeed, looked for in steps from those before which it is not.

        Where an index follows the hours it may have been high enough at night, and be too low before the batch.
        """
        met = np.minimum(met, latest)
        some = np.flatnonzero((self.batch > 0.0) & (met < latest))
        some = some[index(some, met[some]) < level * NEAR]
        if len(some):
            times = met[some][:, None] + STEP_S * np.arange(1.0, STEPS + 1.0)
            high = index(np.repeat(some, STEPS), times.ravel()).reshape(times.shape) >= level
            high[:, -1] = True
            met[some] = times[np.arange(len(some)), np.argmax(high, axis=1)]
        return np.minimum(met, latest)

    def _halved(
        self, some: IntArray, low: FloatArray, levels: FloatArray, reach: Reach, halvings: int
    ) -> tuple[FloatArray, FloatArray]:
        fading, batch, levels = self.fading[some], self.batch[some], levels[some]
        end = high = low + batch_wait(low, batch)
        for _ in range(halvings):
            middle = 0.5 * (low + high)
            share = np.maximum(visible_share(fading, end - middle), LEAST)
            met = reach(some, levels / share) <= middle
            low, high = np.where(met, low, middle), np.where(met, middle, high)
        return low, high


class EngineWaits(Columns):
    """What owners say of the engine, and the decay of each source."""

    columns: ClassVar[Mapping[str, Column]] = {
        "delay": Column(np.float64, 0.0, kept=False),
        "batch": Column(np.float64, 0.0, kept=False),
        "fading": Column(np.float64, 0.0, kept=False),
    }
    delay: FloatArray
    batch: FloatArray
    fading: FloatArray

    def of(self, ids: IntArray) -> Waits:
        """Of some sources."""
        return Waits(self.delay[ids], self.batch[ids], self.fading[ids])
