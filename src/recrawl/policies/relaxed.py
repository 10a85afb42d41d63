"""Relaxed control: the budget holds on average, and the price finds itself [tcns2018, §VII]."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from recrawl.compiled_code import njit
from recrawl.errors import ParameterError
from recrawl.kernels.price import worth_at_price
from recrawl.kernels.slotted_index import worth_after
from recrawl.policies.base import RankedPolicy
from recrawl.records import FloatArray, checked


@njit(cache=True)
def pays(
    worth: float, price: float, slots: float, unbounded: float, ceiling: float, cost: float, lifetime: float
) -> bool:
    """Whether a source is worth its crawl at this price: at its threshold (21), or full at its lifetime."""
    if slots >= lifetime:
        return ceiling >= price * cost
    return worth >= worth_at_price(price, unbounded, cost)


@njit(cache=True)
def next_price(price: float, step: float, budget: float, spent: float) -> float:
    """One step of dual descent [tcns2018, (22), comparing with M where M/N is printed], kept at or above 0."""
    return max(0.0, price - step * (budget - spent))


class Relaxed(RankedPolicy):
    """Crawls every source whose worth has reached its threshold at the current price; then moves the price.

    The n-th step of the price is `step`·scale/(n + 1)^`exponent`, with scale the mean ceiling per cost, which makes
    `step` free of units; Σ b = ∞ and Σ b² < ∞ for exponents in (1/2, 1].

    Parameters
        price: where the price starts
        step: first step, as a share of the mean ceiling per cost
        exponent: how fast the steps shrink
    """

    soft_budget = True
    needs_sources: ClassVar[bool] = True

    def __init__(self, price: float = 0.0, step: float = 0.1, exponent: float = 0.75, seed: int = 0) -> None:
        super().__init__(seed)
        checked("price", price, "finite and >= 0")
        checked("step", step, "finite and > 0", open_low=True)
        if not 0.5 < exponent <= 1:
            raise ParameterError("exponent", "in (0.5, 1]", exponent)
        self.first_price, self.step, self.exponent = price, step, exponent

    def begin(self, now: float) -> None:
        """Start at the first price, every source crawled one slot ago."""
        assert self.sources is not None
        self.last = np.full(len(self.last), now - 1.0)
        self.lifetime = self.sources.exact_lifetime
        self.scale = float((self.sources.ceiling / self.sources.cost).mean())
        self.price = float(self.first_price)
        self.calls = 0

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """Worth per cost of everything that pays at the current price."""
        assert self.sources is not None
        slots = now - self.last
        unseen = np.full(len(slots), np.nan) if states is None else states
        return _paying(
            self.price,
            slots,
            unseen,
            self.sources.decay_rate,
            self.sources.unbounded_ceiling,
            self.sources.ceiling,
            self.sources.cost,
            self.lifetime,
        )

    def pay(self, budget: float, spent: float) -> None:
        """Move the price by what was spent."""
        step = self.step * self.scale / (self.calls + 1.0) ** self.exponent
        self.price = next_price(self.price, step, budget, spent)
        self.calls += 1


@njit(cache=True)
def _paying(
    price: float,
    slots: FloatArray,
    states: FloatArray,
    rate: FloatArray,
    unbounded: FloatArray,
    ceiling: FloatArray,
    cost: FloatArray,
    lifetime: FloatArray,
) -> FloatArray:
    out = np.empty(len(slots))
    for i in range(len(slots)):
        worth = states[i]
        if math.isnan(worth):
            worth = worth_after(min(slots[i], lifetime[i]), rate[i], unbounded[i])
        out[i] = (
            worth / cost[i]
            if pays(worth, price, slots[i], unbounded[i], ceiling[i], cost[i], lifetime[i])
            else -math.inf
        )
    return out
