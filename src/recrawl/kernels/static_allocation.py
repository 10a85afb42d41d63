"""The best static randomised policy: how often to crawl each page when the choice is a fixed lottery.

Page k changes in a slot with probability Δ_k and is crawled in a slot with probability p_k, whatever happened before.
It is then fresh for a share p_k/(p_k + Δ_k − Δ_k p_k) of the slots, so that with weights μ_k the problem is
[icc2021, (8)]::

    maximise F(p) = Σ_k n_k μ_k p_k/(p_k + Δ_k − Δ_k p_k)   subject to   Σ_k n_k C_k p_k = M,  0 ≤ p_k ≤ 1

with n_k pages of a kind, C_k the cost of a crawl and M the budget per slot (in the paper n = C = M = 1). A crawl finds
a change with probability Δ_k/(p_k + Δ_k − Δ_k p_k), so finding changes worth w_k each is the same problem with
μ_k = w_k Δ_k, and for a source of ceiling u* and decay factor α the same again with Δ = 1 − α and μ = u*(1 − α).

F is concave. At the price λ of a unit of budget the best p_k is (√(μ_k Δ_k/(λC_k)) − Δ_k)/(1 − Δ_k) cut to [0, 1]: it
leaves 0 as λ falls below μ_k/(Δ_k C_k) and reaches 1 at λ = μ_k Δ_k/C_k. Between two neighbouring such points the spend
is a + b/√λ, so λ is found exactly: bisect over the sorted points, then solve. A page with Δ = 1 jumps from 0 to 1 at
λ = μ/C; if the budget ends within a jump, the pages that jump there share what is left.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError
from recrawl.kernels.arguments import aligned
from recrawl.records import FloatArray, checked


def freshness(probability: npt.ArrayLike, change_probability: npt.ArrayLike, weight: npt.ArrayLike) -> float:
    """F(p) of [icc2021, (8)]; a page that never changes counts as fresh if it is ever crawled.

    >>> round(freshness([0.942, 0.055, 0.003, 0], [0.6, 0.08, 0.01, 0.3], [5, 0.2, 1, 0.5]), 3)
    5.137
    """
    p = checked("probability", probability, "a probability in [0, 1]", high=1.0)
    change = checked("change_probability", change_probability, "a probability in [0, 1]", high=1.0)
    per_slot = p + change - change * p
    share = np.divide(p, per_slot, out=np.zeros(np.broadcast(p, per_slot).shape), where=per_slot > 0)
    return float((np.asarray(weight) * share).sum())


def lottery_reward(
    probability: npt.ArrayLike,
    change_probability: npt.ArrayLike,
    importance: npt.ArrayLike,
    pages: npt.ArrayLike = 1.0,
) -> float:
    """What a lottery over groups of alike pages finds per slot, each crawl taking the next page of its group in turn.

    Group k is drawn with probability P_k in every slot, so a page of its n_k waits for n_k draws, and each passes
    without a change with chance g_k = P_k(1 − Δ_k)/(P_k + Δ_k − Δ_k P_k): the reward is Σ_k P_k w_k (1 − g_k^{n_k}).

    >>> round(lottery_reward([0.25] * 4, [0.6, 0.08, 0.01, 0.3], [5, 0.2, 1, 0.5]), 3)
    1.173
    """
    p = checked("probability", probability, "a probability in [0, 1]", high=1.0)
    change = checked("change_probability", change_probability, "a probability in [0, 1]", high=1.0)
    per_slot = p + change - change * p
    passed = np.divide(p * (1.0 - change), per_slot, out=np.ones(np.broadcast(p, per_slot).shape), where=per_slot > 0)
    return float((p * np.asarray(importance) * (1.0 - passed ** np.asarray(pages))).sum())


def static_allocation(
    change_probability: npt.ArrayLike,
    weight: npt.ArrayLike,
    budget: float = 1.0,
    cost: npt.ArrayLike = 1.0,
    pages: npt.ArrayLike = 1.0,
) -> FloatArray:
    """The crawl probability of one page of each kind that maximises F within the budget.

    Where the whole budget cannot be put to use (pages that never change, or of no weight, gain nothing), less is
    spent.

    >>> static_allocation([0.6, 0.08, 0.01, 0.3], [5, 0.2, 1, 0.5]).round(4).tolist()
    [0.9529, 0.0, 0.0471, 0.0]
    """
    names = {
        "change_probability": checked("change_probability", change_probability, "a probability in [0, 1]", high=1.0),
        "weight": checked("weight", weight, "finite and >= 0"),
        "cost": checked("cost", cost, "finite and > 0", open_low=True),
        "pages": checked("pages", pages, "a finite number of pages > 0", open_low=True),
    }
    limit = float(checked("budget", budget, "finite and > 0", open_low=True))
    (change, gain, spend_each, count), shape = aligned(names)
    if len(shape) > 1:
        raise ParameterError("change_probability", "one-dimensional (one element per kind of page)", f"shape {shape}")
    out = np.zeros(len(change))
    useful = (change > 0) & (gain > 0)
    each = spend_each * count
    out[useful] = _allocate(change[useful], gain[useful] / spend_each[useful], each[useful], limit)
    return out


def _allocate(change: FloatArray, gain: FloatArray, each: FloatArray, budget: float) -> FloatArray:
    """The allocation for pages all worth crawling; `gain` is per cost, `each` the spend at probability 1."""
    if each.sum() <= budget:
        return np.ones(len(change))
    points = np.unique(np.concatenate([gain / change, gain * change]))
    low, high = -1, len(points) - 1
    # Invariant: above points[high] at most the budget is spent, above points[low] more (everything, above no point).
    while high - low > 1:
        middle = (low + high) // 2
        if each @ _best(change, gain, points[middle]) <= budget:
            high = middle
        else:
            low = middle
    probability = _best(change, gain, points[high])
    jump = (change == 1.0) & (gain == points[high])
    left = budget - float(each @ probability)
    if float(each[jump].sum()) >= left or low < 0:
        probability[jump] = min(1.0, left / float(each[jump].sum())) if jump.any() else 0.0
        return probability
    return _best(change, gain, _price_between(change, gain, each, budget, points[low], points[high]))


def _best(change: FloatArray, gain: FloatArray, price: float) -> FloatArray:
    """The best probabilities at a price; just above it where one jumps there."""
    room = 1.0 - change
    inside = np.divide(np.sqrt(gain * change / price) - change, room, out=np.zeros_like(room), where=room > 0)
    return np.where(room > 0, np.clip(inside, 0.0, 1.0), (gain > price).astype(np.float64))


def _price_between(
    change: FloatArray, gain: FloatArray, each: FloatArray, budget: float, low: float, high: float
) -> float:
    """The price in an interval without points at which the budget is spent exactly: the spend there is a + b/√λ."""
    full = gain * change >= high
    partly = ~full & (gain / change >= high)
    room = 1.0 - change[partly]
    slope = float((each[partly] * np.sqrt(gain[partly] * change[partly]) / room).sum())
    rest = budget - float(each[full].sum()) + float((each[partly] * change[partly] / room).sum())
    return min(max((slope / rest) ** 2, low), high)
