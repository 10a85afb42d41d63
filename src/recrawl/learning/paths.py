"""Pages of one folder change alike: what is known of the others tilts the prior of each.

Labels are paths or URLs. A folder's mean log rate is that of its pages, shrunk towards its parent folder's; a page's
prior is the catalogue's, tilted exponentially so that its mean moves to that of its folder without the page itself.
A page counts for as much of itself as its visits have told: the share of the prior variance that its posterior lost.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.records import FloatArray

Numbers = npt.NDArray[np.int32]

PARENT_PAGES = 30.0
"""For how many well-known pages the parent folder counts."""
DEEPEST = 12
"""Folders below this depth are not told apart."""


@njit(cache=True)
def grid_moments(
    evidence: npt.NDArray[np.float32], log_prior: FloatArray, mean: FloatArray, variance: FloatArray
) -> None:
    """Mean and variance of every posterior, in grid steps."""
    for i in range(len(mean)):
        top, total, first, second = -math.inf, 0.0, 0.0, 0.0
        for g in range(len(log_prior)):
            top = max(top, evidence[i, g] + log_prior[g])
        for g in range(len(log_prior)):
            share = math.exp(evidence[i, g] + log_prior[g] - top)
            total += share
            first += share * g
            second += share * g * g
        mean[i] = first / total
        variance[i] = second / total - mean[i] * mean[i]


@njit(cache=True)
def folder_tilts(
    mean: FloatArray,
    variance: FloatArray,
    prior_mean: float,
    prior_variance: float,
    folder: Numbers,
    parent: Numbers,
    out: FloatArray,
) -> None:
    """The tilt of each page's log-prior per grid step; 0 for pages in the root."""
    known, shown = np.zeros(len(mean)), np.zeros(len(mean))
    weight, total, level = np.zeros(len(parent)), np.zeros(len(parent)), np.full(len(parent), prior_mean)
    for i in range(len(mean)):
        known[i] = max(0.0, 1.0 - variance[i] / prior_variance)
        shown[i] = mean[i] - (1.0 - known[i]) * prior_mean
        weight[folder[i]] += known[i]
        total[folder[i]] += shown[i]
    for f in range(len(parent) - 1, 0, -1):
        weight[parent[f]] += weight[f]
        total[parent[f]] += total[f]
    for f in range(1, len(parent)):
        level[f] = (PARENT_PAGES * level[parent[f]] + total[f]) / (PARENT_PAGES + weight[f])
    for i in range(len(mean)):
        f = folder[i]
        out[i] = 0.0
        if f > 0:
            others = PARENT_PAGES * level[parent[f]] + total[f] - shown[i]
            out[i] = (others / (PARENT_PAGES + weight[f] - known[i]) - prior_mean) / prior_variance


class Folders:
    """The folders of a catalogue's labels, numbered so that parents come first; the root is number 0.

    >>> folders = Folders()
    >>> [folders.of(label) for label in ("a/x", "a/y", "a/b/z", "w")], folders.parent
    ([1, 1, 2, 0], [-1, 0, 1])
    """

    def __init__(self) -> None:
        self._number = {hash(""): 0}
        self.parent = [-1]

    def __len__(self) -> int:
        return len(self.parent)

    def of(self, label: str) -> int:
        """The folder of a label, made if there is none yet."""
        path, missing = "/".join(label.split("/", DEEPEST + 1)[:-1][:DEEPEST]), []
        while hash(path) not in self._number:
            missing.append(path)
            path = path.rpartition("/")[0]
        number = self._number[hash(path)]
        for each in reversed(missing):
            self.parent.append(number)
            number = self._number[hash(each)] = len(self.parent) - 1
        return number

    def tilts(self, evidence: npt.NDArray[np.float32], log_prior: FloatArray, folder: Numbers) -> FloatArray:
        """The tilt of each source's log-prior per grid step, from all sources' evidence."""
        shares, steps = np.exp(log_prior - log_prior.max()), np.arange(len(log_prior))
        shares /= shares.sum()
        prior_mean = float(shares @ steps)
        mean, variance, out = (np.empty(len(evidence)) for _ in range(3))
        grid_moments(evidence, log_prior, mean, variance)
        spread = max(float(shares @ (steps - prior_mean) ** 2), 1.0)
        folder_tilts(mean, variance, prior_mean, spread, folder, np.array(self.parent, np.int32), out)
        return out
