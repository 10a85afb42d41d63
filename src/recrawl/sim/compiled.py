"""Compiled runs of the rule-based policies: the same worlds and the same scores as the generic path, fused.

Only sources near the price are scored. There is a **mark**, a little below it, and every source that is not looked at
has a score below the mark: a source whose worth is not observed sleeps until the slot in which its score reaches the
mark, and an observed one until its worth exceeds a level. Whoever is looked at and found below the mark goes to sleep,
so a mark that rises costs nothing. If fewer reach it than can be paid for, the mark was too high, and the slot is
scored again for everybody. Only rules whose scores rise with worth and slots have a mark; the others score everybody.

The level for Theorem 1 follows from the bound γ(x)·C/u* ≤ 1 − αq − q(1 − q)(1 − α)/r with q = 1 − x/u* (from
log q ≤ q − 1 and α^η > αq), a quadratic in q; and γ is convex up to u*, so it is below the chord from where the source
was found to the ceiling. The larger of the two worths is the level.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from recrawl.compiled_code import njit
from recrawl.kernels.slotted_index import worth_after
from recrawl.policies.relaxed import next_price, pays
from recrawl.policies.rules import (
    CEILING,
    COST,
    FIXED,
    GREEDY,
    LIFETIME,
    MYOPIC,
    OLDEST,
    PERIODIC,
    RATE,
    UNBOUNDED,
    WHITTLE,
    Rule,
    looks,
    score_after,
    score_of_state,
)
from recrawl.records import BoolArray, FloatArray, IntArray
from recrawl.scheduling.compiled import inlined, inner
from recrawl.scheduling.ranking import bring_first, put_in_order
from recrawl.sim.noise import Inflow
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
# Source-steps for which one more score is tabled ahead.
STEPS_PER_SCORE = 16
# By how much the mark is below the lowest score chosen: at first, at least, at most.
MARGIN, LEAST_MARGIN, MOST_MARGIN = 0.05, 0.03, 0.5
# What is left of a margin beyond the least after a slot in which it was large enough.
EASING = 0.998
# How far over the mark a score must be to be sure of its place.
SURE = 1.0 + 1e-9
NEVER = 1 << 62


@njit(cache=True)
def _tabulate(kind: int, numbers: FloatArray, slots: int) -> FloatArray:
    out = np.empty((len(numbers), slots))
    for i in range(len(numbers)):
        for k in range(slots):
            out[i, k] = score_after(kind, numbers, i, float(k))
    return out


def score_table(rule: Rule, steps: int, runs: int) -> FloatArray:
    """The unobserved score of every source after 0, 1, … slots, as far as the runs will need it or memory allows."""
    most = min(steps + 1, MOST_SLOTS_TABLED, MOST_TABLED // len(rule.numbers), steps * runs // STEPS_PER_SCORE)
    return np.asarray(_tabulate(rule.kind, rule.numbers, max(most, 16)))


@inlined
def _score_after(kind: int, numbers: FloatArray, table: FloatArray, i: int, slots: int) -> float:
    return table[i, slots] if slots < table.shape[1] else score_after(kind, numbers, i, float(slots))


@inner
def _slots_to(kind: int, numbers: FloatArray, table: FloatArray, i: int, slots: int, mark: float, end: int) -> int:
    """After how many slots the score reaches the mark, given that it is below after `slots`; `end` at most."""
    low, step = slots, 1
    while low + step < end and _score_after(kind, numbers, table, i, low + step) < mark:
        low += step
        step *= 2
    high = min(low + step, end)
    while high - low > 1:
        middle = (low + high) // 2
        if _score_after(kind, numbers, table, i, middle) < mark:
            low = middle
        else:
            high = middle
    return high


@inner
def _level(kind: int, numbers: FloatArray, i: int, worth: float, score: float, keep: float, mark: float) -> float:
    """A worth up to which the observed score is below the mark, given that it is below at `worth`."""
    ceiling, rate, cost = numbers[i, CEILING], numbers[i, RATE], numbers[i, COST]
    if kind != WHITTLE or rate <= 0.0 or rate == math.inf or ceiling <= 0.0:
        return worth
    share = mark * cost / (ceiling * SURE)
    if share >= 1.0:
        return max(worth, mark * cost / SURE)
    chord = worth + (mark - score) / (ceiling / cost - score) * (ceiling - worth) / SURE
    bend = (1.0 - keep) / rate
    slope = keep + bend
    root = slope * slope - 4.0 * bend * (1.0 - share)
    if root < 0.0:
        return chord
    q = 2.0 * (1.0 - share) / (slope + math.sqrt(root))
    return max(chord, ceiling * (1.0 - q * SURE))


@inner
def _awake(worth: FloatArray, sleepers: Sleepers, slot: int, ids: IntArray) -> int:
    """Gather those who may have reached the mark; how many there are."""
    level, due = sleepers.level, sleepers.due
    size = 0
    for i in range(len(worth)):
        ids[size] = i
        size += (worth[i] > level[i]) | (due[i] <= slot)
    return size


@inner
def _wake_all(sleepers: Sleepers, slot: int) -> None:
    observed, level, due, nap = sleepers
    for i in range(len(level)):
        level[i] = -math.inf if observed[i] else math.inf
        due[i] = NEVER if observed[i] else slot
        nap[i] = 1


@inner
def _rank(
    rule: Rule,
    keep: FloatArray,
    table: FloatArray,
    sleepers: Sleepers,
    worth: FloatArray,
    slot: int,
    end: int,
    crawled: IntArray,
    mark: float,
    awake: int,
    score: FloatArray,
    ids: IntArray,
) -> int:
    """Score those awake, keep those surely over the mark, send those below it to sleep; how many are kept."""
    kind, numbers, thresholds, values = rule
    observed, level, due, nap = sleepers
    size = 0
    for place in range(awake):
        i = ids[place]
        if observed[i]:
            s = score_of_state(kind, numbers, thresholds, values, i, worth[i])
            if s < mark:
                level[i] = _level(kind, numbers, i, worth[i], s, keep[i], mark)
        else:
            slots = slot - crawled[i]
            s = _score_after(kind, numbers, table, i, slots)
            if s < mark:
                nap[i] = _slots_to(kind, numbers, table, i, slots, mark, end - crawled[i])
                due[i] = crawled[i] + nap[i]
        if s > -math.inf and s >= mark * SURE:
            score[size], ids[size] = s, i
            size += 1
    return size


@inlined
def _rises(kind: int) -> bool:
    """Whether a rule's scores surely do not fall as worth or slots grow."""
    return kind in (WHITTLE, GREEDY, MYOPIC, OLDEST, FIXED, PERIODIC)


class Sleepers(NamedTuple):
    """Who need not be looked at: below the mark up to a worth, or before a slot."""

    observed: BoolArray
    """Whose worth is looked at."""
    level: FloatArray
    """The worth up to which an observed source is below the mark; inf for the others."""
    due: IntArray
    """The slot until which one that is not observed is below the mark; never for the others."""
    nap: IntArray
    """So many slots after a crawl it is below the mark."""


@inner
def _choose(
    rule: Rule,
    keep: FloatArray,
    table: FloatArray,
    sleepers: Sleepers,
    worth: FloatArray,
    slot: int,
    end: int,
    crawled: IntArray,
    mark: float,
    margin: float,
    most: int,
    score: FloatArray,
    ids: IntArray,
) -> tuple[int, float, float]:
    """Bring the `most` highest scores first; how many there are, and mark and margin for the next slot."""
    size = _awake(worth, sleepers, slot, ids)
    size = _rank(rule, keep, table, sleepers, worth, slot, end, crawled, mark, size, score, ids)
    while size < most and mark > -math.inf:
        margin = min(2.0 * margin, MOST_MARGIN)
        mark = (1.0 - 2.0 * margin) * mark if margin < MOST_MARGIN else -math.inf
        _wake_all(sleepers, slot)
        size = _awake(worth, sleepers, slot, ids)
        size = _rank(rule, keep, table, sleepers, worth, slot, end, crawled, mark, size, score, ids)
    bring_first(score, ids, 0, size, most)
    if size < most or not _rises(rule.kind):
        return min(size, most), mark, margin
    margin = max(LEAST_MARGIN, EASING * margin)
    lowest = score[most - 1]
    if lowest > 0.0 and mark < (1.0 - 2.0 * margin) * lowest:
        mark = (1.0 - margin) * lowest
    return most, mark, margin


@inner
def _crawl(
    ids: IntArray,
    size: int,
    cost_units: IntArray,
    balance: int,
    sleepers: Sleepers,
    worth: FloatArray,
    slot: int,
    crawled: IntArray,
    out: RunRecord,
) -> int:
    """Crawl the first sources in their order as far as the balance goes; what is left of it."""
    reward, crawls, _, actions = out
    observed, due, nap = sleepers.observed, sleepers.due, sleepers.nap
    for place in range(size):
        i = ids[place]
        if cost_units[i] > balance:
            break
        balance -= cost_units[i]
        reward[slot] += worth[i]
        worth[i] = 0.0
        crawled[i] = slot
        if not observed[i]:
            due[i] = slot + nap[i]
        crawls[i] += 1
        if slot < len(actions):
            actions[slot, i] = True
    return balance


@njit(cache=True, nogil=True)
def run_ranked(
    rule: Rule,
    dynamics: Dynamics,
    table: FloatArray,
    observed: BoolArray,
    stream: Streams,
    room: Inflow,
    income: int,
    kept: int,
    cost_units: IntArray,
    out: RunRecord,
) -> int:
    """One run; fills `out`.

    Tokens are counted in whole units; returns the units spent.
    """
    n, end = len(observed), len(out.reward)
    worth, crawled, history = np.zeros(n), np.full(n, -1, dtype=np.int64), np.zeros((dynamics.rows, n))
    score, ids = np.empty(n), np.empty(n, dtype=np.int64)
    sleepers = Sleepers(np.empty(n, np.bool_), np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64))
    for i in range(n):
        sleepers.observed[i] = observed[i] and looks(rule.kind, rule.numbers, i)
    _wake_all(sleepers, 0)
    balance, total, cheapest, mark, margin = 0, 0, cost_units.min(), -math.inf, MARGIN
    dear = cost_units.max() > cheapest  # only then does it matter in which order the chosen are paid for
    for slot in range(end):
        advance(dynamics, worth, slot, crawled, history, stream, room)
        if slot < len(out.states):
            out.states[slot] = worth
        balance = min(balance, kept) + income
        most = min(n, balance // cheapest)
        if most == 0:
            continue
        size, mark, margin = _choose(
            rule, dynamics.keep, table, sleepers, worth, slot, end, crawled, mark, margin, most, score, ids
        )
        if dear:
            put_in_order(score, ids, 0, size)
        left = _crawl(ids, size, cost_units, balance, sleepers, worth, slot, crawled, out)
        total += balance - left
        balance = left
    return total


@njit(cache=True, nogil=True)
def run_relaxed(
    rule: Rule,
    dynamics: Dynamics,
    observed: BoolArray,
    stream: Streams,
    room: Inflow,
    budget: float,
    price: float,
    step: float,
    exponent: float,
    out: RunRecord,
) -> float:
    """One run of relaxed control by dual descent; returns what it spent."""
    _, numbers, _, _ = rule
    reward, crawls, states, actions = out
    n = len(dynamics.keep)
    worth, crawled = np.zeros(n), np.full(n, -1, dtype=np.int64)
    history = np.zeros((dynamics.rows, n))
    total = 0.0
    for slot in range(len(reward)):
        advance(dynamics, worth, slot, crawled, history, stream, room)
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
