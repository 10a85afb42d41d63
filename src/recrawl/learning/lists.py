"""Lists and pushes as witnesses: what they say of sources, and how far each has earned to be believed.

A list (sitemap, index, feed, listing page) is read from time to time, and states when each of its pages was modified. A
**signal** is a later time than it stated before. A push is a signal without a reading: those of one site count as a
list that is read at every moment. A source listens to one list at a time, the one that tells it most.

What a visit finds is judged here against what had been said (`visited`). Trust is the matter of
:mod:`recrawl.learning.list_trust`, signals at one moment that of :mod:`recrawl.learning.signal_batches`, and what is
believed of a page by its list that of :mod:`recrawl.learning.listed_sources`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from recrawl.kernels.worth import remaining
from recrawl.learning.columns import Column, Columns
from recrawl.learning.list_trust import FORGETTING, ListTrust
from recrawl.learning.listed_sources import NOBODY, ListedSources, chance_of_truth, learn_hidden
from recrawl.learning.rates import UNIX_TIMES
from recrawl.learning.signal_batches import ALONE, SignalBatches
from recrawl.records import BoolArray, FloatArray, IntArray

DAY = 86400.0
SIGNAL_MEMORY_DAYS = 120.0
"""Half-life of how often a list has named a page."""
BETTER = 0.1
"""By how much more another list must tell of a page before the page listens to it."""
PART_LEAST, PARTS_MOST = 20, 32
"""A folder of a list has an account of its own if it has so many pages, and is among so many."""
SLOT_S = 3600.0
"""How long a slot is taken to be, where time is not in seconds."""

Evidence = Callable[[IntArray], npt.NDArray[np.float32]]
"""The plain log-likelihood of the change rates of some sources."""
Shares = Callable[[IntArray, FloatArray], FloatArray]
"""Probabilities over the rates of listed sources (by place), where their lists are right with these probabilities."""


@dataclass(frozen=True)
class ListBelief:
    """What is thought of one list.

    Parameters
        id: its number as a target; -1 for the pushes of a site
        name: its label, or the site of the pushes
        trust: probability that it tells anything at all
        recall: share of the changes that it announces
        precision: share of its signals that are true, over its pages
        pages: that it names; `said` those of which it says when they were modified
        signals: that have come in it, and have not faded
        waiting: pages it has named that were not visited since
        news: changes it is expected to name if it were read now
        visits: to its pages that it was judged by, of which old ones count less
    """

    id: int
    name: str
    trust: float
    recall: float
    precision: float
    pages: int
    said: int
    signals: float
    waiting: int
    news: float
    visits: float


@dataclass(frozen=True)
class Heard:
    """What lists and pushes have said of one source.

    Parameters
        list: that it listens to, by its number as a target; -1 for the pushes of its site
        name: the label of that list, or of a source of the site
        stated: when the list says it was modified last; NaN if it does not say
        signalled: the time of the latest signal since the last visit; -inf if there was none
        signals: since the last visit; a batch counts once
        chance: that it has changed as it was signalled
        told: share of its changes that the list is expected to name
        precision: share of the signals about it that are true, if the list is right; NaN if none would come
    """

    list: int
    name: str
    stated: float
    signalled: float
    signals: int
    chance: float
    told: float
    precision: float


class ListRows(Columns):
    """A row per list, and per part of one, beside its account in `ListTrust`.

    read, reads: when it was read last, and how often
    pushed: it stands for the pushes of a site
    whole: the list that it is a part of
    flow, fading: what it is expected to tell that is worth more than the price, per time, and how fast that fades
    kept_at: when the beliefs of all its pages were last brought in line
    """

    columns: ClassVar[Mapping[str, Column]] = {
        "read": Column(np.float64, -np.inf),
        "reads": Column(np.int64, 0),
        "pushed": Column(np.bool_, False),
        "target": Column(np.int64, -1, kept=False),
        "key": Column(np.int64, 0, kept=False),
        "whole": Column(np.int32, NOBODY, kept=False),
        "flow": Column(np.float64, 0.0, kept=False),
        "fading": Column(np.float64, 0.0, kept=False),
        "kept_at": Column(np.float64, -np.inf, kept=False),
    }
    read: FloatArray
    reads: IntArray
    pushed: BoolArray
    target: IntArray
    key: IntArray
    whole: npt.NDArray[np.int32]
    flow: FloatArray
    fading: FloatArray
    kept_at: FloatArray


class Told(NamedTuple):
    """What had been said of some sources before their visits."""

    places: IntArray
    since_read: FloatArray
    covered: FloatArray
    signals: IntArray
    doubt: FloatArray

    def of(self, some: IntArray) -> Told:
        """What had been said of some of them."""
        return Told(self.places[some], self.since_read[some], self.covered[some], self.signals[some], self.doubt[some])


class Lists:
    """All that is known of lists and of the sources they name. Sources are targets, known here by their `place`."""

    def __init__(self, now: float, rates: FloatArray) -> None:
        unit_s = 1.0 if now > UNIX_TIMES else SLOT_S
        self.day = DAY / unit_s
        self.rates = rates
        self.trust = ListTrust(0, unit_s)
        self.rows = ListRows(0)
        self.batches = SignalBatches(unit_s)
        self.sources = ListedSources(len(rates))
        self.place: npt.NDArray[np.int32] = np.full(0, -1, np.int32)
        self.is_list: BoolArray = np.zeros(0, dtype=bool)
        """By target."""
        self.row_of: dict[int, int] = {}
        """Rows by target."""
        self.by_key: dict[int, int] = {}
        self.members: dict[int, IntArray] = {}
        """Targets that each list names."""
        self.parts: dict[tuple[int, str], int] = {}

    def __len__(self) -> int:
        """How many lists there are."""
        return len(self.by_key)

    # -- who is there

    def grow(self, targets: int) -> None:
        """There are so many targets now."""
        if targets > len(self.place):
            more = max(targets, 2 * len(self.place)) - len(self.place)
            self.place = np.concatenate([self.place, np.full(more, -1, np.int32)])
            self.is_list = np.concatenate([self.is_list, np.zeros(more, dtype=bool)])

    def places(self, ids: IntArray) -> IntArray:
        """Where some targets are known; -1 for those that nobody names."""
        return self.place[ids].astype(np.int64)

    def row(self, key: int, target: int = -1, *, pushed: bool = False) -> int:
        """The row of a list, made if there is none."""
        if key not in self.by_key:
            self.by_key[key] = self._new_row()
            self.rows.key[self.by_key[key]], self.rows.pushed[self.by_key[key]] = key, pushed
            self.members[self.by_key[key]] = np.empty(0, np.int64)
        row = self.by_key[key]
        if target >= 0:
            self.rows.target[row] = target
            self.row_of[target], self.is_list[target] = row, True
        return row

    def _new_row(self) -> int:
        for columns in (self.trust, self.rows, self.batches.classes):
            columns.grow(1)
        return len(self.rows) - 1

    def _enter(self, ids: IntArray, evidence: Evidence) -> IntArray:
        """The places of some targets, made where there are none."""
        new = ids[self.place[ids] < 0]
        if len(new):
            first = len(self.sources)
            self.sources.grow(len(new))
            places = np.arange(first, first + len(new))
            self.place[new] = places
            self.sources.target[places] = new
            self.sources.evidence[places] = evidence(new)
        return self.places(ids)

    def forget(self, ids: IntArray) -> None:
        """Some targets are gone."""
        for target in ids.tolist():
            row = self.row_of.pop(target, None)
            if row is not None:
                self.rows.target[row], self.members[row], self.is_list[target] = -1, np.empty(0, np.int64), False
        known = self.places(ids)
        known = known[known >= 0]
        self.batches.leave(self.sources.batch[known].astype(np.int64))
        self.sources.clear(known)
        self.place[ids] = -1

    # -- what is said

    def read(
        self, row: int, now: float, ids: IntArray, lastmod: FloatArray, last: FloatArray, evidence: Evidence
    ) -> IntArray:
        """A list was read; the targets that it names anew.

        `last` is when each page was visited last, -inf for never.
        """
        places = self._enter(ids, evidence)
        mine = self._listens(places, row)
        places, ids, lastmod, last = places[mine], ids[mine], np.minimum(lastmod[mine], now), last[mine]
        self.members[row] = ids
        named = self._take_in(row, now, places, lastmod, last)
        self.rows.read[row] = now
        self.rows.reads[row] += 1
        return ids[named]

    def same(self, row: int, now: float) -> None:
        """A list was read, and says what it said before."""
        places = self.places(self.members[row])
        places = places[places >= 0]
        places = places[self.sources.owner[places] == row]
        self._pass_time(places, now, np.zeros(len(places), dtype=bool))
        self.rows.read[row] = now
        self.rows.reads[row] += 1

    def push(
        self, key: int, now: float, ids: IntArray, at: FloatArray, last: FloatArray, evidence: Evidence
    ) -> IntArray:
        """A site says that some targets changed; those of which that is news."""
        row = self.row(key, pushed=True)
        places = self._enter(ids, evidence)
        new = self.sources.owner[places] == NOBODY
        self.sources.covered_from[places[new]] = now
        mine = self._listens(places, row)
        places, ids = places[mine], ids[mine]
        members = self.members[row]
        self.members[row] = np.concatenate([members, ids[~np.isin(ids, members)]])
        named = self._take_in(row, now, places, np.minimum(at[mine], now), last[mine])
        self.rows.read[row] = now
        return ids[named]

    def _listens(self, places: IntArray, row: int) -> BoolArray:
        """Which sources listen to this list: those without one, and those that it can tell more than theirs does."""
        sources, told = self.sources, self.trust.trust * self.trust.recall
        owner = sources.owner[places]
        better = (owner != row) & (owner != NOBODY) & (told[row] > told[owner] + BETTER)
        moved = places[better]
        self.batches.leave(sources.batch[moved].astype(np.int64))
        sources.batch[moved], sources.pending[moved], sources.doubt[moved] = ALONE, 0, 1.0
        sources.stated[moved], sources.covered_from[moved] = np.nan, -np.inf
        listens: BoolArray = better | (owner == NOBODY) | (owner == row)
        taken = places[listens]
        sources.part[taken[owner[listens] != row]] = NOBODY
        sources.owner[taken], sources.owner_key[taken] = row, self.rows.key[row]
        return listens

    def _take_in(self, row: int, now: float, places: IntArray, lastmod: FloatArray, last: FloatArray) -> BoolArray:
        """What a list states of pages that listen to it; which of them it names anew since their last visit."""
        sources = self.sources
        before, says = sources.stated[places], ~np.isnan(lastmod)
        first = says & np.isnan(before)
        later = says & (lastmod > before)
        memory = SIGNAL_MEMORY_DAYS * self.day
        recent = first & (now - lastmod < memory)
        sources.count[places[recent]] += 1.0
        sources.time[places[first]] += np.clip(now - lastmod[first], 0.0, memory)
        self._pass_time(places[~first], now, later[~first])
        sources.time[places[later]] += np.clip(now - lastmod[later], 0.0, now - sources.counted_to[places[later]])
        sources.counted_to[places] = now
        sources.stated[places] = np.where(says, np.fmax(before, lastmod), before)
        signal = later | (first & (last > -np.inf) & (lastmod > last))
        if self.rows.pushed[row]:
            signal |= first
        batch = np.full(len(places), ALONE)
        batch[signal] = self.batches.gather(row, lastmod[signal])
        counted = np.ones(len(places))
        inside = batch != ALONE
        counted[inside] = self.batches.precision(batch[inside])
        sources.count[places[later]] += counted[later]
        named = signal & (lastmod > last)
        self._wait(places[named], batch[named], lastmod[named])
        self.batches.forget_empty(batch)
        return named

    def _pass_time(self, places: IntArray, now: float, named: BoolArray) -> None:
        """What was heard of pages fades; for those that were not named, more time has passed in silence."""
        sources = self.sources
        passed = np.where(np.isnan(sources.counted_to[places]), 0.0, now - sources.counted_to[places])
        left = remaining(np.maximum(passed, 0.0), SIGNAL_MEMORY_DAYS * self.day)
        silent = np.where(named | np.isnan(sources.stated[places]), 0.0, passed)
        sources.count[places] *= left
        sources.time[places] = sources.time[places] * left + silent
        sources.counted_to[places[~named]] = now

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
        """Give the folders of a list that was read for the first time accounts of their own."""
        ids = self.members[row]
        folders = folders_below(labels(ids))
        sizes = Counter(folders)
        if len(sizes) < 2:
            return
        large = [name for name, size in sizes.most_common(PARTS_MOST) if size >= PART_LEAST]
        part_of = {name: self._part(row, name) for name in large}
        self.sources.part[self.places(ids)] = [part_of.get(name, NOBODY) for name in folders]

    def _part(self, row: int, name: str) -> int:
        if (row, name) not in self.parts:
            part = self.parts[row, name] = self._new_row()
            self.rows.whole[part] = row
            self.trust.begin_part(part, row)
        return self.parts[row, name]

    # -- what visits find

    def told(self, places: IntArray, now: float, last: FloatArray) -> Told:
        """What had been said of sources that were visited at `last` before now."""
        sources, rows = self.sources, self.rows
        owner = sources.owner[places].astype(np.int64)
        read = np.where(rows.pushed[owner], now, rows.read[owner])
        covered = np.maximum(read - np.maximum(last, sources.covered_from[places]), 0.0)
        covered = np.where(sources.says(places), np.minimum(covered, now - last), 0.0)
        return Told(places, now - last - covered, covered, sources.pending[places].astype(np.int64), self.doubt(places))

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
        says = sources.says(places)
        trusted = np.where(says, trust.trust[account], 0.0)
        return trust.recall[account], trust.per_change[account], trust.per_time[account], trusted

    def hidden(self, places: IntArray) -> FloatArray:
        """Which share of the changes of each source its list is not expected to name."""
        recall, _, _, trusted = self.law(places)
        return 1.0 - trusted * recall

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

    def visited(self, told: Told, changed: BoolArray, shares: Shares) -> None:
        """Judge lists by visits whose gap they cover, and take in what those found of pages if the lists are right."""
        sources, places = self.sources, told.places
        judged = np.flatnonzero(told.covered > 0.0)
        recall, per_change, per_time, _ = self.law(places)
        if len(judged):
            some = told.of(judged)
            plain, listed = shares(some.places, np.zeros(len(judged))), shares(some.places, np.ones(len(judged)))
            self._learn_batches(some, changed[judged], listed, (recall[judged], per_change[judged], per_time[judged]))
            self.trust.learn(
                sources.owner[some.places].astype(np.int64), sources.part[some.places].astype(np.int64),
                *some[1:], changed[judged], plain, listed, self.rates,
            )  # fmt: skip
        signals = np.where(told.covered > 0.0, told.signals, 0)
        doubt = np.where(told.covered > 0.0, told.doubt, 1.0)
        learn_hidden(
            places, sources.evidence, self.rates, told.since_read, told.covered, signals, doubt,
            recall, per_change, per_time, changed,
        )  # fmt: skip

    def answered(self, places: IntArray) -> None:
        """These were visited: no signal is left waiting."""
        sources = self.sources
        self.batches.leave(sources.batch[places].astype(np.int64))
        sources.batch[places], sources.pending[places], sources.doubt[places] = ALONE, 0, 1.0

    def _learn_batches(
        self, told: Told, changed: BoolArray, shares: FloatArray, law: tuple[FloatArray, FloatArray, FloatArray]
    ) -> None:
        """A change that was found is shared between the batch of its page and whatever else explains it."""
        batch = self.sources.batch[told.places].astype(np.int64)
        inside = np.flatnonzero(batch != ALONE)
        if not len(inside):
            return
        recall, per_change, per_time = (each[inside][:, None] for each in law)
        false = per_change * self.rates + per_time
        share = (false / np.maximum(recall * self.rates + false, 1e-300)) ** told.signals[inside][:, None]
        since_read, covered = told.since_read[inside][:, None], told.covered[inside][:, None]
        hidden = np.exp(-self.rates * (since_read + (1.0 - recall) * covered))
        same = (shares[inside] * hidden * share).sum(axis=1) * told.doubt[inside]
        truth = np.minimum(self.batches.precision(batch[inside]) / np.maximum(1.0 - same, 1e-6), 1.0)
        self.batches.learn(batch[inside], np.where(changed[inside], truth, 0.0), FORGETTING)


def key_of(label: str, target: int) -> int:
    """What a list is known by over a restart: its label, or where there is none its number."""
    return stable_hash(label) if label else target + 1


def push_key(label: str) -> int:
    """What the pushes of a source's site are known by."""
    return stable_hash("push " + (urlsplit(label).netloc if "://" in label else ""))


def stable_hash(text: str) -> int:
    """A number of 63 bits that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


def folders_below(labels: Sequence[str]) -> list[str]:
    """For each label the first folder in which not all are; empty for those directly in the common one.

    >>> folders_below(["a/b/x", "a/b/c/y", "a/b/c/z", "a/b/d/e/f"])
    ['', 'c', 'c', 'd']
    """
    paths = [label.split("/")[:-1] for label in labels]
    if not paths:
        return []
    low, high = min(paths), max(paths)
    common = next(
        (k for k, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), min(len(low), len(high))
    )
    return [path[common] if len(path) > common else "" for path in paths]
