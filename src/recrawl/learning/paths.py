"""Pages of one folder change alike: what is known of the others tilts the prior of each.

Labels are paths or URLs. A folder's mean log rate is that of its pages, shrunk towards its parent folder's; a page's
prior is the catalogue's, tilted exponentially so that its mean moves to that of its folder without the page itself.
A page counts for as much of itself as its visits have told: the share of the prior variance that its posterior lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.records import FloatArray, IntArray

PARENT_PAGES = 30.0
"""For how many well-known pages the parent folder counts."""


def folders(labels: Sequence[str]) -> tuple[IntArray, IntArray]:
    """The folder of each label, numbered so that parents come first, and each folder's parent (the root's is −1).

    >>> folder, parent = folders(["a/x", "a/y", "a/b/z", "w"])
    >>> folder.tolist(), parent.tolist()
    ([1, 1, 2, 0], [-1, 0, 1])
    """
    numbers: dict[tuple[str, ...], int] = {(): 0}
    parent, folder = [-1], []
    for label in labels:
        path = tuple(label.split("/")[:-1])
        for depth in range(1, len(path) + 1):
            if path[:depth] not in numbers:
                numbers[path[:depth]] = len(parent)
                parent.append(numbers[path[: depth - 1]])
        folder.append(numbers[path])
    return np.array(folder, dtype=np.int64), np.array(parent, dtype=np.int64)


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
    folder: IntArray,
    parent: IntArray,
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


class PathPool:
    """Folders of a catalogue's labels, and the tilts they give to priors."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.folder, self.parent = folders(labels)

    def grow(self, count: int) -> None:
        """New targets come without labels: they belong to no folder."""
        self.folder = np.concatenate([self.folder, np.zeros(count, dtype=np.int64)])

    def tilts(self, evidence: npt.NDArray[np.float32], log_prior: FloatArray) -> FloatArray:
        """The tilt of each source's log-prior per grid step, from all sources' evidence."""
        shares, steps = np.exp(log_prior - log_prior.max()), np.arange(len(log_prior))
        shares /= shares.sum()
        prior_mean = float(shares @ steps)
        mean, variance, out = (np.empty(len(evidence)) for _ in range(3))
        grid_moments(evidence, log_prior, mean, variance)
        spread = max(float(shares @ (steps - prior_mean) ** 2), 1.0)
        folder_tilts(mean, variance, prior_mean, spread, self.folder, self.parent, out)
        return out
