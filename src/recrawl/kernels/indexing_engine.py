"""When what a crawl found becomes visible, and what that leaves of its worth.

`tcns2018` leaves the dynamics of the indexing engine to the future: what a crawl finds is worth something to readers
only once it is indexed. Three things an engine may do, and what becomes of the index g(τ) of
:mod:`recrawl.kernels.continuous_index`:

*It takes time D.* A crawl at age τ is worth E[e^{−μD}]·v(1 − e^{−μτ}), so the index is E[e^{−μD}]·g(τ). Only the mean
of e^{−μD} counts, whatever the law of D; an exponential D has 1/(1 + μD̄). Where everything fades alike, nothing moves.

*It takes batches, one every T.* What is fetched waits for the next batch, x from now: a crawl is worth e^{−μx} of the
above. If crawls may be saved up, those at the moment of a batch are best, and the source is one in slots of length T:
the index after k batches is γ_k of Theorem 1 (:func:`recrawl.whittle_index_after`). If crawls are spread evenly over
time, some must be early; the index is then e^{−μx}·g(τ) at the moment of the choice, so that what fades slowly goes
first after a batch, and what fades fast right before the next.

*It has a capacity.* With a price κ per item indexed, an item is indexed if what it is worth when it is found, ξe^{−μa},
reaches κ, which is so up to the age A = ln(ξ/κ)/μ. The cost of the items younger than A grows as the age does, and
cancels in W − τW'; older items bring nothing. The index is g(min(τ, A)): it stops growing at A.

Batches are at whole multiples of T since the Unix epoch: those of a day begin at midnight UTC.

Symbols: D `delay`, T `batch`, x `batch_wait`, μ `decay`, κ `engine_price`, A `indexed_age`, ξ `interest`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from recrawl.kernels.continuous_index import continuous_index
from recrawl.records import FloatArray

ON_TIME = 1e-7
"""A batch is still reached by what is fetched so much of its period after it: the rounding of times."""


def batch_wait(now: npt.ArrayLike, batch: npt.ArrayLike) -> FloatArray:
    """x: the time from `now` to the next batch; 0 at the moment of one, and where `batch` is 0.

    >>> batch_wait([0.0, 1.0, 3600.0, 3601.0], [3600.0, 3600.0, 3600.0, 0.0]).tolist()
    [0.0, 3599.0, 0.0, 0.0]
    """
    time, period = np.asarray(now, np.float64), np.asarray(batch, np.float64)
    some = np.where(period > 0.0, period, 1.0)
    passed = time / some
    left = (np.ceil(passed - ON_TIME) - passed) * some
    return np.where(period > 0.0, np.maximum(left, 0.0), 0.0)


def visible_share(decay: npt.ArrayLike, wait: npt.ArrayLike) -> FloatArray:
    """e^{−μ·wait}: what is left of a worth once it is visible.

    >>> visible_share(np.log(2.0), [0.0, 1.0, 2.0]).round(3).tolist()
    [1.0, 0.5, 0.25]
    """
    return np.exp(-np.asarray(decay, np.float64) * np.asarray(wait, np.float64))


def exponential_delay_share(decay: npt.ArrayLike, mean_delay: npt.ArrayLike) -> FloatArray:
    """E[e^{−μD}] = 1/(1 + μD̄), where D is exponential with mean D̄."""
    return 1.0 / (1.0 + np.asarray(decay, np.float64) * np.asarray(mean_delay, np.float64))


def even_batch_share(decay: npt.ArrayLike, batch: npt.ArrayLike) -> FloatArray:
    """(1 − e^{−μT})/(μT): the mean of e^{−μx} over crawls at any time between two batches.

    >>> even_batch_share(1.0, [0.0, 1.0]).round(4).tolist()
    [1.0, 0.6321]
    """
    faded = np.asarray(decay, np.float64) * np.asarray(batch, np.float64)
    some = np.where(faded > 1e-9, faded, 1.0)
    return np.where(faded > 1e-9, -np.expm1(-some) / some, 1.0)


def indexed_age(interest: npt.ArrayLike, decay: npt.ArrayLike, engine_price: float) -> FloatArray:
    """A = ln(ξ/κ)/μ: the age up to which an item is worth its place in the index; 0 for none, inf for ever.

    >>> indexed_age([1.0, 2.0, 0.4], np.log(2.0), 0.5).round(3).tolist()
    [1.0, 2.0, 0.0]
    """
    with np.errstate(divide="ignore"):
        age = np.log(np.asarray(interest, np.float64) / engine_price) / np.asarray(decay, np.float64)
    return np.maximum(age, 0.0)


def capacity_index(
    value: npt.ArrayLike,
    rate: npt.ArrayLike,
    age: npt.ArrayLike,
    interest: npt.ArrayLike,
    engine_price: float,
    cost: npt.ArrayLike = 1.0,
) -> FloatArray:
    """g(min(τ, A)): the index where the engine takes only items that are worth its price.

    >>> capacity_index(2.0, 1.0, [1.0, 5.0, 9.0], 1.0, np.exp(-5.0)).round(4).tolist()
    [0.5285, 1.9191, 1.9191]
    """
    furthest = indexed_age(interest, rate, engine_price)
    return np.asarray(continuous_index(value, rate, np.minimum(age, furthest), cost))
