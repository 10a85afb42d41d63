"""The deterministic model of the paper stepped by hand, for starts and formulas that are not for use.

`recrawl.simulate` starts every source at X(0) = u and ranks by indices that are right. Explaining a published number
can take another start, or a formula taken as printed; those live here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recrawl.kernels.price import relaxed_bound, worth_at_price
from recrawl.kernels.slotted_index import whittle_index_after
from recrawl.papers.tcns2018.setting import DETERMINISTIC_STEPS
from recrawl.policies.relaxed import next_price
from recrawl.records import FloatArray, Sources

Index = Callable[[Sources, FloatArray], FloatArray]


def index_as_printed(sources: Sources, state: FloatArray) -> FloatArray:
    """Theorem 1 with log⁺ as printed: η = 0, and so an index of 0, at and above u*."""
    rest = 1.0 - state / sources.ceiling
    with np.errstate(divide="ignore", invalid="ignore"):
        slots = np.ceil(np.where(rest > 0, np.log(rest) / -sources.decay_rate, 0.0))
    gain = slots * ((1.0 - sources.decay_factor) * state - sources.inflow)
    out: FloatArray = (gain + sources.ceiling * (1.0 - sources.decay_factor**slots)) / sources.cost
    return out


def rewards_from(
    sources: Sources, start: FloatArray, index: Index, budget: int = 1, steps: int = DETERMINISTIC_STEPS
) -> FloatArray:
    """The reward of every slot when the `budget` sources of highest index are crawled, from any start X(0)."""
    state, reward = start.copy(), np.zeros(steps)
    for slot in range(steps):
        crawled = np.argsort(-index(sources, state), kind="stable")[:budget]
        reward[slot] = state[crawled].sum()
        state = sources.decay_factor * state + sources.inflow
        state[crawled] = sources.inflow[crawled]
    return reward


def relaxed_by_index(
    sources: Sources, ages: FloatArray, price: float, step: float, steps: int = DETERMINISTIC_STEPS
) -> tuple[FloatArray, FloatArray]:
    """Relaxed control at M = 1 that crawls where the *index* reaches the price, not the threshold (21).

    `ages` are slots since the last crawl at the start; steps of the price are step/(n + 100). Returns the reward and
    the spend of every slot.
    """
    age, reward, spend = ages.copy(), np.zeros(steps), np.zeros(steps)
    for slot in range(steps):
        crawled = whittle_index_after(sources, age) >= price
        reward[slot] = (sources.ceiling * -np.expm1(-sources.decay_rate * age))[crawled].sum()
        spend[slot] = sources.cost[crawled].sum()
        age = np.where(crawled, 1.0, age + 1.0)
        price = next_price(price, step / (slot + 100.0), 1.0, spend[slot])
    return reward, spend


def price_path(
    sources: Sources,
    step: float,
    exponent: float,
    steps: int,
    budget: float = 1.0,
    *,
    target: float | None = None,
    by_index: bool = False,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Reward, spend and price λ(k) of every slot under (22), by hand, from price 0 one slot after a crawl.

    Sources are crawled at their thresholds (21), or with `by_index` where their index reaches the price. The k-th step
    is `step`/(k + 1)^`exponent`; `target` is what (22) compares the spend with, the budget if not given.
    """
    age, price, aim = np.ones(len(sources)), 0.0, budget if target is None else target
    reward, spend, prices = np.zeros(steps), np.zeros(steps), np.zeros(steps)
    for slot in range(steps):
        worth = sources.ceiling * -np.expm1(-sources.decay_rate * age)
        if by_index:
            crawled = whittle_index_after(sources, age) >= price
        else:
            columns = zip(worth, sources.ceiling, sources.cost, strict=True)
            crawled = np.array([x >= worth_at_price(price, full, cost) for x, full, cost in columns])
        reward[slot], spend[slot], prices[slot] = worth[crawled].sum(), sources.cost[crawled].sum(), price
        age = np.where(crawled, 1.0, age + 1.0)
        price = next_price(price, step / (slot + 1.0) ** exponent, aim, spend[slot])
    return reward, spend, prices


def minimising_prices(sources: Sources, budget: float, ages: int = 400) -> tuple[float, float]:
    """The prices at which the dual function is least: from the next lower index of any source up to the price."""
    upper = relaxed_bound(sources, budget).price
    index = whittle_index_after(sources, np.tile(np.arange(1, ages + 1)[:, None], len(sources)))
    levels = np.concatenate([index.ravel(), sources.ceiling / sources.cost])
    return float(levels[levels < upper * (1.0 - 1e-12)].max()), upper
