"""Pages learned visit by visit, each reduced to one (value, rate).

The change rate Δ of a page has a posterior on a grid (:mod:`recrawl.learning.changes`). At each Δ a crawl at age τ is
worth v(1 − e^{−rτ}) with (v, r) by the objective; the index averaged over the posterior is::

    E[v·G(rτ)],   G(s) = 1 − (1 + s)e^{−s}

which rises from ½E[v·r²]τ² to E[v]. The calendar ranks by a single (v, r), so the curve is replaced by the one of the
same ends: v = E[v], and r such that v·r² = E[v·r²] [docs/design/007].

===========  ==============  =======
objective    v               r
===========  ==============  =======
ephemeral    Δ/(Δ + μ)       Δ + μ
changes      1               Δ
freshness    1/Δ             Δ
discovery    Δ               0
===========  ==============  =======

μ is each page's own. Only the pages visited are touched; the common prior is fitted anew every so many visits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.learning.changes import learn_changes
from recrawl.learning.columns import Column, Columns
from recrawl.learning.model import Moments, Objective
from recrawl.learning.pages import saw_change
from recrawl.learning.paths import PathPool
from recrawl.learning.rates import POINTS, Refits, fit_prior, rate_grid
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

EPHEMERAL, CHANGES, FRESHNESS, DISCOVERY = range(4)
_FORMS: dict[Objective, int] = {
    "ephemeral": EPHEMERAL,
    "changes": CHANGES,
    "freshness": FRESHNESS,
    "discovery": DISCOVERY,
}


@njit(cache=True)
def _reduce(
    ids: IntArray,
    evidence: npt.NDArray[np.float32],
    log_prior: FloatArray,
    tilt: FloatArray,
    changes: FloatArray,
    fading: FloatArray,
    form: int,
    value: FloatArray,
    value_sd: FloatArray,
    rate: FloatArray,
    rate_sd: FloatArray,
) -> None:
    """(v, r) of some pages and their standard deviations; `fading` is one μ per id."""
    row = np.empty(len(log_prior))
    for k in range(len(ids)):
        i, top, total = ids[k], -math.inf, 0.0
        for g in range(len(row)):
            row[g] = evidence[i, g] + log_prior[g] + tilt[i] * g
            top = max(top, row[g])
        worth, worth_square, curve, mean, square = 0.0, 0.0, 0.0, 0.0, 0.0
        for g in range(len(row)):
            share, change = math.exp(row[g] - top), changes[g]
            v, r = 1.0, change
            if form == EPHEMERAL:
                v, r = change / (change + fading[k]), change + fading[k]
            elif form == FRESHNESS:
                v = 1.0 / change
            elif form == DISCOVERY:
                v, r = change, 0.0
            total += share
            worth += share * v
            worth_square += share * v * v
            curve += share * v * r * r
            mean += share * r
            square += share * r * r
        value[k] = worth / total
        value_sd[k] = math.sqrt(max(worth_square / total - value[k] ** 2, 0.0))
        rate[k] = math.sqrt(curve / worth)
        rate_sd[k] = math.sqrt(max(square / total - (mean / total) ** 2, 0.0))


class LivePages(Columns):
    """What is known of every page.

    Parameters
        size: number of sources
        span: slowest and fastest change rate told apart, per second
        memory: half-life of evidence, in seconds; None for never forgetting
        labels: URLs of the first sources, along whose paths priors are pooled
    """

    columns: ClassVar[dict[str, Column]] = {
        "seen": Column(np.bool_, False),
        "visits": Column(np.int32, 0),
        "evidence": Column(np.float32, 0.0, POINTS),
        "tilt": Column(np.float64, 0.0),
    }
    seen: BoolArray
    visits: npt.NDArray[np.int32]
    evidence: npt.NDArray[np.float32]
    tilt: FloatArray

    def __init__(
        self,
        size: int,
        objective: Objective,
        span: tuple[float, float],
        memory: float | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        super().__init__(size)
        self.form = _FORMS[objective]
        self.changes = rate_grid(span)
        self.memory = math.inf if memory is None else float(memory)
        self.labels = labels
        self.paths: PathPool | None = None
        self.log_prior: FloatArray = np.full(len(self.changes), -math.log(len(self.changes)))
        self.refits = Refits()

    def learn(self, visits: Visits, since: FloatArray) -> bool:
        """Changed flags after known gaps; True if the prior was fitted anew, which changes every page's beliefs."""
        changed = saw_change(visits)
        if changed is None:
            return False
        gaps = visits.now - since
        known = self.seen[visits.ids] & (gaps > 0.0)
        self.seen[visits.ids] = True
        told = visits.ids[known]
        learn_changes(told, gaps[known], changed[known], self.evidence, self.changes, self.memory)
        self.visits[told] += 1
        if not self.refits.due(len(told), self.size):
            return False
        self.refit()
        return True

    def refit(self) -> None:
        """Fit the law of change rates to the pages seen, and tilt it along their paths."""
        known = np.flatnonzero(self.visits[: self.size] > 0)
        self.log_prior = fit_prior(self.evidence[known], self.log_prior)
        if self.labels is not None:
            paths = self._paths(self.labels)
            self.tilt[: self.size] = paths.tilts(self.evidence[: self.size], self.log_prior)

    def beliefs(self, ids: IntArray, since: FloatArray, fading: FloatArray, now: float) -> Moments:
        """Value and rate, each with its standard deviation; `fading` is one μ per id."""
        value, value_sd, rate, rate_sd = (np.empty(len(ids)) for _ in range(4))
        _reduce(
            ids,
            self.evidence,
            self.log_prior,
            self.tilt,
            self.changes,
            np.ascontiguousarray(fading),
            self.form,
            value,
            value_sd,
            rate,
            rate_sd,
        )
        return value, value_sd, rate, rate_sd

    def shared(self) -> dict[str, Any]:
        """What belongs to no single page, as plain numbers."""
        return {
            "span": [float(self.changes[0]), float(self.changes[-1])],
            "prior": self.log_prior.tolist(),
            "refits": [self.refits.observed, self.refits.due_at],
        }

    def load_shared(self, state: dict[str, Any]) -> None:
        """Go on from `shared`."""
        self.log_prior = np.array(state["prior"])
        self.refits.observed, self.refits.due_at = int(state["refits"][0]), float(state["refits"][1])

    def _paths(self, labels: Sequence[str]) -> PathPool:
        """The folders of the labels, made when first needed: sources added later belong to none."""
        if self.paths is None:
            self.paths = PathPool(labels)
        self.paths.grow(self.size - len(self.paths.folder))
        return self.paths
