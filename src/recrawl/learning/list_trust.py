"""How far each list can be trusted: what it announces, what it misses, and whether it predicts anything at all.

Two accounts of a list are kept, and both predict every visit to a page that it names
(:mod:`recrawl.kernels.list_likelihood`). By the one the list says nothing. By the other it announces the share
`recall` of all changes and adds false signals, so many per change and so many per time, which are found on a grid.
**Trust** is the probability of the second account, from how much better it predicted: a list is believed for having
been right about what visits then found, and for nothing else. What was long ago counts less (`MEMORY_VISITS`), so one
that stops telling the truth is found out, and one that begins to.

The pages of a list need not be alike: one folder may be generated anew each night. A part of a list (a folder) has an
account of its own, and is judged by it once that predicts better than the account of the whole list, which then hears
no more of it: one folder that lies takes no trust from the others.

It never sees pages or times: only what was said before a visit, what the visit found, and what was believed of the
page's rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.list_likelihood import unchanged_by_list, unchanged_without
from recrawl.learning.columns import Column, Columns
from recrawl.records import BoolArray, FloatArray, IntArray

YEAR = 365.0 * 86400.0
RECALLS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
FALSE_PER_CHANGE = np.array([0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0])
FALSE_PER_YEAR = np.array([0.0, 1 / 3, 1.0, 3.0, 12.0, 36.0, 100.0, 365.0, 1000.0])
SCALES, POWERS = np.array([0.25, 0.5, 0.7, 1.0, 1.4, 2.0]), np.array([0.4, 0.6, 0.8, 1.0])
LAWS = len(RECALLS) * len(FALSE_PER_CHANGE) * len(FALSE_PER_YEAR)
PLAIN_LAWS = len(SCALES) * len(POWERS)
MEMORY_VISITS = 200.0
"""A visit counts 1/e after so many later ones to pages of the same list."""
FORGETTING = 1.0 - 1.0 / MEMORY_VISITS
DOUBTED_BY = 4.0
"""How much better, in log-likelihood, a list must have predicted than nothing before it is trusted by half."""
PART_LEAD = 2.0
"""How much better a part must be predicted by its own account before that counts."""
LEAST = 1e-6
"""No account is taken to be surer of a visit than this."""
HONESTY = 0.8
"""Before any visit, each step of the grids towards more false signals is taken to be less likely by e to this power."""


def _prior() -> npt.NDArray[np.float32]:
    """What is thought of a list nobody has been able to judge, in logarithms."""
    steps = np.arange(len(FALSE_PER_CHANGE))[:, None] + np.arange(len(FALSE_PER_YEAR))
    prior = np.broadcast_to(-HONESTY * steps, (len(RECALLS), *steps.shape))
    return prior.reshape(-1).astype(np.float32)


PRIOR = _prior()


@njit(cache=True)
def _weights(log_weights: npt.NDArray[np.float32], out: FloatArray) -> None:
    """Probabilities of several accounts."""
    top, total = -math.inf, 0.0
    for k in range(len(out)):
        top = max(top, log_weights[k])
    for k in range(len(out)):
        out[k] = math.exp(log_weights[k] - top)
        total += out[k]
    out /= total


@njit(cache=True)
def _predict(log_weights: npt.NDArray[np.float32], same: FloatArray, changed: bool, weights: FloatArray) -> float:
    """How likely several accounts together took what a visit found, in logarithms."""
    _weights(log_weights, weights)
    expected = 0.0
    for k in range(len(same)):
        expected += weights[k] * same[k]
    return math.log((1.0 - expected if changed else expected) + LEAST)


@njit(cache=True)
def _judge(
    log_weights: npt.NDArray[np.float32], same: FloatArray, changed: bool, weights: FloatArray, forgetting: float
) -> float:
    """The same, and each account is then weighed by its own prediction."""
    told = _predict(log_weights, same, changed, weights)
    for k in range(len(same)):
        found = 1.0 - same[k] if changed else same[k]
        log_weights[k] = log_weights[k] * forgetting + math.log(max(found, LEAST))
    return told


@njit(cache=True)
def weigh_visits(
    owners: IntArray,
    parts: IntArray,
    since_read: FloatArray,
    covered: FloatArray,
    signals: IntArray,
    doubt: FloatArray,
    changed: BoolArray,
    plain_shares: FloatArray,
    listed_shares: FloatArray,
    rates: FloatArray,
    recalls: FloatArray,
    per_change: FloatArray,
    per_time: FloatArray,
    scales: FloatArray,
    powers: FloatArray,
    laws: npt.NDArray[np.float32],
    plain_laws: npt.NDArray[np.float32],
    lead: FloatArray,
    part_lead: FloatArray,
    visits: FloatArray,
    forgetting: float,
) -> None:
    """Let the accounts of lists, and of parts of them, predict visits, and judge them by what those found.

    `plain_shares` and `listed_shares` are what is believed of each page's rate by either account. A part that is judged
    by its own account teaches the whole list nothing.
    """
    same, plain = np.empty(laws.shape[1]), np.empty(plain_laws.shape[1])
    weights, plain_weights = np.empty(laws.shape[1]), np.empty(plain_laws.shape[1])
    for k in range(len(owners)):
        unchanged_by_list(
            listed_shares[k], rates, since_read[k], covered[k], signals[k], recalls, per_change, per_time, same
        )
        same *= doubt[k]
        unchanged_without(plain_shares[k], rates, since_read[k] + covered[k], scales, powers, plain)
        whole = 0.0
        apart = parts[k] >= 0 and part_lead[parts[k]] > PART_LEAD
        for which in range(2):
            e = owners[k] if which == 0 else parts[k]
            if e < 0:
                continue
            if which == 0 and apart:
                whole = _predict(laws[e], same, changed[k], weights)
                continue
            told = _judge(laws[e], same, changed[k], weights, forgetting)
            untold = _judge(plain_laws[e], plain, changed[k], plain_weights, forgetting)
            lead[e] = lead[e] * forgetting + told - untold
            visits[e] = visits[e] * forgetting + 1.0
            if which == 0:
                whole = told
            else:
                part_lead[e] = part_lead[e] * forgetting + told - whole


class ListTrust(Columns):
    """Accounts of lists and of parts of lists, a row each.

    >>> trust = ListTrust(1)
    >>> round(float(trust.trust[0]), 2)
    0.02
    """

    columns: ClassVar[Mapping[str, Column]] = {
        "laws": Column(np.float32, 0.0, LAWS),
        "plain_laws": Column(np.float32, 0.0, PLAIN_LAWS),
        "lead": Column(np.float64, 0.0),
        "part_lead": Column(np.float64, 0.0),
        "visits": Column(np.float64, 0.0),
        "recall": Column(np.float64, 0.0, kept=False),
        "per_change": Column(np.float64, 0.0, kept=False),
        "per_time": Column(np.float64, 0.0, kept=False),
        "trust": Column(np.float64, 1.0 / (1.0 + math.exp(DOUBTED_BY)), kept=False),
    }
    laws: npt.NDArray[np.float32]
    plain_laws: npt.NDArray[np.float32]
    lead: FloatArray
    part_lead: FloatArray
    visits: FloatArray
    recall: FloatArray
    per_change: FloatArray
    per_time: FloatArray
    trust: FloatArray

    def __init__(self, size: int = 0, unit_s: float = 1.0) -> None:
        self.false_per_time = FALSE_PER_YEAR / YEAR * unit_s
        self.unit_s = unit_s
        super().__init__(size)

    def grow(self, count: int) -> None:
        """Rows for new lists."""
        before = self.size
        super().grow(count)
        self.laws[before : self.size] = PRIOR
        self.summarise(np.arange(before, self.size))

    def begin_part(self, part: int, whole: int) -> None:
        """A new part is first thought to be like the whole list."""
        self.laws[part], self.plain_laws[part] = self.laws[whole], self.plain_laws[whole]
        self.lead[part], self.visits[part] = self.lead[whole], self.visits[whole]
        self.summarise(np.array([part]))

    def judged_by(self, owners: IntArray, parts: IntArray) -> IntArray:
        """The rows that count for pages of these lists and parts of them (-1 for none)."""
        return np.where((parts >= 0) & (self.part_lead[parts] > PART_LEAD), parts, owners)

    def learn(
        self,
        owners: IntArray,
        parts: IntArray,
        since_read: FloatArray,
        covered: FloatArray,
        signals: IntArray,
        doubt: FloatArray,
        changed: BoolArray,
        plain_shares: FloatArray,
        listed_shares: FloatArray,
        rates: FloatArray,
    ) -> None:
        """Judge lists by visits to pages that they name; see `weigh_visits`."""
        weigh_visits(
            owners, parts, since_read, covered, signals, doubt, changed, plain_shares, listed_shares, rates,
            RECALLS, FALSE_PER_CHANGE, self.false_per_time, SCALES, POWERS,
            self.laws, self.plain_laws, self.lead, self.part_lead, self.visits, FORGETTING,
        )  # fmt: skip
        touched = np.unique(np.concatenate([owners, parts[parts >= 0]]))
        self.summarise(touched)

    def summarise(self, rows: IntArray) -> None:
        """Bring trust and the means of the laws in line with what is known of some lists."""
        for e in rows.tolist():
            weights = self._weights(e)
            self.recall[e] = weights.sum(axis=(1, 2)) @ RECALLS
            self.per_change[e] = weights.sum(axis=(0, 2)) @ FALSE_PER_CHANGE
            self.per_time[e] = weights.sum(axis=(0, 1)) @ self.false_per_time
            self.trust[e] = 1.0 / (1.0 + math.exp(min(max(DOUBTED_BY - self.lead[e], -30.0), 30.0)))

    def _weights(self, row: int) -> FloatArray:
        """The probability of every (recall, false per change, false per time)."""
        told = self.laws[row].astype(np.float64)
        weights = np.exp(told - told.max()).reshape(len(RECALLS), len(FALSE_PER_CHANGE), len(FALSE_PER_YEAR))
        result: FloatArray = weights / weights.sum()
        return result
