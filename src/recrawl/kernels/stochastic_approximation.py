"""The stochastic index learnt one draw at a time, the two ways of [tcns2018, §VIII].

For a threshold a and a trial index γ, the value function of crawling exactly at and above a solves (28)–(30)::

    V(x) = Cγ − β + ∫V(αx + u)φ(du)  (x < a),   V(x) = x − β  (x ≥ a),   ∫V dφ = 0

*Stochastic approximation (32)* solves this on a grid and moves γ towards indifference in a, by a draw Ũ of the inflow
at a time::

    γ ← γ − a(n)(Cγ + V(γ, αa + Ũ) − a)

V is affine in γ, so one solve with two right-hand sides serves all steps.

*Two time scales (33)–(35)* improve V along with γ, by one sweep of relative value iteration per draw. Three departures
from the printed equations: V(u) is ∫V dφ in (30), (33) and (34), the reset of a random source; (35) is V(x) = x, since
both its terms ∫V dφ cancel; and (34) moves V only half the way, since with an inflow that is nearly constant the
chain is periodic and undamped iteration never settles.

Steps are a(n) = K(n + 1)^{−0.7}/C, and the estimate is the mean of the later half of the iterates (Polyak and Ruppert).
The gain K offsets that indifference in a answers to γ only by the factor (1 + H₁)/(1 + H₀), expected slots to the
threshold from a crawl at a and from anywhere: (32) knows both from its solve, (33) takes the number of slots in which a
constant inflow of the same mean would reach a.

Symbols: as in :mod:`~recrawl.kernels.inflow_chain`; β average reward, γ index, a threshold, C cost.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.compiled_code import njit
from recrawl.kernels.inflow_chain import InflowLaw, grid, transitions
from recrawl.records import FloatArray

NODES = 100
STEP_EXPONENT = 0.7
DAMPING = 0.5
LONGEST_GAIN = 50.0


@njit(cache=True)
def _value_at(x: float, nodes: FloatArray, passive: FloatArray, shift: float) -> float:
    """V at x: interpolated over the nodes, whose last one is the threshold, and x + shift from there on."""
    last = len(nodes) - 1
    if x >= nodes[last]:
        return x + shift
    k = np.searchsorted(nodes, x, side="right") - 1
    share = (x - nodes[k]) / (nodes[k + 1] - nodes[k])
    upper = passive[k + 1] if k + 1 < last else nodes[last] + shift
    return float(passive[k] + share * (upper - passive[k]))


@njit(cache=True)
def _learn(
    draws: FloatArray,
    nodes: FloatArray,
    wait: FloatArray,
    worth: FloatArray,
    wait_reset: float,
    worth_reset: float,
    kept: float,
    cost: float,
    gain: float,
) -> float:
    """(32): V = (Cγ − β)H + R − β with the β that makes ∫V dφ = 0."""
    threshold = nodes[-1]
    index = threshold / cost
    total = 0.0
    half = len(draws) // 2
    for n in range(len(draws)):
        x = kept + draws[n]
        slots = _value_at(x, nodes, wait, -x)
        reached = _value_at(x, nodes, worth, 0.0)
        average = (cost * index * wait_reset + worth_reset) / (1.0 + wait_reset)
        value = (cost * index - average) * slots + reached - average
        index -= gain * (n + 1.0) ** -STEP_EXPONENT / cost * (cost * index + value - threshold)
        if n >= half:
            total += index
    return total / (len(draws) - half)


@njit(cache=True)
def _learn_both(
    draws: FloatArray,
    nodes: FloatArray,
    chain: FloatArray,
    overshoot: FloatArray,
    kept: float,
    cost: float,
    gain: float,
) -> float:
    """(33)–(35): `chain` over the passive nodes, `overshoot` the expected worth where a step reaches the threshold."""
    threshold = nodes[-1]
    index = threshold / cost
    value = nodes[:-1].copy()
    total = 0.0
    half = len(draws) // 2
    for n in range(len(draws)):
        sweep = chain @ value + overshoot
        reset = sweep[0]  # node 0 keeps nothing: its step is the inflow itself
        ahead = _value_at(kept + draws[n], nodes, value, 0.0)
        value += DAMPING * (cost * index - reset + sweep - value)
        index -= gain * (n + 1.0) ** -STEP_EXPONENT / cost * (cost * index + ahead - reset - threshold)
        if n >= half:
            total += index
    return total / (len(draws) - half)


def _draws(law: InflowLaw, steps: int, seed: int) -> FloatArray:
    drawn: FloatArray = np.random.default_rng(seed).choice(law.points, size=steps, p=law.weights)
    return drawn


def _chain_below(law: InflowLaw, nodes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The chain over the nodes below the threshold, the worth its steps bring there, and the step from the threshold.

    The worth is an expectation: what a step is worth in all, less what it is worth where it stays below.
    """
    matrix = transitions(law, nodes)[:, :-1]
    chain = np.ascontiguousarray(matrix[:-1])
    reached = law.decay_factor * nodes[:-1] + law.mean - chain @ nodes[:-1]
    return chain, reached, matrix[-1]


def _slots_to(law: InflowLaw, threshold: float) -> float:
    """Slots in which the mean inflow alone reaches the threshold, at most LONGEST_GAIN."""
    if law.decay_factor == 0.0:
        return 1.0
    left = 1.0 - threshold / law.ceiling
    if left <= law.decay_factor**LONGEST_GAIN:
        return LONGEST_GAIN
    return max(1.0, math.log(left) / math.log(law.decay_factor))


def approximated_index(
    law: InflowLaw, threshold: float, cost: float = 1.0, *, steps: int = 20_000, seed: int = 0, nodes: int = NODES
) -> float:
    """γ at one threshold by the stochastic approximation (32)."""
    if threshold == 0.0 or threshold >= law.reachable:
        return threshold / cost
    worths = grid(law, threshold, nodes)
    chain, reached, from_threshold = _chain_below(law, worths)
    rest = np.eye(len(chain)) - chain
    wait, worth = np.linalg.solve(rest, np.stack([np.ones(len(chain)), reached], axis=1)).T
    return float(
        _learn(
            _draws(law, steps, seed),
            worths,
            np.ascontiguousarray(wait),
            np.ascontiguousarray(worth),
            wait[0] - 1.0,
            worth[0],
            law.decay_factor * threshold,
            cost,
            wait[0] / (1.0 + float(from_threshold @ wait)),
        )
    )


def two_time_scale_index(
    law: InflowLaw, threshold: float, cost: float = 1.0, *, steps: int = 10_000, seed: int = 0, nodes: int = NODES
) -> float:
    """γ at one threshold by the two-time-scale scheme (33)–(35), corrected and damped."""
    if threshold == 0.0 or threshold >= law.reachable:
        return threshold / cost
    worths = grid(law, threshold, nodes)
    chain, reached, _ = _chain_below(law, worths)
    draws = _draws(law, steps, seed)
    gain = _slots_to(law, threshold)
    return float(_learn_both(draws, worths, chain, reached, law.decay_factor * threshold, cost, gain))
