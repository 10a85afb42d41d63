"""What lists and pushes have said of each source that they name, and what is believed of it if they are right.

A source that nobody names takes no room here. Of the others a second log-likelihood of change rates is kept: by it
visits are judged in the light of what the list had said, and how often and how long ago the list named the page is
evidence too. What is believed is a mixture of this and of the plain one, by how far the list is trusted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.kernels.list_likelihood import false_share, hidden_evidence, signal_evidence
from recrawl.learning.columns import Column, Columns
from recrawl.learning.rates import POINTS
from recrawl.learning.signal_batches import ALONE
from recrawl.records import BoolArray, FloatArray, IntArray

NOBODY = -1
"""The list of a source whose list is not known (any more)."""


class ListedSources(Columns):
    """A row per source that is named.

    owner, part: the row of its list, and of the part of it, in :class:`~recrawl.learning.list_trust.ListTrust`
    owner_key: what its list is known by over a restart
    stated: when the list says it was last modified; NaN if it never said
    covered_from: since when the list would have said; -inf for always
    counted_to: up to when `time` has been counted
    count, time: signals, and the time in which they came; both fade
    pending, batch, doubt: signals since the last visit that came alone; the latest batch of others, and the
        probability that all earlier ones are false
    signalled: when the latest of these came
    evidence: log-likelihood of its change rates, if its list is right
    """

    columns: ClassVar[Mapping[str, Column]] = {
        "target": Column(np.int64, -1, kept=False),
        "owner": Column(np.int32, NOBODY, kept=False),
        "part": Column(np.int32, NOBODY, kept=False),
        "batch": Column(np.int32, ALONE, kept=False),
        "owner_key": Column(np.int64, 0),
        "stated": Column(np.float64, np.nan),
        "covered_from": Column(np.float64, -np.inf),
        "counted_to": Column(np.float64, np.nan),
        "count": Column(np.float32, 0.0),
        "time": Column(np.float32, 0.0),
        "pending": Column(np.int16, 0),
        "doubt": Column(np.float32, 1.0),
        "signalled": Column(np.float64, -np.inf),
        "evidence": Column(np.float32, 0.0, POINTS),
    }
    target: IntArray
    owner: npt.NDArray[np.int32]
    part: npt.NDArray[np.int32]
    batch: npt.NDArray[np.int32]
    owner_key: IntArray
    stated: FloatArray
    covered_from: FloatArray
    counted_to: FloatArray
    count: npt.NDArray[np.float32]
    time: npt.NDArray[np.float32]
    pending: npt.NDArray[np.int16]
    doubt: npt.NDArray[np.float32]
    signalled: FloatArray
    evidence: npt.NDArray[np.float32]

    def __init__(self, points: int = POINTS) -> None:
        super().__init__(0, {**self.columns, "evidence": Column(np.float32, 0.0, points)})

    def says(self, rows: IntArray) -> BoolArray:
        """Of which sources a list that is known says when they were modified."""
        said: BoolArray = (self.owner[rows] != NOBODY) & ~np.isnan(self.stated[rows])
        return said

    def waits(self, rows: IntArray) -> BoolArray:
        """Which sources were named since their last visit."""
        waits: BoolArray = (self.pending[rows] > 0) | (self.batch[rows] != ALONE) | (self.doubt[rows] < 1.0)
        return waits


@njit(cache=True)
def _exponentials(log_row: FloatArray, weight: float, out: FloatArray) -> None:
    """Add `weight` times the normalised exponentials of a row."""
    top, total = -math.inf, 0.0
    for g in range(len(log_row)):
        top = max(top, log_row[g])
    for g in range(len(log_row)):
        total += math.exp(log_row[g] - top)
    for g in range(len(log_row)):
        out[g] += weight * math.exp(log_row[g] - top) / total


@njit(cache=True)
def believed_rates(
    rows: IntArray,
    plain: npt.NDArray[np.float32],
    base: FloatArray,
    tilt: npt.NDArray[np.float32],
    rates: FloatArray,
    places: IntArray,
    evidence: npt.NDArray[np.float32],
    count: npt.NDArray[np.float32],
    time: npt.NDArray[np.float32],
    recall: FloatArray,
    per_change: FloatArray,
    per_time: FloatArray,
    weight: FloatArray,
    out: FloatArray,
) -> None:
    """Probabilities over `rates` of some pages (`rows`, known to lists as `places`): the account that a list is right
    has the given weight. `recall`, `per_change`, `per_time` and `weight` are one each; so is a line of `out`.
    """
    row = np.empty(len(rates))
    out[:] = 0.0
    for k in range(len(rows)):
        i, j = rows[k], places[k]
        if weight[k] < 1.0:
            for g in range(len(rates)):
                row[g] = plain[i, g] + base[g] + tilt[i] * g
            _exponentials(row, 1.0 - weight[k], out[k])
        if weight[k] > 0.0:
            for g in range(len(rates)):
                row[g] = evidence[j, g] + base[g] + tilt[i] * g
            signal_evidence(row, rates, count[j], time[j], recall[k], per_change[k], per_time[k])
            _exponentials(row, weight[k], out[k])


@njit(cache=True)
def learn_hidden(
    places: IntArray,
    evidence: npt.NDArray[np.float32],
    rates: FloatArray,
    since_read: FloatArray,
    covered: FloatArray,
    signals: IntArray,
    doubt: FloatArray,
    recall: FloatArray,
    per_change: FloatArray,
    per_time: FloatArray,
    changed: BoolArray,
) -> None:
    """Take in what visits to listed pages found, if their lists are right."""
    row = np.empty(len(rates))
    for k in range(len(places)):
        j = places[k]
        row[:] = 0.0
        hidden_evidence(
            row, rates, since_read[k], covered[k], signals[k], doubt[k],
            recall[k], per_change[k], per_time[k], changed[k],
        )  # fmt: skip
        top = -math.inf
        for g in range(len(rates)):
            evidence[j, g] += row[g]
            top = max(top, evidence[j, g])
        for g in range(len(rates)):
            evidence[j, g] -= top


@njit(cache=True)
def chance_of_truth(
    mass: npt.NDArray[np.float32],
    change: npt.NDArray[np.float32],
    signals: IntArray,
    doubt: FloatArray,
    recall: FloatArray,
    per_change: FloatArray,
    per_time: FloatArray,
    out: FloatArray,
) -> None:
    """How likely at least one of the signals of each source is true; `mass` and `change` are atoms of its rate."""
    for k in range(len(out)):
        all_false = doubt[k]
        if signals[k] > 0:
            share = 0.0
            for a in range(mass.shape[1]):
                share += mass[k, a] * false_share(change[k, a], recall[k], per_change[k], per_time[k]) ** signals[k]
            all_false *= share
        out[k] = 1.0 - all_false
