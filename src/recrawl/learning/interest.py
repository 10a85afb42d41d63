"""What an item is worth when new, and how fast that fades, from amounts of interest seen at known ages.

Two kinds of observation have one form, an amount y whose mean is u·f_r:

=========================================  ==============================
worth collected after a gap τ              f_r = (1 − e^{−rτ})/r
interest of items seen at ages a           f_r = Σ e^{−ra}
=========================================  ==============================

with u the inflow (interest per time, or the initial interest of an item) and r the decay. r is kept on a grid, u given
r in closed form (:mod:`recrawl.kernels.likelihood`). The dispersion φ, variance over mean, is learned per source from
how far amounts fall from what was predicted.

When visits to a source always come at the same age, they fix u·f_r but not r; r is then what it is for other sources
(the fitted prior), and the spread of the posterior says so.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.likelihood import filled, inflow_posterior
from recrawl.kernels.mixture_index import Numbers, condense
from recrawl.kernels.worth import remaining
from recrawl.learning.columns import Column, Columns
from recrawl.learning.rates import ATOMS, Refits, fit_prior, rate_grid
from recrawl.records import FloatArray, IntArray

INFLOW_SHAPE = 0.5
"""Shape of the Gamma law of inflows over a catalogue: broad, a standard deviation of 1.4 means."""
LEAST_DISPERSION = 1e-4
"""Smallest dispersion, as a share of the mean amount: at least 1 % of noise per visit is always allowed for."""
DISPERSION_GAIN = 3.0
"""Later surprises count more for the dispersion: its first guess, one whole amount, is gone as 1/visits³."""
LARGEST_SURPRISE = 9.0


@njit(cache=True)
def fill_gap(rates: FloatArray, gap: float, out: FloatArray) -> None:
    """f over the grid for an amount gathered over a gap."""
    for g in range(len(rates)):
        out[g] = filled(rates[g], gap)


@njit(cache=True)
def fill_ages(rates: FloatArray, ages: FloatArray, out: FloatArray) -> None:
    """f over the grid for the interest of items seen at some ages."""
    for g in range(len(rates)):
        total = 0.0
        for age in ages:
            total += math.exp(-rates[g] * age)
        out[g] = max(total, 1e-300)


@njit(cache=True)
def _dispersion_step(
    log_posterior: FloatArray, inflow: FloatArray, weight: FloatArray, shape: float, amount: float, dispersion: float
) -> float:
    """How the squared surprise of an amount compares with its predicted variance."""
    top, total, mean, square = log_posterior.max(), 0.0, 0.0, 0.0
    for g in range(len(inflow)):
        share = math.exp(log_posterior[g] - top)
        expected = inflow[g] * weight[g]
        total += share
        mean += share * expected
        square += share * expected * expected * (1.0 + 1.0 / shape)
    mean /= total
    variance = dispersion * mean + square / total - mean * mean
    return min((amount - mean) ** 2 / max(variance, 1e-300), LARGEST_SURPRISE)


class Evidence(NamedTuple):
    """One row per source: what amounts say of each decay and their exposure, and N, φ and visits of all of them."""

    fit: FloatArray
    exposure: FloatArray
    collected: FloatArray
    dispersion: FloatArray
    seen: FloatArray


@njit(cache=True)
def _absorb(
    i: int,
    weight: FloatArray,
    amount: float,
    sources: Evidence,
    inflow_rate: float,
    log_prior: FloatArray,
    keep: float,
) -> None:
    """Take in one amount of source i: first how surprising it was, then what it says."""
    fit, exposure, collected, dispersion, seen = sources
    row, inflow = np.empty(len(log_prior)), np.empty(len(log_prior))
    if amount > 0.0 and collected[i] == 0.0:
        dispersion[i] = amount
    if seen[i] > 0.0:
        shape = inflow_posterior(
            fit[i], exposure[i], collected[i], dispersion[i], INFLOW_SHAPE, inflow_rate, log_prior, row, inflow
        )
        surprise = _dispersion_step(row, inflow, weight, shape, amount, dispersion[i])
        dispersion[i] *= 1.0 + (surprise - 1.0) * DISPERSION_GAIN / (seen[i] + DISPERSION_GAIN + 1.0)
    seen[i] = keep * seen[i] + 1.0
    collected[i] = keep * collected[i] + amount
    dispersion[i] = max(dispersion[i], LEAST_DISPERSION * collected[i] / seen[i])
    for g in range(len(log_prior)):
        fit[i, g] = keep * fit[i, g] + amount * math.log(weight[g])
        exposure[i, g] = keep * exposure[i, g] + weight[g]


@njit(cache=True)
def _absorb_gaps(
    ids: IntArray,
    gaps: FloatArray,
    amounts: FloatArray,
    memory: FloatArray,
    rates: FloatArray,
    sources: Evidence,
    inflow_rate: float,
    log_prior: FloatArray,
) -> None:
    """Take in amounts gathered over gaps."""
    weight = np.empty(len(rates))
    for k in range(len(ids)):
        fill_gap(rates, gaps[k], weight)
        _absorb(ids[k], weight, amounts[k], sources, inflow_rate, log_prior, memory[k])


@njit(cache=True)
def _condense(
    ids: IntArray,
    rates: FloatArray,
    sources: Evidence,
    inflow_rate: float,
    log_prior: FloatArray,
    mass: Numbers,
    value: Numbers,
    rate: Numbers,
    spread: Numbers,
) -> None:
    fit, exposure, collected, dispersion, _ = sources
    row, inflow = np.empty(len(log_prior)), np.empty(len(log_prior))
    for k in range(len(ids)):
        i = ids[k]
        shape = inflow_posterior(
            fit[i], exposure[i], collected[i], dispersion[i], INFLOW_SHAPE, inflow_rate, log_prior, row, inflow
        )
        condense(row, inflow / rates, rates, mass[i], value[i], rate[i])
        spread[i] = 1.0 / math.sqrt(shape)


@njit(cache=True)
def _evidence(
    ids: IntArray, sources: Evidence, inflow_rate: float, points: int
) -> tuple[npt.NDArray[np.float32], FloatArray]:
    """Log-likelihood of every rate for some sources, up to a constant each, and their inflow at the likeliest rate."""
    fit, exposure, collected, dispersion, _ = sources
    out = np.empty((len(ids), points), dtype=np.float32)
    likely = np.empty(len(ids))
    row, inflow, flat = np.empty(points), np.empty(points), np.zeros(points)
    for k in range(len(ids)):
        i = ids[k]
        inflow_posterior(fit[i], exposure[i], collected[i], dispersion[i], INFLOW_SHAPE, inflow_rate, flat, row, inflow)
        likely[k] = inflow[np.argmax(row)]
        out[k] = row - row.max()
    return out, likely


class FadingInterest(Columns):
    """Posteriors of inflow u and decay r of a catalogue.

    Parameters
        size: number of sources
        span: slowest and fastest decay told apart, per time unit; both the same where the decay is known
        memory: half-life of evidence, in time units; None for never forgetting
    """

    fit: FloatArray
    exposure: FloatArray
    collected: FloatArray
    dispersion: FloatArray
    seen: FloatArray

    def __init__(self, size: int, span: tuple[float, float], memory: float | None = None) -> None:
        self.rates = rate_grid(span)
        self.memory = math.inf if memory is None else float(memory)
        points = len(self.rates)
        columns = {
            "fit": Column(np.float64, 0.0, points),
            "exposure": Column(np.float64, 0.0, points),
            "collected": Column(np.float64, 0.0),
            "dispersion": Column(np.float64, 1.0),
            "seen": Column(np.float64, 0.0),
        }
        self.log_prior: FloatArray = np.full(points, -math.log(points))
        self.mean_inflow = 0.0
        self.refits = Refits()
        super().__init__(size, columns)

    def grow(self, count: int) -> None:
        """Room for new sources, about which only the prior is known."""
        usual = self._typical_dispersion() if self.size else 1.0
        super().grow(count)
        self.dispersion[self.size - count : self.size] = usual

    def clear(self, rows: IntArray) -> None:
        """Rows for other sources, about which only the prior is known."""
        super().clear(rows)
        self.dispersion[rows] = self._typical_dispersion() if self.size else 1.0

    def collect(self, ids: IntArray, gaps: FloatArray, worth: FloatArray) -> bool:
        """Worth collected after gaps > 0; True if the prior was fitted anew."""
        if self.mean_inflow == 0.0 and len(ids):
            self.scale(float(worth.sum() / gaps.sum()))
        law = self._inflow_rate(), self.log_prior
        _absorb_gaps(ids, gaps, worth, remaining(gaps, self.memory), self.rates, self._evidence(), *law)
        return self._count(len(ids))

    def appraise(self, i: int, ages: FloatArray, amount: float, gap: float) -> bool:
        """The interest, together, of some items of one source seen at these ages; True if the prior was fitted anew."""
        weight = np.empty(len(self.rates))
        fill_ages(self.rates, ages, weight)
        self._absorb(i, weight, amount, gap)
        return self._count(1)

    def scale(self, per_weight: float) -> None:
        """A first guess of the mean inflow of the catalogue, used until a source has been seen twice."""
        if self.mean_inflow == 0.0 and per_weight > 0.0:
            self.mean_inflow = per_weight
            self.dispersion[self.collected == 0.0] = per_weight

    def condense(self, ids: IntArray, mass: Numbers, value: Numbers, rate: Numbers, spread: Numbers) -> None:
        """Write the atoms of some sources, value being u/r."""
        law = self._inflow_rate(), self.log_prior
        _condense(ids, self.rates, self._evidence(), *law, mass, value, rate, spread)

    def estimate(self, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Posterior means of inflow u and decay r."""
        mass, value, rate = (np.zeros((self.size, ATOMS), np.float32) for _ in range(3))
        self.condense(ids, mass, value, rate, np.zeros(self.size, np.float32))
        return (mass * value * rate)[ids].sum(axis=1), (mass * rate)[ids].sum(axis=1)

    def _absorb(self, i: int, weight: FloatArray, amount: float, gap: float) -> None:
        self.scale(amount / float(weight.max()))
        law = self._inflow_rate(), self.log_prior
        _absorb(i, weight, amount, self._evidence(), *law, remaining(gap, self.memory))

    def _evidence(self) -> Evidence:
        return Evidence(self.fit, self.exposure, self.collected, self.dispersion, self.seen)

    def _inflow_rate(self) -> float:
        return INFLOW_SHAPE / self.mean_inflow if self.mean_inflow > 0.0 else INFLOW_SHAPE

    def _typical_dispersion(self) -> float:
        known = self.dispersion[: self.size][self.collected[: self.size] > 0.0]
        return float(np.median(known)) if len(known) else max(self.mean_inflow, 1e-300)

    def _count(self, observations: int) -> bool:
        if not self.refits.due(observations, self.size):
            return False
        ids = np.flatnonzero(self.seen[: self.size] > 0.0)
        evidence, likely = _evidence(ids, self._evidence(), self._inflow_rate(), len(self.rates))
        self.log_prior = fit_prior(evidence, self.log_prior)
        if len(likely) and likely.mean() > 0.0:
            self.mean_inflow = float(likely.mean())
        self.dispersion[self.collected == 0.0] = self._typical_dispersion()
        return True
