"""Lists and pushes as witnesses: what they say of sources, and how far each has earned to be believed.

A list (sitemap, index, feed, listing page) is read from time to time, and states when each of its pages was modified. A
**signal** is a later time than it stated before. A push is a signal without a reading: those of one site count as a
list that is read at every moment.

What a visit finds is judged here against what had been said (`visited`). Trust is the matter of
:mod:`recrawl.learning.list_trust`, signals at one moment that of :mod:`recrawl.learning.signal_batches`, and what is
believed of a page by its list that of :mod:`recrawl.learning.listed_sources`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.kernels.worth import remaining
from recrawl.learning.columns import Column, Columns
from recrawl.learning.list_names import folders_below
from recrawl.learning.list_trust import ListTrust
from recrawl.learning.listed_beliefs import chance_of_truth
from recrawl.learning.listed_sources import NOBODY, Evidence, ListedSources
from recrawl.learning.rates import UNIX_TIMES
from recrawl.learning.signal_batches import ALONE, SignalBatches
from recrawl.records import BoolArray, FloatArray, IntArray

DAY = 86400.0
SIGNAL_MEMORY_DAYS = 120.0
"""Half-life of how often a list has named a page."""
GIVEN_UP = 3
"""A list that cannot be read so often in a row tells nothing any more, until it can."""
GROWN = 1.1
"""A list is looked at for folders anew when it has grown by this factor."""
PART_LEAST, PARTS_MOST = 20, 32
"""A folder of a list has an account of its own if it has so many pages, and is among so many."""
SLOT_S = 3600.0
"""How long a slot is taken to be, where time is not in seconds."""


class ListRows(Columns):
    """A row per list, and per part of one, beside its account in `ListTrust`.

    read, reads, failures: when it was read last, how often, and how often in a row it could not be
    pushed: it stands for the pushes of a site
    split: how many pages it named when folders were last looked for
    flow, fading: what it is expected to tell that is worth more than the price, per time, and how fast that fades
    kept_at: when the beliefs of all its pages were last brought in line
    """

    columns: ClassVar[Mapping[str, Column]] = {
        "read": Column(np.float64, -np.inf),
        "reads": Column(np.int64, 0),
        "failures": Column(np.int64, 0),
        "pushed": Column(np.bool_, False),
        "target": Column(np.int64, -1, kept=False),
        "key": Column(np.int64, 0, kept=False),
        "split": Column(np.int64, 0, kept=False),
        "flow": Column(np.float64, 0.0, kept=False),
        "fading": Column(np.float64, 0.0, kept=False),
        "kept_at": Column(np.float64, -np.inf, kept=False),
    }
    read: FloatArray
    reads: IntArray
    failures: IntArray
    pushed: BoolArray
    target: IntArray
    key: IntArray
    split: IntArray
    flow: FloatArray
    fading: FloatArray
    kept_at: FloatArray


class Lists:
    """All that is known of lists and of the sources they name, which are targets."""

    def __init__(self, now: float, rates: FloatArray) -> None:
        unit_s = 1.0 if now > UNIX_TIMES else SLOT_S
        self.day = DAY / unit_s
        self.rates = rates
        self.trust = ListTrust(0, unit_s)
        self.rows = ListRows(0)
        self.batches = SignalBatches(unit_s)
        self.sources = ListedSources(len(rates))
        self.is_list: BoolArray = np.zeros(0, dtype=bool)
        """By target."""
        self.unsaved: BoolArray = np.zeros(0, dtype=bool)
        """By target: something was said of it that has to be stored."""
        self.row_of: dict[int, int] = {}
        """Rows by target."""
        self.by_key: dict[int, int] = {}
        self.members: dict[int, IntArray] = {}
        """Targets that each list names."""
        self.parts: dict[int, dict[str, int]] = {}
        """Accounts of folders, by the row of the whole list."""

    def __len__(self) -> int:
        """How many lists there are."""
        return len(self.by_key)

    # -- who is there

    def grow(self, targets: int) -> None:
        """There are so many targets now."""
        self.sources.know(targets)
        if targets > len(self.is_list):
            more = max(targets, 2 * len(self.is_list)) - len(self.is_list)
            self.is_list = np.concatenate([self.is_list, np.zeros(more, dtype=bool)])
            self.unsaved = np.concatenate([self.unsaved, np.zeros(more, dtype=bool)])

    def row(self, key: int, target: int = -1, *, pushed: bool = False) -> int:
        """The row of a list, made if there is none."""
        if key not in self.by_key:
            self.by_key[key] = self._new_row()
            self.rows.key[self.by_key[key]] = key
            self.members[self.by_key[key]] = np.empty(0, np.int64)
        row = self.by_key[key]
        self.rows.pushed[row] |= pushed
        if target >= 0:
            self.rows.target[row] = target
            self.row_of[target], self.is_list[target] = row, True
        return row

    def _new_row(self) -> int:
        for columns in (self.trust, self.rows, self.batches.classes):
            columns.grow(1)
        return len(self.rows) - 1

    def forget(self, ids: IntArray) -> IntArray:
        """Some targets are gone; the others of which lists among them spoke, which nobody does any more."""
        gone = []
        for target in ids[self.is_list[ids]].tolist():
            row, self.is_list[target] = self.row_of.pop(target), False
            if self.rows.target[row] == target:
                self.rows.target[row], self.rows.split[row], self.members[row] = -1, 0, np.empty(0, np.int64)
                gone.append(row)
        _, places = self.sources.rings(ids)
        self.batches.leave(self.sources.batch[places].astype(np.int64))
        self.sources.leave(ids)
        if not gone:
            return np.empty(0, np.int64)
        places = self.sources.owned(np.array(gone))
        self.batches.leave(self.sources.batch[places].astype(np.int64))
        named = self.sources.drop(places)
        self.unsaved[named] = True
        return named

    def resume(self, targets: IntArray, kept: npt.NDArray[Any]) -> None:
        """Go on with places of some targets as they were."""
        sources = self.sources
        for key in np.unique(kept["owner_key"]).tolist():
            mine = kept["owner_key"] == key
            row, ids = self.row(key), targets[mine]
            places = sources.enter(ids, row, key, lambda some: np.zeros((len(some), len(self.rates)), np.float32))
            here = places >= 0
            sources.unpack(places[here], kept[mine][here])
            self.members[row] = np.union1d(self.members[row], ids[here])

    def places_of(self, row: int) -> tuple[IntArray, IntArray]:
        """The targets that a list names and that are still there, and their places in it."""
        ids = self.members[row]
        places = self.sources.places_in(ids, row)
        return ids[places >= 0], places[places >= 0]

    def drain_unsaved(self) -> IntArray:
        """The targets of which something was said since this was asked last."""
        found = np.flatnonzero(self.unsaved)
        self.unsaved[found] = False
        return found

    def elect(self, ids: IntArray) -> IntArray:
        """Let some targets listen to the list that tells them most; which listen to another one now."""
        return self.sources.elect(ids, lambda places: 1.0 - self.hidden(places))

    # -- what is said

    def read(
        self, row: int, now: float, ids: IntArray, lastmod: FloatArray, last: FloatArray, evidence: Evidence
    ) -> IntArray:
        """A list was read; the targets that it names anew.

        `last` is when each page was visited last, -inf for never.
        """
        gone = self._leave(row, ids)
        new = self.sources.places_in(ids, row) < 0
        places = self.sources.enter(ids, row, int(self.rows.key[row]), evidence)
        heard = places >= 0
        self.members[row] = ids[heard]
        named = self._take_in(row, now, places[heard], lastmod[heard], last[heard])
        self.rows.reads[row] += 1
        return np.concatenate([gone, self._said(row, now, ids[heard], named, new[heard])])

    def _leave(self, row: int, ids: IntArray) -> IntArray:
        """A list names nobody but these any more; of which targets it says nothing now, by silence neither."""
        if np.array_equal(self.members[row], ids):
            return np.empty(0, np.int64)
        gone = np.setdiff1d(self.members[row], ids)
        places = self.sources.places_in(gone, row)
        gone, places = gone[places >= 0], places[places >= 0]
        self.sources.gone[places] = True
        self.unsaved[gone] = True
        return gone

    def failed(self, row: int) -> bool:
        """A list could not be read; whether it is given up by that: its silence says nothing any more."""
        self.rows.failures[row] += 1
        return bool(self.rows.failures[row] == GIVEN_UP)

    def same(self, row: int, now: float) -> None:
        """A list was read, and says what it said before."""
        self._pass_time(self.places_of(row)[1], now)
        self.rows.read[row], self.rows.failures[row] = now, 0
        self.rows.reads[row] += 1

    def push(
        self, key: int, now: float, ids: IntArray, at: FloatArray, last: FloatArray, evidence: Evidence
    ) -> IntArray:
        """A site says that some targets changed; those of which that is news."""
        row = self.row(key, pushed=True)
        new = self.sources.places_in(ids, row) < 0
        places = self.sources.enter(ids, row, key, evidence)
        heard = places >= 0
        self.sources.covered_from[places[heard & new]] = now
        self.members[row] = np.concatenate([self.members[row], ids[heard & new]])
        named = self._take_in(row, now, places[heard], np.minimum(at[heard], now), last[heard])
        return self._said(row, now, ids[heard], named, new[heard])

    def _said(self, row: int, now: float, ids: IntArray, named: BoolArray, new: BoolArray) -> IntArray:
        """Those that were named, once it is noted what has to be stored."""
        self.rows.read[row], self.rows.failures[row] = now, 0
        self.unsaved[ids[named | new]] = True
        return ids[named]

    def _take_in(self, row: int, now: float, places: IntArray, lastmod: FloatArray, last: FloatArray) -> BoolArray:
        """What a list states of its pages; which of them it names anew since their last visit.

        A time to come is taken for the time it was read, and says nothing more while it stays.
        """
        sources, pushed = self.sources, bool(self.rows.pushed[row])
        sources.gone[places] = False
        before, says = sources.stated[places], ~np.isnan(lastmod)
        then = np.minimum(before, sources.counted_to[places])
        first, later = says & np.isnan(before), says & (lastmod != before) & (lastmod > then)
        until = np.minimum(lastmod + self._grain(lastmod), now)
        self._count(places, now, until, first, later, pushed=pushed)
        sources.stated[places] = np.where(later | first, lastmod, before)
        signal = later | (first & (pushed | ((last > -np.inf) & (until > last))))
        batch = np.full(len(places), ALONE)
        batch[signal] = self.batches.gather(row, lastmod[signal])
        counted, inside = np.ones(len(places)), batch != ALONE
        counted[inside] = self.batches.precision(batch[inside])
        sources.count[places[later]] += counted[later]
        named: BoolArray = signal & (until > last)
        self._wait(places[named], batch[named], until[named])
        self.batches.forget_empty(batch)
        return named

    def _grain(self, lastmod: FloatArray) -> float:
        """How much later than stated a page may have been modified: a day, if a list states days."""
        said = lastmod[~np.isnan(lastmod)]
        return self.day if len(said) and not np.any(said % self.day) else 0.0

    def _count(
        self, places: IntArray, now: float, until: FloatArray, first: BoolArray, later: BoolArray, *, pushed: bool
    ) -> None:
        """How long pages were listened to, and the signals that came before they were.

        A list shows the latest change alone, so what came between two readings before that is not known. A push hides
        nothing, and says nothing of the time before the first one.
        """
        sources = self.sources
        if pushed:
            sources.counted_to[places[first]] = now
            self._pass_time(places[~first], now)
            return
        memory = SIGNAL_MEMORY_DAYS * self.day
        sources.count[places[first & (now - until < memory)]] += 1.0
        sources.time[places[first]] += np.clip(now - until[first], 0.0, memory)
        passed = self._fade(places[later], now)
        sources.time[places[later]] += np.clip(now - until[later], 0.0, passed)
        self._pass_time(places[~first & ~later], now)
        sources.counted_to[places] = now

    def _fade(self, places: IntArray, now: float) -> FloatArray:
        """What was heard of pages counts less after a time; how long that was."""
        sources = self.sources
        passed = np.fmax(now - sources.counted_to[places], 0.0)
        left = remaining(passed, SIGNAL_MEMORY_DAYS * self.day)
        sources.count[places] *= left
        sources.time[places] *= left
        return passed

    def _pass_time(self, places: IntArray, now: float) -> None:
        """Time has passed in silence for pages of which it is said when they were modified."""
        passed = self._fade(places, now)
        self.sources.time[places] += np.where(np.isnan(self.sources.stated[places]), 0.0, passed)
        self.sources.counted_to[places] = now

    def pass_silence(self, row: int, now: float) -> None:
        """Pushes were not heard of some pages until now."""
        if self.rows.pushed[row]:
            self._pass_time(self.places_of(row)[1], now)

    def _wait(self, places: IntArray, batch: IntArray, when: FloatArray) -> None:
        """Pages were named, and wait for a visit."""
        sources = self.sources
        alone = batch == ALONE
        sources.pending[places[alone]] = np.minimum(sources.pending[places[alone]] + 1, 1000)
        inside, batches = places[~alone], batch[~alone]
        earlier = inside[sources.batch[inside] != ALONE]
        if len(earlier):
            sources.doubt[earlier] *= 1.0 - self.batches.precision(sources.batch[earlier].astype(np.int64))
            self.batches.leave(sources.batch[earlier].astype(np.int64))
        sources.batch[inside] = batches
        self.batches.wait(batches)
        sources.signalled[places] = when

    # -- parts

    def split(self, row: int, labels: Callable[[IntArray], Sequence[str]]) -> None:
        """Give the folders of a list accounts of their own, if it has grown since that was done last."""
        ids = self.members[row]
        if len(ids) <= GROWN * self.rows.split[row]:
            return
        self.rows.split[row] = len(ids)
        folders = folders_below(labels(ids))
        sizes = Counter(folders)
        if len(sizes) < 2:
            return
        large = [name for name, size in sizes.most_common(PARTS_MOST) if size >= PART_LEAST]
        part_of = {name: self.part(row, name) for name in large}
        self.sources.part[self.sources.places_in(ids, row)] = [part_of.get(name, NOBODY) for name in folders]

    def part(self, row: int, name: str) -> int:
        """The account of a folder of a list, made if there is none."""
        parts = self.parts.setdefault(row, {})
        if name not in parts:
            part = parts[name] = self._new_row()
            self.trust.begin_part(part, row)
        return parts[name]

    # -- what visits find

    def doubt(self, places: IntArray) -> FloatArray:
        """How likely all batches that each source waits in are false."""
        batch = self.sources.batch[places].astype(np.int64)
        doubt = self.sources.doubt[places].astype(np.float64)
        inside = batch != ALONE
        doubt[inside] *= 1.0 - self.batches.precision(batch[inside])
        return doubt

    def law(self, places: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Recall, false signals per change and per time, and trust, of what counts for each source."""
        sources, trust = self.sources, self.trust
        account = trust.judged_by(sources.owner[places].astype(np.int64), sources.part[places].astype(np.int64))
        says = sources.says(places) & (self.rows.failures[sources.owner[places]] < GIVEN_UP)
        trusted = np.where(says, trust.trust[account], 0.0)
        return trust.recall[account], trust.per_change[account], trust.per_time[account], trusted

    def hidden(self, places: IntArray) -> FloatArray:
        """Which share of the changes of each source its list is not expected to name."""
        recall, _, _, trusted = self.law(places)
        return np.where(self.sources.gone[places], 1.0, 1.0 - trusted * recall)

    def chance(self, places: IntArray, mass: npt.NDArray[np.float32], change: npt.NDArray[np.float32]) -> FloatArray:
        """How likely each source has changed as it was signalled; 0 for those that were not.

        `mass` and `change` are atoms of their change rates.
        """
        out = np.zeros(len(places))
        waits = np.flatnonzero(self.sources.waits(places))
        if len(waits):
            mine, found = places[waits], np.empty(len(waits))
            recall, per_change, per_time, trusted = self.law(mine)
            signals = self.sources.pending[mine].astype(np.int64)
            chance_of_truth(mass[waits], change[waits], signals, self.doubt(mine), recall, per_change, per_time, found)
            out[waits] = trusted * found
        return out

    def answered(self, places: IntArray, now: float) -> None:
        """These were visited, which answers all signals of before."""
        sources = self.sources
        places = places[sources.signalled[places] <= now]
        self.batches.leave(sources.batch[places].astype(np.int64))
        sources.batch[places], sources.pending[places], sources.doubt[places] = ALONE, 0, 1.0
