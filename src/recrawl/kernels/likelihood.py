"""Likelihoods of what crawls reveal, and the priors fitted to a whole catalogue.

*Changes.* A page that changes by a Poisson process at rate Δ shows a change after a gap τ with probability
1 − e^{−Δτ}: the visit says only that at least one change happened (the count is censored). The log-likelihood::

    ℓ(Δ) = Σ_changed log(1 − e^{−Δτ}) − Δ·Σ_unchanged τ

is concave in Δ, with the maximum where Σ_changed τ/(e^{Δτ} − 1) = Σ_unchanged τ. When every visit
saw a change it has no maximum, so the estimator adds one changed and one unchanged pseudo-interval of mean length.

*Worth.* A crawl after a gap τ collects on average u·f(τ), f(τ) = (1 − e^{−rτ})/r, with inflow u and decay r. Taking its
variance as φ times its mean (φ is the worth of one item where items arrive by a Poisson process), y/φ is treated as a
Poisson count. With a Gamma(a, b) prior on u the posterior given r is Gamma(a + Σy/φ, b + Σf/φ), which leaves
for r::

    log p(r | data) = Σ (y/φ)·log f_r(τ) − (a + Σy/φ)·log(b + Σf_r(τ)/φ) + log p(r)

*Arrivals.* Counts n over exposures e have marginals that are negative binomial when rates are Gamma(a, b) over the
catalogue; (a, b) is fitted by expectation–maximisation.

Symbols: Δ change rate, τ gap, u inflow, r decay rate, φ dispersion, a shape, b rate of a Gamma law; rates are per
time unit.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.digamma import digamma, trigamma
from recrawl.records import FloatArray

SMALLEST_SHAPE, LARGEST_SHAPE = 0.02, 200.0


@njit(cache=True)
def log_change_seen(rate: float, gap: float) -> float:
    """log(1 − e^{−Δτ}), the log-probability that a visit after `gap` sees a change."""
    s = rate * gap
    if s < 1e-8:
        return math.log(max(s, 1e-300))
    return math.log(-math.expm1(-s)) if s < 36.0 else 0.0


@njit(cache=True)
def filled(rate: float, gap: float) -> float:
    """f(τ) = (1 − e^{−rτ})/r, the age-weighted length of a gap: τ where nothing fades, 1/r where all does."""
    s = rate * gap
    return gap * (1.0 - 0.5 * s) if s < 1e-8 else -math.expm1(-s) / rate


@njit(cache=True)
def add_change_evidence(evidence: npt.NDArray[np.float32], rates: FloatArray, gap: float, changed: bool) -> None:
    """Add one visit to the log-likelihood over a grid of rates, in place, keeping its maximum at 0."""
    top = -math.inf
    for g in range(len(rates)):
        step = log_change_seen(rates[g], gap) if changed else -rates[g] * gap
        evidence[g] += step
        top = max(top, evidence[g])
    for g in range(len(rates)):
        evidence[g] -= top


@njit(cache=True)
def _score(rate: float, gaps: FloatArray, changed: npt.NDArray[np.bool_], mean_gap: float) -> float:
    """The derivative of the smoothed log-likelihood."""
    total = mean_gap / math.expm1(min(rate * mean_gap, 700.0)) - mean_gap
    for k in range(len(gaps)):
        if changed[k]:
            total += gaps[k] / math.expm1(min(rate * gaps[k], 700.0))
        else:
            total -= gaps[k]
    return total


@njit(cache=True)
def smoothed_change_rate(gaps: FloatArray, changed: npt.NDArray[np.bool_]) -> float:
    """The maximum-likelihood change rate with one changed and one unchanged pseudo-interval of mean length.

    `gaps` are positive and at least one. Solved by bisection in the logarithm of the rate: the score is monotone, so
    the bracket always holds the root.
    """
    mean_gap = gaps.mean()
    low, high = math.log(1e-12 / mean_gap), math.log(700.0 / gaps.min())
    for _ in range(80):
        middle = 0.5 * (low + high)
        if _score(math.exp(middle), gaps, changed, mean_gap) > 0.0:
            low = middle
        else:
            high = middle
        if high - low < 1e-13:
            break
    return math.exp(0.5 * (low + high))


@njit(cache=True)
def inflow_posterior(
    fit: FloatArray,
    exposure: FloatArray,
    collected: float,
    dispersion: float,
    shape: float,
    scale_rate: float,
    log_prior: FloatArray,
    log_posterior: FloatArray,
    inflow: FloatArray,
) -> float:
    """Fill log p(r | data) up to a constant and E[u | r, data] over a grid of rates; the Gamma shape of u given r.

    `fit` is Σ y·log f_r(τ), `exposure` Σ f_r(τ), `collected` Σ y; `shape` and `scale_rate` are the prior's a and b.
    """
    count = shape + collected / dispersion
    for g in range(len(log_prior)):
        mass = scale_rate + exposure[g] / dispersion
        log_posterior[g] = fit[g] / dispersion - count * math.log(mass) + log_prior[g]
        inflow[g] = count / mass
    return count


def _shape_of(gap: float, shape: float) -> float:
    """The Gamma shape a with log a − ψ(a) = gap, by Newton steps in log a."""
    for _ in range(30):
        step = (math.log(shape) - digamma(shape) - gap) / (1.0 - shape * trigamma(shape))
        shape = min(max(shape * math.exp(-max(min(step, 1.0), -1.0)), SMALLEST_SHAPE), LARGEST_SHAPE)
        if abs(step) < 1e-10:
            break
    return shape


def gamma_prior(
    counts: FloatArray,
    exposure: FloatArray,
    start: tuple[float, float],
    rounds: int = 30,
    weight: FloatArray | None = None,
) -> tuple[float, float]:
    """Shape a and rate b of the Gamma law of arrival rates that best explains counts over exposures (> 0).

    `weight` says for how many sources each pair stands, by default for one.

    A few rounds of expectation–maximisation from `start`; call again with the result to go on. One pseudo-source of
    the mean rate keeps a catalogue of silent sources from a prior of rate 0.
    """
    shape, rate = start
    each = np.ones(len(counts)) if weight is None else weight
    sources = each.sum() + 1.0
    pooled = (each @ counts + 0.5) / (each @ exposure)
    for _ in range(rounds):
        mean = (shape + counts) / (rate + exposure)
        log_mean = digamma(shape + counts) - np.log(rate + exposure)
        average = (each @ mean + pooled) / sources
        average_log = (each @ log_mean + math.log(pooled) - 1.0) / sources
        before = shape
        shape = _shape_of(max(math.log(average) - average_log, 1e-6), shape)
        rate = shape / average
        if abs(shape - before) < 1e-4 * shape:
            break
    return shape, rate
