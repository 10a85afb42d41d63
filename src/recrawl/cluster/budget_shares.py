"""The fleet's price and who gets how much of the budget at it: mathematics over what the shards last said.

*Price.* Shard i says that at the price λ_i its sources would spend D_i, and S_i = dD_i/d ln λ. Near λ_i that is a
constant elasticity, exact in the quadratic form of the index::

    D_i(λ) = D_i·(λ/λ_i)^(S_i/D_i)

The next price solves Σ min(D_i(λ), what i is able to spend) = budget − newcomers' part: Newton's step of the dual
descent [tcns2018, (22)] on ln λ, on a model that cannot fall below nothing. It is within a factor of 4 of the prices
the shards have counted at, less after it went too far, and within a factor of 1000 of what their last tokens bought:
where no price spends the budget, it does not run away.

*Shares.* Newcomers first: they are owed max(cold_start, newcomers/sources) of the budget, but not more than would look
at all of them within `HORIZON_S`, by their numbers. The rest goes by demand at the price. Nobody gets more than it is
able to spend, which is nothing without sources, and the others get a floor, so that one that knows nothing of its
sources can begin. What nobody is able to spend is not given out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recrawl.records import BoolArray, FloatArray

STRIDE = math.log(4.0)
"""The price moves by this much of ln λ in a round at most."""
LEASH = math.log(1000.0)
"""The price stays so near to what the shards' last tokens bought."""
HORIZON_S = 2.0
"""Newcomers are given no more than would look at all of them in this time."""
FLOOR = 0.005
"""Share of the budget given out in equal parts, whatever the demand."""
MEANINGFUL = 2.0
"""Shares go by demand alone as long as it is within this factor of what is to be spent."""
_PRECISION = 1e-10


@dataclass(frozen=True)
class Bids:
    """What the shards said, one element each.

    Parameters
        demand, slope, price: tokens per second at a price, and the slope against its logarithm; price NaN if unknown
        own_price: what the last token bought; NaN if unknown
        newcomers, sources: those never crawled that wait, and all
        dearest: tokens for the dearest crawl
        cap: tokens per second it is able to spend; inf if that is not known
    """

    demand: FloatArray
    slope: FloatArray
    price: FloatArray
    own_price: FloatArray
    newcomers: FloatArray
    sources: FloatArray
    dearest: FloatArray
    cap: FloatArray


@dataclass
class Market:
    """The price, and how far it may move next."""

    price: float = math.nan
    stride: float = STRIDE
    _direction: float = 0.0

    def trade(self, bids: Bids, budget: float, cold_start: float) -> FloatArray:
        """Move the price and share out the budget: tokens per second for each shard."""
        count = len(bids.demand)
        if count == 0:
            return np.empty(0)
        floor = FLOOR * budget / count
        cap = np.where(bids.sources > 0.0, np.maximum(bids.cap, floor), 0.0)
        newcomers = np.minimum(newcomers_part(bids, budget, cold_start), cap)
        rest = budget - float(newcomers.sum())
        self._move(bids, rest, cap - newcomers)
        weight = self._weights(bids, rest)
        return filled(weight, np.maximum(newcomers, floor), cap, budget)

    def _weights(self, bids: Bids, rest: float) -> FloatArray:
        """Demand at the price; numbers of sources as far as the price is too far off for demand to mean much."""
        known, settled = _priced(bids), np.maximum(bids.sources - bids.newcomers, 0.0)
        wanted = float(bids.demand[known].sum())
        if not wanted > 0.0 or not self.price > 0.0:
            return settled
        weight = np.zeros(len(known))
        weight[known] = demand_at(bids, known, math.log(self.price))
        per_source = float(weight.sum()) / max(float(settled[known].sum()), 1.0)
        credible = min(MEANINGFUL * min(wanted / rest, rest / wanted), 1.0) if rest > 0.0 else 1.0
        blend: FloatArray = credible * weight + (1.0 - credible) * per_source * settled
        return np.where(known, blend, per_source * settled)

    def _move(self, bids: Bids, rest: float, able: FloatArray) -> None:
        known = _priced(bids)
        if not self.price > 0.0:
            self.price = first_price(bids)
        if not known.any() or not self.price > 0.0:
            return
        here = math.log(self.price)
        settled = np.maximum(bids.sources - bids.newcomers, 0.0)
        known_part = float(settled[known].sum()) / max(float(settled.sum()), 1.0)
        told = math.log(_mean_price(bids.price[known], bids.sources[known]))
        low, high = told - self.stride, told + self.stride
        anchor = _own_price(bids)
        if anchor > 0.0:
            low = max(low, min(math.log(anchor) - LEASH, high))
            high = min(high, max(math.log(anchor) + LEASH, low))
        there = _cleared(bids, known, able[known], rest * max(known_part, 1e-9), here, low, high)
        self._adapt(there - here)
        self.price = math.exp(there)

    def _adapt(self, step: float) -> None:
        """Shorter strides after one that went too far, longer ones again otherwise."""
        far = abs(step) >= 0.5 * self.stride
        if far and step * self._direction < 0.0:
            self.stride = max(0.5 * self.stride, 0.01)
        else:
            self.stride = min(2.0 * self.stride, STRIDE)
        self._direction = step


def demand_at(bids: Bids, known: BoolArray, log_price: float) -> FloatArray:
    """What the shards with a known demand would spend at a price near the one they said."""
    demand, slope = bids.demand[known], bids.slope[known]
    elasticity = np.divide(slope, demand, out=np.zeros_like(demand), where=demand > 0.0)
    away = np.clip(log_price - np.log(bids.price[known]), -2.0 * STRIDE, 2.0 * STRIDE)
    powers: FloatArray = demand * np.exp(np.clip(elasticity * away, -30.0, 30.0))
    return powers


def _cleared(
    bids: Bids, known: BoolArray, able: FloatArray, budget: float, here: float, low: float, high: float
) -> float:
    """ln λ in [low, high] at which demand within ability meets the budget, or the end nearest to it."""
    elasticity = bids.slope[known] / np.maximum(bids.demand[known], 1e-300)

    def excess(x: float) -> tuple[float, float]:
        wanted = demand_at(bids, known, x)
        free = wanted < able
        return float(np.minimum(wanted, able).sum()) - budget, float((wanted * elasticity)[free].sum())

    if excess(low)[0] <= 0.0:
        return low
    if excess(high)[0] >= 0.0:
        return high
    x = min(max(here, low), high)
    for _ in range(60):
        over, slope = excess(x)
        if abs(over) <= _PRECISION * budget:
            break
        low, high = (x, high) if over > 0.0 else (low, x)
        newton = x - over / slope if slope < 0.0 else math.inf
        x = newton if low < newton < high else 0.5 * (low + high)
    return x


def first_price(bids: Bids) -> float:
    """What the shards reckoned with under an earlier coordinator, or what their last tokens bought; else NaN."""
    told = np.isfinite(bids.price) & (bids.price > 0.0)
    return _mean_price(bids.price[told], bids.sources[told]) if told.any() else _own_price(bids)


def _own_price(bids: Bids) -> float:
    known = np.isfinite(bids.own_price) & (bids.own_price > 0.0)
    return _mean_price(bids.own_price[known], bids.sources[known])


def _mean_price(prices: FloatArray, weights: FloatArray) -> float:
    """Geometric, by numbers of sources; NaN of none."""
    if len(prices) == 0:
        return math.nan
    return math.exp(float(np.average(np.log(prices), weights=np.maximum(weights, 1.0))))


def _priced(bids: Bids) -> BoolArray:
    """Whose demand can be reckoned with."""
    sane = np.isfinite(bids.demand) & (bids.demand >= 0.0) & np.isfinite(bids.slope) & (bids.slope <= 0.0)
    known: BoolArray = sane & np.isfinite(bids.price) & (bids.price > 0.0)
    return known


def newcomers_part(bids: Bids, budget: float, cold_start: float) -> FloatArray:
    """Tokens per second for each shard's newcomers.

    >>> three, none = np.array([3.0, 0.0]), np.zeros(2)
    >>> bids = Bids(none, none, none, none, three, np.array([10.0, 10.0]), np.ones(2), np.full(2, np.inf))
    >>> newcomers_part(bids, budget=2.0, cold_start=0.5).tolist()
    [1.0, 0.0]
    """
    waiting = float(bids.newcomers.sum())
    if waiting <= 0.0:
        return np.zeros(len(bids.newcomers))
    share = min(max(cold_start, waiting / max(float(bids.sources.sum()), waiting)), 1.0)
    absorbed = float((bids.newcomers * np.maximum(bids.dearest, 1.0)).sum()) / HORIZON_S
    part: FloatArray = min(share * budget, absorbed) * bids.newcomers / waiting
    return part


def filled(weight: FloatArray, base: FloatArray, cap: FloatArray, budget: float) -> FloatArray:
    """min(base + θ·weight, cap) with the θ at which all of them make the budget; all caps where they make less.

    Where the bases alone are too much they shrink alike. Where weights say nothing, equal ones do.

    >>> filled(np.array([1.0, 3.0]), np.zeros(2), np.array([np.inf, 6.0]), 12.0).tolist()
    [6.0, 6.0]
    """
    given = np.minimum(base, cap)
    if given.sum() >= budget:
        shrunk: FloatArray = given * (budget / float(given.sum()))
        return shrunk
    while True:
        open_ = given < cap
        rest = budget - float(given.sum())
        if rest <= _PRECISION * budget or not open_.any():
            return given
        parts = np.where(open_, weight, 0.0)
        if parts.sum() <= 0.0:
            parts = open_.astype(np.float64)
        wanted = given + rest * parts / parts.sum()
        if (wanted <= cap).all():
            return wanted
        given = np.minimum(wanted, cap)
