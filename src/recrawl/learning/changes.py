"""Change rates from "changed / unchanged since the last visit", after gaps of any length.

A visit after a gap τ sees a change with probability 1 − e^{−Δτ} however many changes there were. The posterior of Δ is
kept on a grid of rates, so it stays proper when every visit saw a change, and needs no assumption on when visits
happen. Optionally evidence fades: after a gap of one `memory` half of what was known is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.kernels.likelihood import add_change_evidence
from recrawl.kernels.mixture_index import condense
from recrawl.learning.paths import PathPool
from recrawl.learning.rates import Refits, fit_prior, grid_quantile, normalised, rate_grid
from recrawl.records import BoolArray, FloatArray, IntArray


@njit(cache=True)
def learn_changes(
    ids: IntArray,
    gaps: FloatArray,
    changed: BoolArray,
    evidence: npt.NDArray[np.float32],
    rates: FloatArray,
    memory: float,
) -> None:
    """Take in one changed flag per id after gaps > 0."""
    for k in range(len(ids)):
        i = ids[k]
        if memory < math.inf:
            evidence[i] *= np.float32(2.0 ** (-gaps[k] / memory))
        add_change_evidence(evidence[i], rates, gaps[k], changed[k])


@njit(cache=True)
def condense_rows(
    ids: IntArray,
    evidence: npt.NDArray[np.float32],
    log_prior: FloatArray,
    tilt: FloatArray,
    values: FloatArray,
    ripening: FloatArray,
    mass: FloatArray,
    value: FloatArray,
    rate: FloatArray,
) -> None:
    """Condense the posteriors of some sources, whose crawl at change rate number g is worth `values[g]` once ripe and
    ripens at `ripening[g]`, into atoms."""
    row = np.empty(len(log_prior))
    for k in range(len(ids)):
        i = ids[k]
        for g in range(len(row)):
            row[g] = evidence[i, g] + log_prior[g] + tilt[i] * g
        condense(row, values, ripening, mass[i], value[i], rate[i])


class ChangeBeliefs:
    """Posteriors of the change rates of a catalogue.

    Parameters
        targets: number of sources
        span: slowest and fastest change rate told apart, per time unit
        memory: half-life of evidence, in time units; None for never forgetting
        labels: paths or URLs of the sources, along which priors are pooled

    >>> beliefs = ChangeBeliefs(1, span=(0.01, 10.0))
    >>> for _ in range(200):
    ...     _ = beliefs.learn(np.array([0]), gaps=np.array([1.0]), changed=np.array([True]))
    >>> bool(np.isfinite(beliefs.mean(np.array([0]))[0]))
    True
    """

    def __init__(
        self,
        targets: int,
        span: tuple[float, float],
        memory: float | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        self.rates = rate_grid(span)
        self.memory = math.inf if memory is None else float(memory)
        self.evidence = np.zeros((targets, len(self.rates)), dtype=np.float32)
        self.visits = np.zeros(targets, dtype=np.int64)
        self.log_prior: FloatArray = np.full(len(self.rates), -math.log(len(self.rates)))
        self.paths = None if labels is None else PathPool(labels)
        self.tilt = np.zeros(targets)
        self.refits = Refits()

    def grow(self, count: int) -> None:
        """Room for new sources, about which only the prior is known."""
        self.evidence = np.concatenate([self.evidence, np.zeros((count, len(self.rates)), dtype=np.float32)])
        self.visits = np.concatenate([self.visits, np.zeros(count, dtype=np.int64)])
        self.tilt = np.concatenate([self.tilt, np.zeros(count)])
        if self.paths is not None:
            self.paths.grow(count)

    def learn(self, ids: IntArray, gaps: FloatArray, changed: BoolArray) -> bool:
        """Visits after gaps > 0; True if the prior was fitted anew, which changes what is believed of every source."""
        learn_changes(ids, gaps, changed, self.evidence, self.rates, self.memory)
        self.visits[ids] += 1
        if not self.refits.due(len(ids), len(self.visits)):
            return False
        self.log_prior = fit_prior(self.evidence[self.visits > 0], self.log_prior)
        if self.paths is not None:
            self.tilt = self.paths.tilts(self.evidence, self.log_prior)
        return True

    def posterior(self, ids: IntArray) -> FloatArray:
        """Probabilities over `rates`, one row per id."""
        tilt = self.tilt[ids][:, None] * np.arange(len(self.rates))
        return normalised(self.evidence[ids] + self.log_prior + tilt)

    def mean(self, ids: IntArray) -> FloatArray:
        """Posterior mean of the change rate."""
        return self.posterior(ids) @ self.rates

    def sd(self, ids: IntArray) -> FloatArray:
        """Posterior standard deviation of the change rate."""
        shares = self.posterior(ids)
        return np.sqrt(np.maximum(shares @ self.rates**2 - (shares @ self.rates) ** 2, 0.0))

    def interval(self, ids: IntArray, coverage: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """The central posterior interval of each change rate."""
        shares, tail = self.posterior(ids), 0.5 * (1.0 - coverage)
        return grid_quantile(shares, self.rates, tail), grid_quantile(shares, self.rates, 1.0 - tail)
