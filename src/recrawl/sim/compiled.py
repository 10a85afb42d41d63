"""Compiled runs of the rule-based policies: the same worlds and the same scores as the generic path, fused.

Scores of sources that are not observed depend only on the slots since the crawl, so they are read from a table.
Where the worth is observed, computing Theorem 1 takes a logarithm; most sources are ruled out before by the bound
γ(x)·C/u* ≤ 1 − αq − q(1 − q)(1 − α)/r with q = 1 − x/u* (from log q ≤ q − 1 and α^η > αq), compared with the lowest
index chosen in the slot before. If that guess was too high, the slot is scored again without it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from recrawl.kernels.slotted_index import worth_after
from recrawl.policies.relaxed import next_price, pays
from recrawl.policies.rules import WHITTLE, Rule, looks, score_after, score_of_state
from recrawl.records import BoolArray, FloatArray, IntArray
from recrawl.sim.randomness import Streams
from recrawl.sim.worlds import Dynamics, advance_all

MOST_TABLED = 4_000_000
MOST_SLOTS_TABLED = 4096


@njit(cache=True)
def tabulate(rule: Rule, slots: int) -> FloatArray:
    """The unobserved score of every source after 0, 1, … slots."""
    out = np.empty((len(rule.rate), slots))
    for i in range(len(rule.rate)):
        for k in range(slots):
            out[i, k] = score_after(rule, i, float(k))
    return out


def score_table(rule: Rule, steps: int) -> FloatArray:
    """The table, as long as the run or as memory allows."""
    slots = min(steps + 1, MOST_SLOTS_TABLED, max(16, MOST_TABLED // len(rule.rate)))
    return np.asarray(tabulate(rule, slots))


@njit(cache=True)
def _below(score: FloatArray, ids: IntArray, a: int, b: int) -> bool:
    """Whether heap entry a is wanted less than entry b: lower score, or equal and a higher id."""
    return score[a] < score[b] or (score[a] == score[b] and ids[a] > ids[b])


@njit(cache=True)
def _swap(score: FloatArray, ids: IntArray, a: int, b: int) -> None:
    score[a], score[b] = score[b], score[a]
    ids[a], ids[b] = ids[b], ids[a]


@njit(cache=True)
def _sift_down(score: FloatArray, ids: IntArray, size: int) -> None:
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _below(score, ids, child + 1, child):
            child += 1
        if not _below(score, ids, child, at):
            return
        _swap(score, ids, at, child)
        at = child


@njit(cache=True)
def _sift_up(score: FloatArray, ids: IntArray, at: int) -> None:
    while at > 0:
        parent = (at - 1) // 2
        if not _below(score, ids, at, parent):
            return
        _swap(score, ids, at, parent)
        at = parent


@njit(cache=True)
def _bound(rule: Rule, i: int, worth: float, keep: float) -> float:
    """An upper bound of Theorem 1 without a logarithm; inf where it must be computed."""
    ceiling, rate = rule.ceiling[i], rule.rate[i]
    q = 1.0 - worth / ceiling if ceiling > 0.0 else 0.0
    if q <= 0.0 or rate <= 0.0 or rate == math.inf:
        return math.inf
    share = 1.0 - keep * q - q * (1.0 - q) * (1.0 - keep) / rate
    return share * ceiling / rule.cost[i] * (1.0 + 1e-9)


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
    """Collect the `most` best into the heap (score, ids), skipping what is surely below `guess`; how many."""
    size = 0
    for i in range(len(worth)):
        if observed[i] and looks(rule, i):
            if rule.kind == WHITTLE and _bound(rule, i, worth[i], keep[i]) < guess:
                continue
            s = score_of_state(rule, i, worth[i])
        else:
            k = slot - crawled[i]
            s = table[i, k] if k < table.shape[1] else score_after(rule, i, float(k))
        if s == -math.inf:
            continue
        if size < most:
            score[size], ids[size] = s, i
            size += 1
            _sift_up(score, ids, size - 1)
        elif s > score[0]:
            score[0], ids[0] = s, i
            _sift_down(score, ids, size)
    return size


@njit(cache=True)
def _sort_heap(score: FloatArray, ids: IntArray, size: int) -> None:
    """Turn the heap into a ranking, best first."""
    end = size - 1
    while end > 0:
        _swap(score, ids, 0, end)
        _sift_down(score, ids, end)
        end -= 1


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
    reward: FloatArray,
    crawls: IntArray,
    states: FloatArray,
    actions: BoolArray,
) -> int:
    """One run; fills `reward` per slot and `crawls` per source, `states` and `actions` if they have rows.

    Tokens are counted in whole units; returns the units spent.
    """
    n = len(dynamics.keep)
    worth, crawled = np.zeros(n), np.full(n, -1, dtype=np.int64)
    history = np.zeros((dynamics.rows, n))
    score, ids = np.empty(n), np.empty(n, dtype=np.int64)
    balance, total, cheapest, guess = 0, 0, cost_units.min(), -math.inf
    for slot in range(len(reward)):
        advance_all(dynamics, worth, slot, crawled, history, stream)
        if slot < len(states):
            states[slot] = worth
        balance = min(balance, kept) + income
        most = min(n, balance // cheapest)
        if most == 0:
            continue
        size = _rank(rule, dynamics.keep, table, observed, worth, slot, crawled, most, guess, score, ids)
        if guess > -math.inf and (size < most or score[0] < guess):
            size = _rank(rule, dynamics.keep, table, observed, worth, slot, crawled, most, -math.inf, score, ids)
        guess = score[0] if size == most else -math.inf
        _sort_heap(score, ids, size)
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
    reward: FloatArray,
    crawls: IntArray,
    states: FloatArray,
    actions: BoolArray,
) -> float:
    """One run of relaxed control by dual descent; returns what it spent."""
    n = len(dynamics.keep)
    worth, crawled = np.zeros(n), np.full(n, -1, dtype=np.int64)
    history = np.zeros((dynamics.rows, n))
    total = 0.0
    for slot in range(len(reward)):
        advance_all(dynamics, worth, slot, crawled, history, stream)
        if slot < len(states):
            states[slot] = worth
        spent = 0.0
        for i in range(n):
            k = float(slot - crawled[i])
            seen = worth[i] if observed[i] else worth_after(min(k, rule.lifetime[i]), rule.rate[i], rule.unbounded[i])
            if pays(seen, price, k, rule.ceiling[i], rule.cost[i], rule.lifetime[i]):
                spent += rule.cost[i]
                reward[slot] += worth[i]
                worth[i] = 0.0
                crawled[i] = slot
                crawls[i] += 1
                if slot < len(actions):
                    actions[slot, i] = True
        price = next_price(price, step / (slot + 1.0) ** exponent, budget, spent)
        total += spent
    return total
