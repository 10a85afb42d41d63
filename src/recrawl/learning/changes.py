"""Change rates from "changed / unchanged since the last visit", after gaps of any length.

A visit after a gap τ sees a change with probability 1 − e^{−Δτ} however many changes there were. The posterior of Δ is
kept on a grid of rates, so it stays proper when every visit saw a change, and needs no assumption on when visits
happen. Optionally evidence fades: after a gap of one `memory` half of what was known is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.likelihood import add_change_evidence
from recrawl.kernels.mixture_index import Numbers, condense
from recrawl.kernels.worth import remaining
from recrawl.learning.columns import Column, Columns
from recrawl.learning.paths import Folders
from recrawl.learning.rates import Refits, fit_prior, grid_quantile, normalised, pooled, rate_grid
from recrawl.records import BoolArray, FloatArray, IntArray

FADING, CHANGES, FRESHNESS, DISCOVERY = range(4)
Heard = Callable[[], tuple[IntArray, npt.NDArray[np.float32]]]
"""Which rows other evidence is had of, and that evidence."""


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
            evidence[i] *= np.float32(remaining(gaps[k], memory))
        add_change_evidence(evidence[i], rates, gaps[k], changed[k])


@njit(cache=True)
def _forms(rates: FloatArray, fading: float, hidden: float, form: int, worth: FloatArray, ripening: FloatArray) -> None:
    """What a crawl is worth once ripe, and how fast it ripens, at every change rate.

    At change rate Δ, of which the share h is hidden, and decay μ these are, by `form`: fading news hΔ/(hΔ + μ) at
    hΔ + μ; changes 1 at hΔ; discovery hΔ at 0; freshness 1/Δ at Δ, whose plan knows of h itself.
    """
    for g in range(len(rates)):
        unseen = hidden * rates[g]
        worth[g], ripening[g] = 1.0, unseen
        if form == FADING:
            ripening[g] = unseen + fading
            worth[g] = unseen / ripening[g]
        elif form == FRESHNESS:
            worth[g], ripening[g] = 1.0 / rates[g], rates[g]
        elif form == DISCOVERY:
            worth[g], ripening[g] = unseen, 0.0


@njit(cache=True)
def condense_rows(
    rows: IntArray,
    evidence: npt.NDArray[np.float32],
    log_prior: FloatArray,
    tilt: npt.NDArray[np.float32],
    rates: FloatArray,
    fading: FloatArray,
    form: int,
    mass: Numbers,
    value: Numbers,
    rate: Numbers,
) -> None:
    """Condense the posteriors of some sources, of whose changes nobody tells, into atoms of worth and ripening."""
    row, worth, ripening = np.empty(len(rates)), np.empty(len(rates)), np.empty(len(rates))
    for k in range(len(rows)):
        i = rows[k]
        for g in range(len(rates)):
            row[g] = evidence[i, g] + log_prior[g] + tilt[i] * g
        _forms(rates, fading[i], 1.0, form, worth, ripening)
        condense(row, worth, ripening, mass[i], value[i], rate[i])


@njit(cache=True)
def condense_shares(
    rows: IntArray,
    shares: FloatArray,
    rates: FloatArray,
    fading: FloatArray,
    hidden: FloatArray,
    form: int,
    mass: Numbers,
    value: Numbers,
    rate: Numbers,
) -> None:
    """Condense probabilities over the rates of some sources, a line each; of their changes the share `hidden` is."""
    row, worth, ripening = np.empty(len(rates)), np.empty(len(rates)), np.empty(len(rates))
    for k in range(len(rows)):
        i = rows[k]
        for g in range(len(rates)):
            row[g] = math.log(max(shares[k, g], 1e-300))
        _forms(rates, fading[i], hidden[i], form, worth, ripening)
        condense(row, worth, ripening, mass[i], value[i], rate[i])


class ChangeBeliefs(Columns):
    """Posteriors of the change rates of a catalogue.

    Parameters
        size: number of sources
        span: slowest and fastest change rate told apart, per time unit
        memory: half-life of evidence, in time units; None for never forgetting
        labels: paths or URLs of the first sources, along which priors are pooled; more come by `label`

    >>> beliefs = ChangeBeliefs(1, span=(0.01, 10.0))
    >>> for _ in range(200):
    ...     _ = beliefs.learn(np.array([0]), gaps=np.array([1.0]), changed=np.array([True]))
    >>> bool(np.isfinite(beliefs.mean(np.array([0]))[0]))
    True
    """

    evidence: npt.NDArray[np.float32]
    visits: npt.NDArray[np.int32]
    tilt: npt.NDArray[np.float32]
    fastest: FloatArray
    """By which grid the evidence of each is written: that of now, but for rows just loaded."""
    folder: npt.NDArray[np.int32]
    counted: BoolArray
    """Which rows the law is fitted to: not those of sources that are gone."""

    def __init__(
        self,
        size: int,
        span: tuple[float, float],
        memory: float | None = None,
        labels: Sequence[str] = (),
    ) -> None:
        self.rates = rate_grid(span)
        columns = {
            "visits": Column(np.int32, 0),
            "evidence": Column(np.float32, 0.0, len(self.rates)),
            "tilt": Column(np.float32, 0.0),
            "fastest": Column(np.float64, self.rates[-1], alike=True),
            "folder": Column(np.int32, 0, kept=False),
            "counted": Column(np.bool_, True, kept=False),
        }
        super().__init__(size, columns)
        self.memory = math.inf if memory is None else float(memory)
        self.log_prior: FloatArray = np.full(len(self.rates), -math.log(len(self.rates)))
        self.folders = Folders()
        self.refits = Refits()
        self.others: FloatArray = np.zeros(len(self.rates))
        """What other shards of a fleet count of the sources at each rate."""
        self.label(np.arange(len(labels)), labels)

    def label(self, rows: IntArray, labels: Sequence[str]) -> None:
        """Where some sources live."""
        if len(labels):
            self.folder[rows] = [self.folders.of(label) for label in labels]

    def learn(self, rows: IntArray, gaps: FloatArray, changed: BoolArray, heard: Heard | None = None) -> bool:
        """Visits after gaps > 0; True if the prior was fitted anew, which changes what is believed of every source.

        `heard` gives the evidence of pages whose lists are believed, which then counts in its place.
        """
        learn_changes(rows, gaps, changed, self.evidence, self.rates, self.memory)
        self.visits[rows] += 1
        if not self.refits.due(len(rows), self.size):
            return False
        self.refit(None if heard is None else heard())
        return True

    def refit(self, heard: tuple[IntArray, npt.NDArray[np.float32]] | None = None) -> None:
        """Fit the law of change rates to the pages seen, and tilt it along their paths."""
        evidence = self.evidence[: self.size]
        if heard is not None and len(heard[0]):
            evidence = evidence.copy()
            evidence[heard[0]] = heard[1]
        self.log_prior = fit_prior(evidence[self._seen()], self.log_prior, self.others)
        if len(self.folders) > 1:
            self.tilt[: self.size] = self.folders.tilts(evidence, self.log_prior, self.folder[: self.size])

    def summary(self) -> FloatArray:
        """How many of the sources seen are believed to be at each rate."""
        return pooled(self.evidence[self._seen()], self.log_prior)

    def _seen(self) -> IntArray:
        return np.flatnonzero((self.visits[: self.size] > 0) & self.counted[: self.size])

    def posterior(self, rows: IntArray) -> FloatArray:
        """Probabilities over `rates`, one line per row."""
        tilt = self.tilt[rows][:, None] * np.arange(len(self.rates))
        return normalised(self.evidence[rows] + self.log_prior + tilt)

    def mean(self, rows: IntArray) -> FloatArray:
        """Posterior mean of the change rate."""
        return self.posterior(rows) @ self.rates

    def sd(self, rows: IntArray) -> FloatArray:
        """Posterior standard deviation of the change rate."""
        shares = self.posterior(rows)
        return np.sqrt(np.maximum(shares @ self.rates**2 - (shares @ self.rates) ** 2, 0.0))

    def interval(self, rows: IntArray, coverage: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """The central posterior interval of each change rate."""
        shares, tail = self.posterior(rows), 0.5 * (1.0 - coverage)
        return grid_quantile(shares, self.rates, tail), grid_quantile(shares, self.rates, 1.0 - tail)
