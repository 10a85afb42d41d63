"""How often to crawl each page under a budget of crawls per time unit, by two published closed forms.

Page i changes at rate Δ_i and has weight w_i; crawled at rate ρ_i it is fresh, under the assumptions of each paper,
for a share of the time that is concave in ρ_i. Both maximise Σ w_i·(that share) subject to Σρ_i = R.

*LambdaCrawl* (Kolobov et al., NeurIPS 2019) puts a price λ on a crawl::

    ρ_i = ½(−Δ_i + √(Δ_i² + 4 w_i Δ_i/λ)),   λ such that Σρ_i = R

Every page that changes gets some crawls.

*Azar et al.* (PNAS 2018)::

    ρ_i = max(0, √(w_i Δ_i)·(R + S)/r − Δ_i),   S = ΣΔ and r = Σ√(wΔ) over the active pages

The active pages are a prefix of the pages by falling w/Δ: the longest one in which nobody's rate is negative. Fast
pages of little weight get no crawl at all.

Symbols: Δ change rate, w weight, ρ crawl rate, R budget, λ price; rates are per time unit, all the same one.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.arguments import aligned
from recrawl.records import FloatArray, IntArray, checked

_HALVINGS = 60


@njit(cache=True)
def rate_at_price(change: float, worth_per_price: float) -> float:
    """ρ of LambdaCrawl at w/λ, written without cancellation; 0 for a page that never changes."""
    q = worth_per_price * change
    return 2.0 * q / (change + math.sqrt(change * change + 4.0 * q)) if q > 0.0 else 0.0


@njit(cache=True)
def _rates(change: FloatArray, worth_per_price: FloatArray) -> FloatArray:
    out = np.empty(len(change))
    for i in range(len(change)):
        out[i] = rate_at_price(change[i], worth_per_price[i])
    return out


@njit(cache=True)
def averaged_rates(
    ids: IntArray,
    mass: npt.NDArray[np.float32],
    change: npt.NDArray[np.float32],
    worth: FloatArray,
    hidden: FloatArray,
    inverse_price: float,
    hopeless: float,
    out: FloatArray,
) -> float:
    """Fill `out` at these ids with ρ averaged over the atoms of what is believed of Δ; returns their sum.

    `worth` and `hidden` are one entry per id; the other arrays have a row per page. `hidden` is the share of a page's
    changes that crawls have to find: of the others word will come, and ρ(ρ + Δ) = w·hidden·Δ/λ.
    w/λ is the rate that ρ tends to as Δ grows. A page that changes many times in between cannot be kept fresh, so a
    possible rate of `hopeless` times that counts half, and faster ones less.
    """
    total = 0.0
    for k in range(len(ids)):
        i, most = ids[k], worth[k] * inverse_price
        out[i] = 0.0
        for a in range(mass.shape[1]):
            if most > 0.0:
                crowding = 1.0 + change[i, a] / (hopeless * most)
                out[i] += mass[i, a] * rate_at_price(change[i, a], most * hidden[k]) / crowding
        total += out[i]
    return total


def _checked(
    change_rate: npt.ArrayLike, budget: float, weight: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, float, tuple[int, ...]]:
    (change, worth), shape = aligned(
        {
            "change_rate": checked("change_rate", change_rate, "finite and >= 0"),
            "weight": checked("weight", weight, "finite and >= 0"),
        }
    )
    return change, worth, float(checked("budget", budget, "finite and > 0", open_low=True)), shape


def lambda_crawl_rates(change_rate: npt.ArrayLike, budget: float, weight: npt.ArrayLike = 1.0) -> FloatArray:
    """ρ of LambdaCrawl; 0 for pages that never change or weigh nothing.

    >>> lambda_crawl_rates([1.0, 1.0], 3.0).tolist()
    [1.5, 1.5]
    """
    change, worth, limit, shape = _checked(change_rate, budget, weight)
    out = np.zeros(len(change))
    useful = (change > 0) & (worth > 0)
    if useful.any():
        out[useful] = _at_price(change[useful], worth[useful], limit)
    return out.reshape(shape)


def _at_price(change: FloatArray, worth: FloatArray, budget: float) -> FloatArray:
    """Bisect on log(1/λ). A rate is at most √(wΔ/λ), and at least the smaller of half that and w/(2λ)."""

    def rates(inverse_price: float) -> FloatArray:
        return _rates(change, worth * inverse_price)

    low = 2.0 * np.log(budget / np.sqrt(worth * change).sum())
    high = low
    while rates(float(np.exp(high))).sum() < budget:
        high += 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if rates(float(np.exp(middle))).sum() < budget:
            low = middle
        else:
            high = middle
    found = rates(float(np.exp(high)))
    return found * (budget / found.sum())


def azar_rates(change_rate: npt.ArrayLike, budget: float, weight: npt.ArrayLike = 1.0) -> FloatArray:
    """ρ of Azar et al.; 0 for inactive pages.

    >>> azar_rates([1.0, 1.0, 100.0], 2.0).tolist()
    [1.0, 1.0, 0.0]
    """
    change, worth, limit, shape = _checked(change_rate, budget, weight)
    out = np.zeros(len(change))
    useful = np.flatnonzero((change > 0) & (worth > 0))
    if len(useful):
        order = useful[np.argsort(-(worth[useful] / change[useful]), kind="stable")]
        root = np.sqrt(worth[order] * change[order])
        pace = (limit + np.cumsum(change[order])) / np.cumsum(root)
        # With pages by falling w/Δ, the last of a prefix is the first to go negative.
        active = int(np.flatnonzero(root * pace > change[order])[-1]) + 1
        out[order[:active]] = root[:active] * pace[active - 1] - change[order[:active]]
    return out.reshape(shape)
