"""What is believed of sources that lists name, and what visits to them teach: the loops over many of them.

What is believed of a page is a mixture of what its visits say alone and of what they say if its list is right, by how
far the list is trusted.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.list_likelihood import false_share, hidden_evidence, signal_evidence
from recrawl.records import BoolArray, FloatArray, IntArray


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
        out[k] = min(max(1.0 - all_false, 0.0), 1.0)
