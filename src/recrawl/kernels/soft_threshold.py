"""The soft threshold of [allerton2019, §III]: crawl with a probability that rises through the threshold.

The step function I{x_i ≥ T_i} is replaced by::

    f_i = 1/(1 + exp(−κ_i(x_i − T_i − ½))),   T_i = q₀ⁱ + q₁ⁱS_i + q₂ⁱS_i²,   S_i = Σ_{k≠i} x_k

with T_i kept in [u_i, u_i*], the only worths a source can have [§V; the paper prints q₁ twice where q₂ is meant].
The gradient of the log-probability of what happened, ν_i = 1 for a crawl, is::

    ∂ log p(ν | x)/∂q_jⁱ = κ_i(f_i − ν_i)ψ_j(x_{−i}),   ψ = (1, S_i, S_i²)

which is (8) with its fractions cancelled and the sum over the other sources, whose probabilities do not depend on qⁱ,
left out. In this form nothing is divided by a probability that may be 0. The projection is not differentiated: inside
the interval it changes nothing, and outside its derivative would be 0 and the threshold would stay there for good.

Symbols: x worth in the learner's unit, T threshold, q threshold parameters, ψ threshold features, κ sharpness, f crawl
probability, ν crawled or not.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.compiled_code import njit
from recrawl.records import BoolArray, FloatArray

OFFSET = 0.5


@njit(cache=True)
def logistic(z: float) -> float:
    """1/(1 + e^{−z}), without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    grown = math.exp(z)
    return grown / (1.0 + grown)


@njit(cache=True)
def projected(threshold: float, low: float, high: float) -> float:
    """The threshold kept in [low, high]; `low` where it is not a number."""
    if not threshold > low:
        return low
    return min(threshold, high)


@njit(cache=True)
def thresholds(q: FloatArray, x: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """T_i of every source."""
    total = x.sum()
    out = np.empty(len(x))
    for i in range(len(x)):
        others = total - x[i]
        out[i] = projected(q[i, 0] + others * (q[i, 1] + others * q[i, 2]), low[i], high[i])
    return out


@njit(cache=True)
def crawl_probabilities(x: FloatArray, threshold: FloatArray, sharpness: FloatArray) -> FloatArray:
    """f_i of every source."""
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = logistic(sharpness[i] * (x[i] - threshold[i] - OFFSET))
    return out


@njit(cache=True)
def log_gradient(
    x: FloatArray, crawled: BoolArray, decided: BoolArray, probability: FloatArray, sharpness: FloatArray
) -> FloatArray:
    """(8): one row (∂q₀, ∂q₁, ∂q₂) per source; 0 for sources about which there was nothing to decide."""
    total = x.sum()
    out = np.zeros((len(x), 3))
    for i in range(len(x)):
        if decided[i]:
            others = total - x[i]
            score = sharpness[i] * (probability[i] - (1.0 if crawled[i] else 0.0))
            out[i, 0], out[i, 1], out[i, 2] = score, score * others, score * others * others
    return out
