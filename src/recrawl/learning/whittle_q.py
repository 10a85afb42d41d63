"""The Whittle index by Q-learning: no model, only what was tried and what it brought, after [qwi2020].

An arm is in one of the states 1 … S, the slots since it was last crawled (S stands for S and more). For every arm and
every reference state x there is a table Q^x(s, a) of the arm alone, under a subsidy λ(x) for leaving it alone. After a
slot in which the arm went from s by action a (1 for a crawl, which earned r) to s′::

    Q^x(s, a) += a(ν)·((1 − a)λ(x) + a·r + max_b Q^x(s′, b) − f(Q^x) − Q^x(s, a))        for every x
    λ(s)      += b(n)·(Q^s(s, 1) − Q^s(s, 0))

f is the mean over the table, which keeps relative values bounded; ν counts the visits to (s, a), n those to s. The
subsidies move on the slower clock, towards the price at which both actions are as good: λ(s) is the index.

* a(ν) = `step`/⌈ν/`halving`⌉^0.6 and b(n) = `index_step`/(1 + n·ln(n + 1)/`index_halving`);
* a subsidy moves only when its state is visited, and once both actions have been tried there. Moved by the clock
  alone, the subsidies of states that the policy has stopped to visit run away: nothing answers them;
* all starts at 0, and every equation is linear in worth, so that its unit does not matter.

Symbols: Q value, λ subsidy and index, s state, a action, x reference state, r reward, ν visits to an action, n to a
state.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from recrawl.compiled_code import njit
from recrawl.records import BoolArray, FloatArray, IntArray

STEP_EXPONENT = 0.6


class Steps(NamedTuple):
    """The step sizes, see above."""

    step: float
    halving: float
    index_step: float
    index_halving: float


class WhittleTables(NamedTuple):
    """What is learnt, changed in place.

    `values` is Q by arm, reference state, state and action, `totals` the sum of each table, `visits` counts by arm,
    state and action, `indices` λ by arm and state.
    """

    values: FloatArray
    totals: FloatArray
    visits: IntArray
    indices: FloatArray


def new_tables(arms: int, states: int) -> WhittleTables:
    """Tables that have seen nothing."""
    return WhittleTables(
        np.zeros((arms, states, states, 2)),
        np.zeros((arms, states)),
        np.zeros((arms, states, 2), dtype=np.int64),
        np.zeros((arms, states)),
    )


def joined(first: WhittleTables, second: WhittleTables) -> WhittleTables:
    """The tables of the arms of both, those of the first before those of the second."""
    return WhittleTables(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


@njit(cache=True)
def value_step(steps: Steps, visits: int) -> float:
    """a(ν)."""
    return steps.step / math.ceil(visits / steps.halving) ** STEP_EXPONENT


@njit(cache=True)
def index_step(steps: Steps, slots: int) -> float:
    """b(n)."""
    return float(steps.index_step / (1.0 + slots * math.log(slots + 1.0) / steps.index_halving))


@njit(cache=True)
def learn_slot(
    tables: WhittleTables,
    steps: Steps,
    before: IntArray,
    crawled: BoolArray,
    known: BoolArray,
    reward: FloatArray,
    after: IntArray,
) -> None:
    """Learn from one slot of all arms; states count from 0 here, and arms that are not `known` are left as they are."""
    states = tables.indices.shape[1]
    entries = 2.0 * states
    for arm in range(len(before)):
        if not known[arm]:
            continue
        s, action, s_after = before[arm], 1 if crawled[arm] else 0, after[arm]
        visits = tables.visits[arm]
        visits[s, action] += 1
        fast = value_step(steps, visits[s, action])
        for x in range(states):
            table = tables.values[arm, x]
            gained = reward[arm] if action else tables.indices[arm, x]
            best = max(table[s_after, 0], table[s_after, 1])
            move = fast * (gained + best - tables.totals[arm, x] / entries - table[s, action])
            table[s, action] += move
            tables.totals[arm, x] += move
        if visits[s, 0] > 0 and visits[s, 1] > 0:
            slow = index_step(steps, visits[s, 0] + visits[s, 1])
            tables.indices[arm, s] += slow * (tables.values[arm, s, s, 1] - tables.values[arm, s, s, 0])
