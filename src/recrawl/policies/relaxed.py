"""Relaxed control: the budget holds on average, and the price finds itself [tcns2018, §VII]."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.errors import ParameterError
from recrawl.kernels.price import worth_at_price
from recrawl.kernels.slotted_index import worth_after
from recrawl.policies.base import RankedPolicy
from recrawl.policies.rules import exact_lifetimes
from recrawl.records import FloatArray, IntArray


@njit(cache=True)
def pays(worth: float, price: float, slots: float, ceiling: float, cost: float, lifetime: float) -> bool:
    """Whether a source is worth its crawl at this price: at its threshold (21), or full at its lifetime."""
    if slots >= lifetime:
        return ceiling >= price * cost
    return worth >= worth_at_price(price, ceiling, cost)


@njit(cache=True)
def next_price(price: float, step: float, budget: float, spent: float) -> float:
    """One step of dual descent [tcns2018, (22), comparing with M where M/N is printed], kept at or above 0."""
    return max(0.0, price - step * (budget - spent))


class Relaxed(RankedPolicy):
    """Crawls every source whose worth has reached its threshold at the current price; then moves the price.

    The n-th step of the price is `step`·scale/(n + 1)^`exponent`, with scale the mean ceiling per cost, which makes
    `step` free of units; Σ b = ∞ and Σ b² < ∞ for exponents in (1/2, 1].

    Parameters
        price: where the price starts; None for 0
        step: first step, as a share of the mean ceiling per cost
        exponent: how fast the steps shrink
    """

    soft_budget = True
    needs_sources: ClassVar[bool] = True

    def __init__(self, price: float | None = None, step: float = 0.1, exponent: float = 0.75, seed: int = 0) -> None:
        super().__init__(seed)
        if not step > 0:
            raise ParameterError("step", "> 0", step)
        if not 0.5 < exponent <= 1:
            raise ParameterError("exponent", "in (0.5, 1]", exponent)
        self.first_price, self.step, self.exponent = price, step, exponent

    def begin(self, now: float) -> None:
        """Start at the first price, every source crawled one slot ago."""
        assert self.sources is not None
        self.last = np.full(len(self.last), now - 1.0)
        self.lifetime = exact_lifetimes(self.sources)
        self.scale = float((self.sources.ceiling / self.sources.cost).mean())
        self.price = 0.0 if self.first_price is None else float(self.first_price)
        self.calls = 0

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """Everything that pays at the current price, dearest first; may cost more or less than the budget."""
        assert self.sources is not None
        observed = self._observed(states)
        worth = _worths(
            now - self.last,
            np.full(len(self.last), np.nan) if observed is None else observed,
            self.sources.decay_rate,
            self.sources.unbounded_ceiling,
            self.lifetime,
        )
        chosen = _paying(worth, self.price, now - self.last, self.sources.ceiling, self.sources.cost, self.lifetime)
        ids = np.flatnonzero(chosen & self.allowed(now))
        ids = ids[np.lexsort((ids, -worth[ids] / self.cost[ids]))]
        step = self.step * self.scale / (self.calls + 1.0) ** self.exponent
        self.price = next_price(self.price, step, budget, float(self.cost[ids].sum()))
        self.calls += 1
        self.away[ids] = True
        return ids


@njit(cache=True)
def _worths(
    slots: FloatArray, states: FloatArray, rate: FloatArray, unbounded: FloatArray, lifetime: FloatArray
) -> FloatArray:
    out = np.empty(len(slots))
    for i in range(len(slots)):
        if np.isnan(states[i]):
            out[i] = worth_after(min(slots[i], lifetime[i]), rate[i], unbounded[i])
        else:
            out[i] = states[i]
    return out


@njit(cache=True)
def _paying(
    worth: FloatArray,
    price: float,
    slots: FloatArray,
    ceiling: FloatArray,
    cost: FloatArray,
    lifetime: FloatArray,
) -> npt.NDArray[np.bool_]:
    out = np.empty(len(worth), dtype=np.bool_)
    for i in range(len(worth)):
        out[i] = pays(worth[i], price, slots[i], ceiling[i], cost[i], lifetime[i])
    return out
