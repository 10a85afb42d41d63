"""Compiled runs of the rule-based policies: the same worlds and the same scores as the generic path, fused.

Scores of sources that are not observed depend only on the slots since the crawl, so they are read from a table.
Where the worth is observed, computing Theorem 1 takes a logarithm; most sources are ruled out before by the bound
γ(x)·C/u* ≤ 1 − αq − q(1 − q)(1 − α)/r with q = 1 − x/u* (from log q ≤ q − 1 and α^η > αq), compared with the lowest
index chosen in the slot before, less a margin. If that was too high, the slot is scored again without it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from recrawl.kernels.slotted_index import worth_after
from recrawl.policies.relaxed import next_price, pays
from recrawl.policies.rules import (
    CEILING,
    COST,
    LIFETIME,
    RATE,
    UNBOUNDED,
    WHITTLE,
    Rule,
    looks,
    score_after,
    score_of_state,
)
from recrawl.records import BoolArray, FloatArray, IntArray
from recrawl.scheduling.ranking import bring_first, put_in_order
from recrawl.sim.randomness import Streams
from recrawl.sim.worlds import Dynamics, advance


class RunRecord(NamedTuple):
    """What one run fills: worth per slot, crawls per source; `states` and `actions` per slot, if they have rows."""

    reward: FloatArray
    crawls: IntArray
    states: FloatArray
    actions: BoolArray


MOST_TABLED = 4_000_000
MOST_SLOTS_TABLED = 4096


@njit(cache=True)
def _tabulate(kind: int, numbers: FloatArray, slots: int) -> FloatArray:
    out = np.empty((len(numbers), slots))
    for i in range(len(numbers)):
        for k in range(slots):
            out[i, k] = score_after(kind, numbers, i, float(k))
    return out


def score_table(rule: Rule, steps: int) -> FloatArray:
    """The unobserved score of every source after 0, 1, … slots, as long as the run or as memory allows."""
    slots = min(steps + 1, MOST_SLOTS_TABLED, max(16, MOST_TABLED // len(rule.numbers)))
    return np.asarray(_tabulate(rule.kind, rule.numbers, slots))


@njit(cache=True)
def _bound(numbers: FloatArray, i: int, worth: float, keep: float) -> float:
    """An upper bound of Theorem 1 without a logarithm; inf where it must be computed."""
    ceiling, rate = numbers[i, CEILING], numbers[i, RATE]
    q = 1.0 - worth / ceiling if ceiling > 0.0 else 0.0
    if q <= 0.0 or rate <= 0.0 or rate == math.inf:
        return math.inf
    share = 1.0 - keep * q - q * (1.0 - q) * (1.0 - keep) / rate
    return share * ceiling / numbers[i, COST] * (1.0 + 1e-9)


@njit(cache=True)
def _rank(
    rule: Rule,
    keep: FloatArray,
    table: FloatArray,
    observed: BoolArray,
    worth: FloatArray,
    slot: int,
    crawled: IntArray,
    most: int,
    guess: float,
    score: FloatArray,
    ids: IntArray,
) -> int:
    """Gather the candidates that are not surely below `guess` and bring the `most` best first; how many there are."""
    kind, numbers, thresholds, values = rule
    size = 0
    for i in range(len(worth)):
        if observed[i] and looks(kind, numbers, i):
            if kind == WHITTLE and _bound(numbers, i, worth[i], keep[i]) < guess:
                continue
            s = score_of_state(kind, numbers, thresholds, values, i, worth[i])
        else:
            k = slot - crawled[i]
            s = table[i, k] if k < table.shape[1] else score_after(kind, numbers, i, float(k))
        if s > -math.inf and s >= guess:
            score[size], ids[size] = s, i
            size += 1
    bring_first(score, ids, 0, size, most)
    return min(size, most)


@njit(cache=True, nogil=True)
def run_ranked(
    rule: Rule,
    dynamics: Dynamics,
    table: FloatArray,
    observed: BoolArray,
    stream: Streams,
    income: int,
    kept: int,
    cost_units: IntArray,
    out: RunRecord,
) -> int:
    """One run; fills `out`.

    Tokens are counted in whole units; returns the units spent.
    """
    reward, crawls, states, actions = out
    code, laws, keep, lifetime, rows = dynamics
    n = len(keep)
    worth, crawled = np.zeros(n), np.full(n, -1, dtype=np.int64)
    history = np.zeros((rows, n))
    score, ids = np.empty(n), np.empty(n, dtype=np.int64)
    balance, total, cheapest, guess = 0, 0, cost_units.min(), -math.inf
    dear = cost_units.max() > cheapest  # only then does it matter in which order the chosen are paid for
    for slot in range(len(reward)):
        advance(code, laws, keep, lifetime, worth, slot, crawled, history, stream)
        if slot < len(states):
            states[slot] = worth
        balance = min(balance, kept) + income
        most = min(n, balance // cheapest)
        if most == 0:
            continue
        size = 0
        for attempt in (guess, -math.inf):
            size = _rank(rule, keep, table, observed, worth, slot, crawled, most, attempt, score, ids)
            if size == most:
                break
        # A little below the price of this slot, because scoring a slot twice costs more than a few candidates.
        guess = 0.8 * score[size - 1] if size == most else -math.inf
        if dear:
            put_in_order(score, ids, 0, size)
        for place in range(size):
            i = ids[place]
            if cost_units[i] > balance:
                break
            balance -= cost_units[i]
            total += cost_units[i]
            reward[slot] += worth[i]
            worth[i] = 0.0
            crawled[i] = slot
            crawls[i] += 1
            if slot < len(actions):
                actions[slot, i] = True
    return total


@njit(cache=True, nogil=True)
def run_relaxed(
    rule: Rule,
    dynamics: Dynamics,
    observed: BoolArray,
    stream: Streams,
    budget: float,
    price: float,
    step: float,
    exponent: float,
    out: RunRecord,
) -> float:
    """One run of relaxed control by dual descent; returns what it spent."""
    _, numbers, _, _ = rule
    reward, crawls, states, actions = out
    code, laws, keep, lifetime, rows = dynamics
    n = len(keep)
    worth, crawled = np.zeros(n), np.full(n, -1, dtype=np.int64)
    history = np.zeros((rows, n))
    total = 0.0
    for slot in range(len(reward)):
        advance(code, laws, keep, lifetime, worth, slot, crawled, history, stream)
        if slot < len(states):
            states[slot] = worth
        spent = 0.0
        for i in range(n):
            k, life, cost = float(slot - crawled[i]), numbers[i, LIFETIME], numbers[i, COST]
            seen = worth[i] if observed[i] else worth_after(min(k, life), numbers[i, RATE], numbers[i, UNBOUNDED])
            if pays(seen, price, k, numbers[i, UNBOUNDED], numbers[i, CEILING], cost, life):
                spent += cost
                reward[slot] += worth[i]
                worth[i] = 0.0
                crawled[i] = slot
                crawls[i] += 1
                if slot < len(actions):
                    actions[slot, i] = True
        price = next_price(price, step / (slot + 1.0) ** exponent, budget, spent)
        total += spent
    return total
