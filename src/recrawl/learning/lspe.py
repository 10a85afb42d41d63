"""LSPE(0) with a soft-threshold actor: the learner of [allerton2019, §IV].

*Critic.* V(x) ≈ rᵀφ(x) with φ all monomials of degree 1 and 2 [§V]. After each transition x → x′ with reward g::

    η += b(n)(g − η)                     average reward
    B̄ += b(n)(φφᵀ − B̄),  B̄(0) = εI
    Ā += b(n)(φ(φ′ − φ)ᵀ − Ā)
    b̄ += b(n)(φ(g − η) − b̄)
    r += γ·B̄⁻¹(Ār + b̄)

*Actor* (9): q += a(n)·∇ log p(ν | x)·(V(x′) + what the action itself earned).

Transitions are counted from n = 1. The step of B̄ is 1/(n + 1) where the others are 1/n, so that εI counts as one
sample: as printed the first step erases it. B̄⁻¹(Ār + b̄) is computed in one of three ways:

* "plain": by solving with B̄;
* "sherman_morrison": P = B̄⁻¹ is carried along, P ← (P − bPφφᵀP/(1 − b + bφᵀPφ))/(1 − b). With b = 1/(n + 1) this is
  the printed update with (n + 1)/n, n in the denominator and B̄⁻¹(n − 1) on the right throughout;
* "tikhonov": (B̄ᵀB̄ + δI)⁻¹B̄ᵀ, which for a symmetric B̄ is the real part of (B̄ + i√δ·I)⁻¹. That form is solved: with
  worths in the hundreds B̄ᵀB̄ reaches 1e21 and a small δ would drown in its rounding.

*Reward.* "printed": g = Σ X_i as in (6), which no crawl ever increases. "collected": g = Σ ν_i X_i, the stated
objective; it depends on the action, so the policy gradient multiplies g + V(x′) and not V(x′) alone.

*Steps.* "paper": a(n) = c/⌈n/500⌉, b(n) = c/⌈n/1000⌉^{2/3}. "harmonic": b(n) = 1/n, a(n) = c/(n + 1).

A learner whose numbers stop being finite keeps its last finite ones, learns nothing more, and says when.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from recrawl.compiled_code import njit
from recrawl.kernels.soft_threshold import crawl_probabilities, log_gradient, thresholds
from recrawl.records import BoolArray, FloatArray, IntArray

PLAIN, SHERMAN_MORRISON, TIKHONOV = range(3)
PAPER_STEPS, HARMONIC_STEPS = range(2)


class Settings(NamedTuple):
    """What does not change during a run; worths are in the learner's unit.

    `sharpness` κ, `low` and `high` (the projection of T; infinite for none) are per source; `regularisation` is δ for
    the Tikhonov form; `collected` chooses the reading of the reward; the gains are γ of the critic and c of the steps.
    """

    sharpness: FloatArray
    low: FloatArray
    high: FloatArray
    critic_gain: float
    inverse: int
    regularisation: float
    collected: bool
    critic_steps: int
    critic_step_gain: float
    actor_steps: int
    actor_step_gain: float


class Learner(NamedTuple):
    """What is learnt, changed in place: q; r, η, B̄, B̄⁻¹, Ā, b̄; and the counts (transitions, when it broke or 0)."""

    threshold_parameters: FloatArray
    value_weights: FloatArray
    average_reward: FloatArray
    gram: FloatArray
    gram_inverse: FloatArray
    drift: FloatArray
    target: FloatArray
    counts: IntArray


def new_learner(initial_thresholds: FloatArray, epsilon: float) -> Learner:
    """A learner that has seen nothing: constant thresholds, V = 0 and B̄ = εI."""
    sources = len(initial_thresholds)
    size = feature_count(sources)
    parameters = np.zeros((sources, 3))
    parameters[:, 0] = initial_thresholds
    return Learner(
        parameters,
        np.zeros(size),
        np.zeros(1),
        epsilon * np.eye(size),
        np.eye(size) / epsilon,
        np.zeros((size, size)),
        np.zeros(size),
        np.zeros(2, dtype=np.int64),
    )


@njit(cache=True)
def feature_count(sources: int) -> int:
    """The number of monomials of degree 1 and 2."""
    return sources + sources * (sources + 1) // 2


@njit(cache=True)
def features(x: FloatArray) -> FloatArray:
    """φ(x) = (x₁ … x_N, x₁², x₁x₂, …, x_N²)."""
    n = len(x)
    out = np.empty(feature_count(n))
    at = n
    for i in range(n):
        out[i] = x[i]
        for j in range(i, n):
            out[at] = x[i] * x[j]
            at += 1
    return out


@njit(cache=True)
def actor_step(kind: int, gain: float, n: int) -> float:
    """a(n)."""
    return gain / (n + 1.0) if kind == HARMONIC_STEPS else gain / math.ceil(n / 500.0)


@njit(cache=True)
def critic_step(kind: int, gain: float, n: int) -> float:
    """b(n)."""
    return 1.0 / n if kind == HARMONIC_STEPS else gain / math.ceil(n / 1000.0) ** (2.0 / 3.0)


@njit(cache=True)
def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """A matrix times a vector; for a dozen features a loop is as fast as BLAS and compiles at once."""
    out = np.zeros(len(vector))
    for i in range(len(vector)):
        for j in range(len(vector)):
            out[i] += matrix[i, j] * vector[j]
    return out


@njit(cache=True)
def _dot(a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def sherman_morrison(inverse: FloatArray, phi: FloatArray, step: float) -> None:
    """Turn B⁻¹ into ((1 − b)B + bφφᵀ)⁻¹ in place."""
    column = _times(inverse, phi)
    scale = step / (1.0 - step + step * _dot(phi, column))
    for i in range(len(phi)):
        for j in range(len(phi)):
            inverse[i, j] = (inverse[i, j] - scale * column[i] * column[j]) / (1.0 - step)


@njit(cache=True)
def regularised_solve(gram: FloatArray, right: FloatArray, regularisation: float) -> FloatArray:
    """(BᵀB + δI)⁻¹Bᵀy for a symmetric B, as the real part of (B + i√δ·I)⁻¹y; with δ = 0 simply B⁻¹y, NaN if singular.

    By LDLᵀ without pivoting: B is positive semidefinite, so the parts of B + i√δ·I are too.
    """
    size = len(right)
    lower, out = np.empty((size, size), dtype=np.complex128), np.empty(size, dtype=np.complex128)
    for i in range(size):
        out[i] = right[i]
        for j in range(i + 1):
            lower[i, j] = gram[i, j]
        lower[i, i] += 1j * math.sqrt(regularisation)
    for k in range(size):
        if lower[k, k] == 0.0:
            return np.full(size, np.nan)
        for i in range(k + 1, size):
            factor = lower[i, k] / lower[k, k]
            out[i] -= factor * out[k]
            for j in range(i, size):
                lower[j, i] -= factor * lower[j, k]
    solution = np.empty(size)
    for i in range(size - 1, -1, -1):
        for j in range(i + 1, size):
            out[i] -= lower[j, i] * out[j]
        out[i] /= lower[i, i]
        solution[i] = out[i].real
    return solution


@njit(cache=True)
def improve_critic(learner: Learner, settings: Settings, phi: FloatArray, after: FloatArray, reward: float) -> None:
    """One step of LSPE(0); `learner.counts[0]` is already n."""
    n = learner.counts[0]
    step = critic_step(settings.critic_steps, settings.critic_step_gain, n)
    gram_step = 1.0 / (n + 1.0) if settings.critic_steps == HARMONIC_STEPS else step
    surplus = reward - learner.average_reward[0]
    learner.average_reward[0] += step * surplus
    gram, drift, target = learner.gram, learner.drift, learner.target
    for i in range(len(phi)):
        target[i] += step * (phi[i] * surplus - target[i])
        for j in range(len(phi)):
            gram[i, j] += gram_step * (phi[i] * phi[j] - gram[i, j])
            drift[i, j] += step * (phi[i] * (after[j] - phi[j]) - drift[i, j])
    right = _times(drift, learner.value_weights)
    for i in range(len(phi)):
        right[i] += target[i]
    if settings.inverse == SHERMAN_MORRISON:
        sherman_morrison(learner.gram_inverse, phi, gram_step)
        move = _times(learner.gram_inverse, right)
    else:
        move = regularised_solve(gram, right, settings.regularisation if settings.inverse == TIKHONOV else 0.0)
    for i in range(len(phi)):
        learner.value_weights[i] += settings.critic_gain * move[i]


@njit(cache=True)
def improve_actor(
    learner: Learner, settings: Settings, x: FloatArray, crawled: BoolArray, decided: BoolArray, earned: float
) -> None:
    """One step of (9) along (8); `earned` is what the action and the state after it are worth."""
    parameters = learner.threshold_parameters
    threshold = thresholds(parameters, x, settings.low, settings.high)
    probability = crawl_probabilities(x, threshold, settings.sharpness)
    gradient = log_gradient(x, crawled, decided, probability, settings.sharpness)
    step = actor_step(settings.actor_steps, settings.actor_step_gain, learner.counts[0])
    for i in range(len(x)):
        for j in range(3):
            parameters[i, j] += step * earned * gradient[i, j]


@njit(cache=True)
def _all_finite(values: FloatArray) -> bool:
    finite = True
    for value in values.flat:
        finite = finite and math.isfinite(value)
    return finite


@njit(cache=True)
def _put_back(values: FloatArray, old: FloatArray) -> None:
    for i in range(values.size):
        values.flat[i] = old.flat[i]


@njit(cache=True)
def learn_transition(
    learner: Learner, settings: Settings, x: FloatArray, crawled: BoolArray, decided: BoolArray, after: FloatArray
) -> None:
    """Learn from one slot: the state, what was crawled, for whom that was a decision, and the next state."""
    if learner.counts[1] > 0:
        return
    learner.counts[0] += 1
    collected, total = 0.0, 0.0
    for i in range(len(x)):
        total += x[i]
        if crawled[i]:
            collected += x[i]
    parameters, weights = learner.threshold_parameters, learner.value_weights
    old_parameters, old_weights = parameters.copy(), weights.copy()
    phi, phi_after = features(x), features(after)
    action = collected if settings.collected else 0.0
    improve_actor(learner, settings, x, crawled, decided, _dot(weights, phi_after) + action)
    improve_critic(learner, settings, phi, phi_after, collected if settings.collected else total)
    if not (_all_finite(parameters) and _all_finite(weights)):
        _put_back(parameters, old_parameters)
        _put_back(weights, old_weights)
        learner.counts[1] = learner.counts[0]
