"""Signals that come together: a thousand pages named at one moment are one event, not a thousand.

A bulk edit, a new template, a list that was built anew: whoever names many pages at once is right about all of
them or about few. So signals of one reading whose times follow each other within a minute are a run, and a run of
`LEAST_SIZE` or more is a batch. Each batch has a precision of its own, which the first visits to its pages find out for
all the others. Before them it is that of earlier batches of about the same size: in this list and, a little, in all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.learning.columns import Column, Columns
from recrawl.records import BoolArray, FloatArray, IntArray

LEAST_SIZE = 8
"""Fewer signals at one moment are taken one by one."""
RUN_GAP_S = 60.0
"""Signals further apart than this do not belong together."""
CLASSES = 12
"""Sizes are told apart by their binary logarithm, up to this."""
CLASS_VISITS, POOLED_VISITS = 2.0, 4.0
"""For how many visits the batches of a size count in a new batch, and those of all other lists in a list."""
SUREST = 0.995
"""No batch is believed further than this."""
ALONE = -1
"""The batch of a signal that is in none."""


def runs(times: FloatArray, gap: float) -> tuple[IntArray, IntArray]:
    """The run of each time, and how many times each run has; runs are numbered by time.

    >>> runs(np.array([100.0, 0.0, 130.0]), 60.0)
    (array([1, 0, 1]), array([1, 2]))
    """
    order = np.argsort(times, kind="stable")
    number = np.empty(len(times), np.int64)
    number[order] = np.cumsum(np.diff(times[order], prepend=times[order][:1]) > gap) if len(times) else 0
    return number, np.bincount(number) if len(times) else np.empty(0, np.int64)


class ClassRecords(Columns):
    """Per list: how often signals in batches of each size were true, and false."""

    columns: ClassVar[Mapping[str, Column]] = {
        "hits": Column(np.float32, 0.0, CLASSES),
        "misses": Column(np.float32, 0.0, CLASSES),
    }
    hits: npt.NDArray[np.float32]
    misses: npt.NDArray[np.float32]


class SignalBatches(Columns):
    """Batches that pages still wait in, a row each; a row is used anew when nobody waits any more."""

    columns: ClassVar[Mapping[str, Column]] = {
        "owner": Column(np.int32, 0),
        "size_class": Column(np.int8, 0),
        "waiting": Column(np.int32, 0),
        "hits": Column(np.float64, 0.0),
        "misses": Column(np.float64, 0.0),
    }
    owner: npt.NDArray[np.int32]
    size_class: npt.NDArray[np.int8]
    waiting: npt.NDArray[np.int32]
    hits: FloatArray
    misses: FloatArray

    def __init__(self, unit_s: float = 1.0) -> None:
        super().__init__(0)
        self.classes = ClassRecords(0)
        """By list."""
        self.gap = RUN_GAP_S / unit_s
        self.least = LEAST_SIZE
        self._free: list[int] = []

    def gather(self, owner: int, times: FloatArray) -> IntArray:
        """The batch of each of the signals of one reading, `ALONE` for those that came alone.

        Say who waits in them (`wait`), and then which may be forgotten (`forget_empty`).
        """
        number, sizes = runs(times, self.gap)
        batch = np.full(len(sizes), ALONE)
        for run in np.flatnonzero(sizes >= self.least).tolist():
            batch[run] = self._begin(owner, int(sizes[run]))
        found: IntArray = batch[number] if len(sizes) else np.empty(0, np.int64)
        return found

    def _begin(self, owner: int, size: int) -> int:
        if not self._free:
            self._free = [self.size]
            self.grow(1)
        row = self._free.pop()
        self.clear(np.array([row]))
        self.owner[row], self.size_class[row] = owner, min(size.bit_length() - 1, CLASSES - 1)
        return row

    def wait(self, batches: IntArray) -> None:
        """One more page waits in each."""
        np.add.at(self.waiting, batches[batches != ALONE], 1)

    def leave(self, batches: IntArray) -> None:
        """One page less waits in each."""
        inside = batches[batches != ALONE]
        np.add.at(self.waiting, inside, -1)
        self.forget_empty(inside)

    def forget_empty(self, batches: IntArray) -> None:
        """Of these batches, those nobody waits in are over."""
        inside = np.unique(batches[batches != ALONE])
        self._free.extend(inside[self.waiting[inside] == 0].tolist())

    def precision(self, batches: IntArray) -> FloatArray:
        """How likely a signal in each batch is true."""
        owner, size_class = self.owner[batches], self.size_class[batches]
        usual = self._usual(owner, size_class)
        hits, seen = self.hits[batches], self.hits[batches] + self.misses[batches]
        return np.minimum((hits + CLASS_VISITS * usual) / (seen + CLASS_VISITS), SUREST)

    def _usual(self, owner: npt.NDArray[np.int32], size_class: npt.NDArray[np.int8]) -> FloatArray:
        """The precision of batches of a size in a list, drawn to that of all other lists."""
        records, count = self.classes, self.classes.size
        all_hits = records.hits[:count].sum(axis=0, dtype=np.float64)
        all_misses = records.misses[:count].sum(axis=0, dtype=np.float64)
        own_hits = records.hits[owner, size_class].astype(np.float64)
        own_misses = records.misses[owner, size_class].astype(np.float64)
        hits, misses = all_hits[size_class] - own_hits, all_misses[size_class] - own_misses
        known = np.minimum(hits + misses, POOLED_VISITS)
        pooled = (np.divide(hits, hits + misses, out=np.zeros_like(hits), where=hits + misses > 0.0) * known + 0.5) / (
            known + 1.0
        )
        result: FloatArray = (own_hits + 2.0 * pooled) / (own_hits + own_misses + 2.0)
        return result

    def learn(self, batches: IntArray, truth: FloatArray, forgetting: float) -> None:
        """Visits to pages of batches: how likely each signal was what made the page change; 0 where it did not."""
        inside: BoolArray = batches != ALONE
        mine, true = batches[inside], truth[inside]
        np.add.at(self.hits, mine, true)
        np.add.at(self.misses, mine, 1.0 - true)
        for row, share in zip(mine.tolist(), true.tolist(), strict=True):
            owner, size_class = self.owner[row], self.size_class[row]
            self.classes.hits[owner] *= np.float32(forgetting)
            self.classes.misses[owner] *= np.float32(forgetting)
            self.classes.hits[owner, size_class] += share
            self.classes.misses[owner, size_class] += 1.0 - share
