"""What lists and pushes have said of each source that they name.

A source that nobody names takes no room here. One that several lists name has a row, its *place*, for each of them, up
to `WITNESSES`: all are judged by what visits find, and one of them is listened to, the one that tells it most. So a
good list that comes second is found out too.

Of each place a second log-likelihood of change rates is kept: by it visits are judged in the light of what the list had
said, and how often and how long ago the list named the page is evidence too (:mod:`recrawl.learning.listed_beliefs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.learning.columns import Column, Columns
from recrawl.learning.rates import POINTS
from recrawl.learning.signal_batches import ALONE
from recrawl.records import BoolArray, FloatArray, IntArray

NOBODY, NOWHERE = -1, -1
"""The list of a place that is not taken, and the place of a source that a list does not name."""
WITNESSES = 4
"""So many lists of one source are heard."""
BETTER = 0.1
"""By how much more another list must tell of a page before the page listens to it."""

Evidence = Callable[[IntArray], npt.NDArray[np.float32]]
"""The plain log-likelihood of the change rates of some sources."""


class ListedSources(Columns):
    """A row, called a place, per source and list that names it.

    owner, part: the row of its list, and of the part of it, in :class:`~recrawl.learning.list_trust.ListTrust`
    owner_key: what its list is known by over a restart
    beside: the place of the same source in another list, around a ring
    stated: when the list says it was last modified; NaN if it never said
    covered_from: since when the list would have said; -inf for always
    counted_to: up to when `time` has been counted
    count, time: signals, and the time in which they came; both fade
    gone: the list does not name it any more
    pending, batch, doubt: signals since the last visit that came alone; the latest batch of others, and the
        probability that all earlier ones are false
    signalled: when the latest of these came
    evidence: log-likelihood of its change rates, if its list is right
    """

    columns: ClassVar[Mapping[str, Column]] = {
        "target": Column(np.int64, -1, kept=False),
        "owner": Column(np.int32, NOBODY, kept=False),
        "part": Column(np.int32, NOBODY, kept=False),
        "beside": Column(np.int32, NOWHERE, kept=False),
        "batch": Column(np.int32, ALONE, kept=False),
        "owner_key": Column(np.int64, 0),
        "stated": Column(np.float64, np.nan),
        "covered_from": Column(np.float64, -np.inf),
        "counted_to": Column(np.float64, np.nan),
        "count": Column(np.float32, 0.0),
        "time": Column(np.float32, 0.0),
        "gone": Column(np.bool_, False),
        "pending": Column(np.int16, 0),
        "doubt": Column(np.float32, 1.0),
        "signalled": Column(np.float64, -np.inf),
        "evidence": Column(np.float32, 0.0, POINTS),
    }
    target: IntArray
    owner: npt.NDArray[np.int32]
    part: npt.NDArray[np.int32]
    beside: npt.NDArray[np.int32]
    batch: npt.NDArray[np.int32]
    owner_key: IntArray
    stated: FloatArray
    covered_from: FloatArray
    counted_to: FloatArray
    count: npt.NDArray[np.float32]
    time: npt.NDArray[np.float32]
    gone: BoolArray
    pending: npt.NDArray[np.int16]
    doubt: npt.NDArray[np.float32]
    signalled: FloatArray
    evidence: npt.NDArray[np.float32]

    def __init__(self, points: int = POINTS) -> None:
        self.place: npt.NDArray[np.int32] = np.full(0, NOWHERE, np.int32)
        """By target: its place in the list it listens to."""
        self._free: list[int] = []
        super().__init__(0, {**self.columns, "evidence": Column(np.float32, 0.0, points)})

    # -- places

    def know(self, targets: int) -> None:
        """There are so many targets now."""
        if targets > len(self.place):
            more = max(targets, 2 * len(self.place)) - len(self.place)
            self.place = np.concatenate([self.place, np.full(more, NOWHERE, np.int32)])

    def places(self, ids: IntArray) -> IntArray:
        """Where some targets are in the lists they listen to; NOWHERE for those that nobody names."""
        return self.place[ids].astype(np.int64)

    def places_in(self, ids: IntArray, row: int) -> IntArray:
        """Where some targets are in a list; NOWHERE for those that it does not name."""
        found = np.full(len(ids), NOWHERE)
        positions, places = self.rings(ids)
        mine = self.owner[places] == row
        found[positions[mine]] = places[mine]
        return found

    def rings(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        """All places of some targets, those they listen to first, and which of the ids each belongs to."""
        first = self.places(ids)
        positions = np.flatnonzero(first >= 0)
        at = first[positions]
        rounds = [(positions, at)]
        for _ in range(WITNESSES - 1):
            at = self.beside[at].astype(np.int64)
            more = at != first[positions]
            positions, at = positions[more], at[more]
            if not len(at):
                break
            rounds.append((positions, at))
        return np.concatenate([each for each, _ in rounds]), np.concatenate([each for _, each in rounds])

    def enter(self, ids: IntArray, row: int, key: int, evidence: Evidence) -> IntArray:
        """Where some targets are in a list, which names them now; NOWHERE for one that enough lists name already."""
        places = self.places_in(ids, row)
        new = np.flatnonzero(places == NOWHERE)
        crowded = np.bincount(self.rings(ids[new])[0], minlength=len(new)) >= WITNESSES
        new = new[~crowded]
        if len(new):
            taken = self._take(len(new))
            self.target[taken], self.evidence[taken] = ids[new], evidence(ids[new])
            self.owner[taken], self.owner_key[taken] = row, key
            self._link(ids[new], taken)
            places[new] = taken
        return places

    def _take(self, count: int) -> IntArray:
        reused = [self._free.pop() for _ in range(min(count, len(self._free)))]
        first = self.size
        self.grow(count - len(reused))
        return np.array([*reused, *range(first, self.size)], np.int64)

    def _link(self, ids: IntArray, taken: IntArray) -> None:
        """New places of targets join their rings, behind the one that is listened to."""
        first = self.places(ids)
        alone = first == NOWHERE
        self.place[ids[alone]] = taken[alone]
        self.beside[taken[alone]] = taken[alone]
        self.beside[taken[~alone]] = self.beside[first[~alone]]
        self.beside[first[~alone]] = taken[~alone]

    def leave(self, ids: IntArray) -> None:
        """Some targets are gone."""
        _, places = self.rings(ids)
        self.clear(places)
        self.place[ids] = NOWHERE
        self._free.extend(places.tolist())

    def drop(self, gone: IntArray) -> IntArray:
        """Lists whose places these were are gone; the targets that they named."""
        ids = np.unique(self.target[gone])
        positions, places = self.rings(ids)
        left = ~np.isin(places, gone)
        order = np.argsort(positions[left], kind="stable")
        self.place[ids] = NOWHERE
        self._close(ids[positions[left][order]], places[left][order])
        self.clear(gone)
        self._free.extend(gone.tolist())
        return ids

    def _close(self, ids: IntArray, places: IntArray) -> None:
        """What is left of the rings of some targets, in their order, becomes rings; the first is listened to."""
        begins = np.flatnonzero(np.diff(ids, prepend=-1))
        ends = np.append(begins[1:], len(ids))[: len(begins)] - 1
        self.beside[places[:-1]] = places[1:]
        self.beside[places[ends]] = places[begins]
        self.place[ids[begins]] = places[begins]

    def elect(self, ids: IntArray, tells: Callable[[IntArray], FloatArray]) -> IntArray:
        """Let some targets listen to the list that tells them most, by place; which listen to another one now."""
        first = self.places(ids)
        several = np.flatnonzero(first >= 0)
        several = several[self.beside[first[several]] != first[several]]
        positions, places = self.rings(ids[several])
        told = tells(places)
        best, top = first[several].copy(), told[: len(several)] + BETTER
        for place, position, value in zip(places.tolist(), positions.tolist(), told.tolist(), strict=True):
            if value > top[position]:
                best[position], top[position] = place, value
        moved = best != first[several]
        self.place[ids[several[moved]]] = best[moved]
        result: IntArray = ids[several[moved]]
        return result

    def owned(self, rows: IntArray) -> IntArray:
        """All places in some lists."""
        return np.flatnonzero(np.isin(self.owner[: self.size], rows))

    # -- what was said

    def says(self, places: IntArray) -> BoolArray:
        """Of which sources a list that is known says when they were modified."""
        said: BoolArray = (self.owner[places] != NOBODY) & ~np.isnan(self.stated[places])
        return said

    def waits(self, places: IntArray) -> BoolArray:
        """Which sources were named since their last visit."""
        waits: BoolArray = (self.pending[places] > 0) | (self.batch[places] != ALONE) | (self.doubt[places] < 1.0)
        return waits
