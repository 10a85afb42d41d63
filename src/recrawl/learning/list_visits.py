"""What visits find, judged against what lists had said: of the lists, of batches of signals, and of the pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from recrawl.learning.list_trust import FORGETTING
from recrawl.learning.listed_beliefs import learn_hidden
from recrawl.learning.lists import Lists
from recrawl.learning.signal_batches import ALONE
from recrawl.records import BoolArray, FloatArray, IntArray

Shares = Callable[[IntArray, FloatArray], FloatArray]
"""Probabilities over the rates of listed sources (by place), where their lists are right with these probabilities."""


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


class ListVisits:
    """Judges lists by visits to what they name."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists

    def told(self, places: IntArray, now: float, last: FloatArray) -> Told:
        """What had been said of sources that were visited at `last` before now."""
        sources, rows = self._lists.sources, self._lists.rows
        owner = sources.owner[places].astype(np.int64)
        read = np.where(rows.pushed[owner], now, rows.read[owner])
        covered = np.maximum(read - np.maximum(last, sources.covered_from[places]), 0.0)
        covered = np.where(sources.says(places) & ~sources.gone[places], np.minimum(covered, now - last), 0.0)
        return Told(
            places, now - last - covered, covered, sources.pending[places].astype(np.int64), self._lists.doubt(places)
        )

    def visited(self, told: Told, changed: BoolArray, shares: Shares) -> None:
        """Judge lists by visits whose gap they cover, and take in what those found of pages if the lists are right."""
        lists, places, sources = self._lists, told.places, self._lists.sources
        judged = np.flatnonzero(told.covered > 0.0)
        recall, per_change, per_time, _ = lists.law(places)
        if len(judged):
            some = told.of(judged)
            plain, listed = shares(some.places, np.zeros(len(judged))), shares(some.places, np.ones(len(judged)))
            self._learn_batches(some, changed[judged], listed, (recall[judged], per_change[judged], per_time[judged]))
            lists.trust.learn(
                sources.owner[some.places].astype(np.int64), sources.part[some.places].astype(np.int64),
                *some[1:], changed[judged], plain, listed, lists.rates,
            )  # fmt: skip
        signals = np.where(told.covered > 0.0, told.signals, 0)
        doubt = np.where(told.covered > 0.0, told.doubt, 1.0)
        learn_hidden(
            places, sources.evidence, lists.rates, told.since_read, told.covered, signals, doubt,
            recall, per_change, per_time, changed,
        )  # fmt: skip

    def _learn_batches(
        self, told: Told, changed: BoolArray, shares: FloatArray, law: tuple[FloatArray, FloatArray, FloatArray]
    ) -> None:
        """A change that was found is shared between the batch of its page and whatever else explains it."""
        batches, rates = self._lists.batches, self._lists.rates
        batch = self._lists.sources.batch[told.places].astype(np.int64)
        inside = np.flatnonzero(batch != ALONE)
        if not len(inside):
            return
        recall, per_change, per_time = (each[inside][:, None] for each in law)
        false = per_change * rates + per_time
        share = (false / np.maximum(recall * rates + false, 1e-300)) ** told.signals[inside][:, None]
        since_read, covered = told.since_read[inside][:, None], told.covered[inside][:, None]
        hidden = np.exp(-rates * (since_read + (1.0 - recall) * covered))
        same = (shares[inside] * hidden * share).sum(axis=1) * told.doubt[inside]
        truth = np.minimum(batches.precision(batch[inside]) / np.maximum(1.0 - same, 1e-6), 1.0)
        batches.learn(batch[inside], np.where(changed[inside], truth, 0.0), FORGETTING)
