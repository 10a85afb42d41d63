"""The index of a page with signals whose news fade [docs/design/019].

Each change is worth w when it happens and fades at rate μ; a crawl finds the latest. A signal of long ago points to
news that have faded, so neither (τ, n) nor an effective age says enough. What does is the expected worth of a crawl
itself, X (in units of w). With α = (1−λ)Δ, γ = λΔ + ν and p = λΔ/γ, the chance that a signal is true::

    between signals  dX/dt = α − (α+μ)X, towards X* = α/(α+μ);     at a signal  X → X + p(1 − X)

Its drift, signals included, is Δ − (Δ+μ)X whatever the recall. The index at x is (w/C)·sup_T E₀[X_T − bT], b the best
mean rate of gain from x; the best T is the first passage of x. Three cases::

    x ≤ X*, x ≤ p:   (w/C)(Δ+μ) ∫₀^ι e^{−γs}(x − X(s)) ds,  X(ι) = x without a signal      (any signal ends the cycle)
    x > X*, x ≤ p:   (w/C)·x·(Δ+μ)/(Δ+μ+ν)                                                 (only a signal ends it)
    x > p:           several signals may be needed; no closed form, see `_climbing` and `_waiting`

Without signals it is `continuous_index` with value wΔ/(Δ+μ) and rate Δ+μ, without fading `change_signal_index`.

Like that one it is for known parameters; what ranks where they have to be learned is in `learning/signals`.

Symbols: Δ change_rate, λ recall, ν false_rate, μ decay, X, x worth. Inside time is in units of 1/(Δ+μ).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.continuous_index import ripeness
from recrawl.kernels.signal_index import over_pages, scaled, signal_ripeness, signal_step
from recrawl.records import FloatArray

CELLS = 128
"""Cells of the grid on which a cycle of several signals is followed where worth only rises."""
BRANCH = 24
"""Cells below and above X* of the grid where worth falls back after a signal."""
TRIFLING = 1e-3
"""The share of the worth below which a signal counts as part of the drift."""
LEAST_PIVOT = 1e-100
"""For a chain that as good as never leaves: its times come out beyond all measure instead of divided by 0."""


@njit(cache=True)
def _shares(slide: float, hush: float) -> tuple[float, float]:
    """∫₀¹ e^{−zt}·q dt for q = (e^{−kt} − e^{−k})/(1 − e^{−k}) and for 1 − q, with k = `slide` and z = `hush`.

    What a source at the near and at the far end of a cell, linear in the worth between them, adds before a signal.
    """
    if slide < 1e-3 and hush < 1e-3:
        # q = 1 − t − (k/2)·t(1 − t) to the order of k², z²
        return 0.5 - hush / 6.0 - slide / 12.0, 0.5 - hush / 3.0 + slide / 12.0
    whole = -math.expm1(-hush) / hush if hush > 0.0 else 1.0
    if slide < 1e-3:
        far = (whole - math.exp(-hush)) / hush
        bow = 0.5 * slide * (far - (2.0 * far - math.exp(-hush)) / hush)
        return whole - far - bow, far + bow
    both = -math.expm1(-hush - slide) / (hush + slide)
    near = (both - math.exp(-slide) * whole) / -math.expm1(-slide)
    return near, whole - near


@njit(cache=True)
def _single(worth: float, top: float, fading: float, heard: float) -> float:
    """x ≤ p, any signal ends the cycle: ∫₀^ι e^{−γs}(x − X(s)) ds where x < X*, and from there on x/(γ + α + μ)."""
    if worth >= top:
        return worth / (heard + fading)
    slide = -math.log1p(-worth / top)
    near, _ = _shares(slide, heard / fading * slide)
    return worth * near * slide / fading


@njit(cache=True)
def _read(grid: FloatArray, width: float, at: float, most: int) -> float:
    """A function on an even grid of `most` cells, linear between its points; 0 beyond."""
    k = int(at / width)
    if k >= most:
        return 0.0
    share = at / width - k
    return grid[k] * (1.0 - share) + grid[k + 1] * share


@njit(cache=True)
def _climbing(worth: float, top: float, fading: float, heard: float, trust: float) -> float:
    """F(0) for p < x ≤ X*: F(y) = ∫ e^{−γs}(x − y_s + γF(y_s + p(1 − y_s))) ds along the drift, from x downwards."""
    grid, width = np.zeros(CELLS + 1), worth / CELLS
    ahead = 0.0
    for k in range(CELLS - 1, -1, -1):
        y = k * width
        gap, rest = top - y, max(top - y - width, 0.0)
        jump = trust * (1.0 - y)
        own = max(1.0 - jump / width, 0.0)
        # the jump may land in this very cell, whose lower end is what is sought
        beyond = grid[k + 1] * jump / width if own > 0.0 else _read(grid, width, y + jump, CELLS)
        source = worth - y + heard * beyond
        if rest <= 0.0:
            near, far, left = 1.0 / (heard + fading), 0.0, 0.0
            far = max(1.0 / heard - near, 0.0)
        else:
            slide = math.log(gap / rest)
            hush = heard / fading * slide
            near, far = _shares(slide, hush)
            near, far, left = near * slide / fading, far * slide / fading, math.exp(-hush)
        grid[k] = (left * grid[k + 1] + near * source + far * ahead) / max(1.0 - near * heard * own, LEAST_PIVOT)
        ahead = source + heard * own * grid[k]
    return float(grid[0])


@njit(cache=True)
def _solve(system: FloatArray, sides: FloatArray) -> None:
    """Elimination in place; the system is that of a chain that leaves, so that no pivot is wanted."""
    count = len(system)
    for i in range(count):
        system[i, i] = max(system[i, i], LEAST_PIVOT)
        for j in range(i + 1, count):
            if system[j, i] != 0.0:
                factor = system[j, i] / system[i, i]
                for k in range(i + 1, count):
                    system[j, k] -= factor * system[i, k]
                for k in range(sides.shape[1]):
                    sides[j, k] -= factor * sides[i, k]
    for i in range(count - 1, -1, -1):
        for k in range(sides.shape[1]):
            for j in range(i + 1, count):
                sides[i, k] -= system[i, j] * sides[j, k]
            sides[i, k] /= system[i, i]


@njit(cache=True)
def _points(worth: float, top: float, needed: float) -> FloatArray:
    """Worths from 0 to x in order, with X* and the least worth from which one signal is enough among them."""
    count = 2 * BRANCH + 1
    points = np.empty(count + 1)
    for k in range(BRANCH):
        points[k] = top * k / BRANCH
        points[count - 1 - k] = worth - (worth - top) * k / BRANCH
    points[BRANCH] = top
    points[count] = needed
    return np.unique(points)


@njit(cache=True)
def _waiting(worth: float, top: float, fading: float, heard: float, trust: float) -> float:
    """The index for x > X* and x > p: cycles that only a signal ends, and perhaps not the first.

    L(y) and D(y), the mean length and worth of a cycle from y, are linear between points; then b = (D(x) − x)/L(x) and
    the index is D(0) − b·L(0).
    """
    needed = (worth - trust) / (1.0 - trust)
    points = _points(worth, top, needed)
    count = len(points)
    system, sides = np.zeros((count, count)), np.zeros((count, 2))
    centre = int(np.searchsorted(points, top))
    for i in range(count):
        system[i, i] += 1.0
        if i == centre:
            ends, weights, left, other = points[i] >= needed, (1.0 / heard, 0.0), 0.0, i
        else:
            other = i + 1 if i < centre else i - 1
            gap, rest = abs(points[i] - top), abs(points[other] - top)
            ends = min(points[i], points[other]) >= needed
            if other == centre:
                near = 1.0 / (heard + fading)
                weights, left = (near, max(1.0 / heard - near, 0.0)), 0.0
            else:
                slide = math.log(gap / rest)
                near, far = _shares(slide, heard / fading * slide)
                weights = (near * slide / fading, far * slide / fading)
                left = math.exp(-heard / fading * slide)
            system[i, other] -= left
        for which in range(2):
            weight = weights[which]
            y = points[i] if which == 0 else points[other]
            landing = y + trust * (1.0 - y)
            sides[i, 0] += weight
            if ends:
                sides[i, 1] += weight * heard * landing
            else:
                k = min(max(int(np.searchsorted(points, landing)), 1), count - 1)
                share = min((landing - points[k - 1]) / (points[k] - points[k - 1]), 1.0)
                system[i, k] -= weight * heard * share
                system[i, k - 1] -= weight * heard * (1.0 - share)
    _solve(system, sides)
    if not 0.0 < sides[count - 1, 0] < math.inf:
        return worth
    rate = (sides[count - 1, 1] - worth) / sides[count - 1, 0]
    index = sides[0, 1] - rate * sides[0, 0]
    return index if 0.0 <= index <= worth else worth


@njit(cache=True)
def fading_ripeness(change: float, recall: float, noise: float, worth: float) -> float:
    """The index in units of w/C; `change` is Δ/(Δ+μ), `noise` is ν/(Δ+μ)."""
    heard, fading = recall * change + noise, 1.0 - recall * change
    if worth <= 0.0 or change <= 0.0:
        return 0.0
    trust = recall * change / heard if heard > 0.0 else 0.0
    top = (1.0 - recall) * change / fading if fading > 0.0 else 0.0
    if worth <= trust:
        return _single(worth, top, fading, heard)
    if change >= 1.0 and worth < 1.0:
        level, step = -math.log1p(-worth), signal_step(recall, noise)
        if recall < 1.0:
            return signal_ripeness(recall, noise, level / (1.0 - recall), 0.0)
        if step <= 0.0:
            return ripeness(level)
        return signal_ripeness(recall, noise, 0.0, level / step)
    if trust < TRIFLING * worth or change >= 1.0:
        share = worth / change
        return change * (ripeness(-math.log1p(-share)) if share < 1.0 else 1.0)
    if worth <= top:
        return _climbing(worth, top, fading, heard, trust)
    return _waiting(worth, top, fading, heard, trust)


@njit(cache=True)
def _trust(change_rate: float, recall: float, false_rate: float) -> float:
    """p = λΔ/(λΔ + ν), the chance that a signal is true; 0 where there is none."""
    true_rate = recall * change_rate
    return 1.0 / (1.0 + false_rate / true_rate) if true_rate > 0.0 else 0.0


@njit(cache=True)
def _later(worth: float, change_rate: float, recall: float, decay: float, elapsed: float) -> float:
    """X after a time without signals: it nears X* = α/(α+μ)."""
    unseen = (1.0 - recall) * change_rate
    if (unseen <= 0.0 and decay <= 0.0) or elapsed <= 0.0:
        return worth
    top = 1.0 / (1.0 + decay / unseen) if unseen > 0.0 else 0.0
    # a rate of 0 adds 0 also over a time without end
    passed = (unseen * elapsed if unseen > 0.0 else 0.0) + (decay * elapsed if decay > 0.0 else 0.0)
    return worth - (top - worth) * math.expm1(-passed)


@njit(cache=True)
def _valid(change_rate: float, recall: float, false_rate: float, decay: float, worth: float) -> bool:
    return (
        0.0 <= change_rate < math.inf
        and 0.0 <= recall <= 1.0
        and 0.0 <= false_rate < math.inf
        and 0.0 <= decay < math.inf
        and 0.0 <= worth <= 1.0
    )


@njit(cache=True, nogil=True)
def fading_worths(
    change_rate: FloatArray,
    recall: FloatArray,
    false_rate: FloatArray,
    decay: FloatArray,
    elapsed: FloatArray,
    signals: FloatArray,
    worth: FloatArray,
    out: FloatArray,
) -> int:
    """Fill `out` with X after a time and then so many signals; the position of the first invalid element, or -1."""
    for i in range(len(out)):
        if not _valid(change_rate[i], recall[i], false_rate[i], decay[i], worth[i]):
            return i
        if not (elapsed[i] >= 0.0 and 0.0 <= signals[i] < math.inf):
            return i
        now = _later(worth[i], change_rate[i], recall[i], decay[i], elapsed[i])
        doubt = 1.0 - _trust(change_rate[i], recall[i], false_rate[i])
        out[i] = min(max(1.0 - (1.0 - now) * doubt ** signals[i], 0.0), 1.0) if signals[i] > 0.0 else now
    return -1


@njit(cache=True, nogil=True)
def fading_indices(
    change_rate: FloatArray,
    recall: FloatArray,
    false_rate: FloatArray,
    decay: FloatArray,
    worth: FloatArray,
    weight: FloatArray,
    cost: FloatArray,
    out: FloatArray,
) -> int:
    """Fill `out` with the index of each page; the position of the first invalid element, or -1."""
    for i in range(len(out)):
        if not _valid(change_rate[i], recall[i], false_rate[i], decay[i], worth[i]):
            return i
        if not (0.0 <= weight[i] < math.inf and 0.0 < cost[i] < math.inf):
            return i
        out[i] = 0.0
        if change_rate[i] > 0.0:
            # halves, so that the sum of two large rates is one
            both = 0.5 * change_rate[i] + 0.5 * decay[i]
            if both > 1e-300:
                change, noise = 0.5 * change_rate[i] / both, 0.5 * false_rate[i] / both
            else:
                change = change_rate[i] / (change_rate[i] + decay[i])
                noise = false_rate[i] / (change_rate[i] + decay[i])
            out[i] = scaled(fading_ripeness(min(change, 1.0), recall[i], noise, worth[i]), weight[i], 1.0, cost[i])
    return -1


def fading_worth(
    change_rate: npt.ArrayLike,
    recall: npt.ArrayLike,
    false_rate: npt.ArrayLike,
    decay: npt.ArrayLike,
    elapsed: npt.ArrayLike,
    signals: npt.ArrayLike = 0.0,
    worth: npt.ArrayLike = 0.0,
) -> FloatArray | float:
    """What a crawl is expected to find, in units of a new change, some time after `worth` and then after `signals`.

    Begin with 0 at a crawl, and call it at each signal with the time since the one before.

    >>> round(fading_worth(change_rate=0.1, recall=0.9, false_rate=0.05, decay=0.2, elapsed=2.0, signals=1), 6)
    0.64869
    """
    return over_pages(
        fading_worths,
        change_rate=change_rate,
        recall=recall,
        false_rate=false_rate,
        decay=decay,
        elapsed=elapsed,
        signals=signals,
        worth=worth,
    )


def fading_signal_index(
    change_rate: npt.ArrayLike,
    recall: npt.ArrayLike,
    false_rate: npt.ArrayLike,
    decay: npt.ArrayLike,
    worth: npt.ArrayLike,
    weight: npt.ArrayLike = 1.0,
    cost: npt.ArrayLike = 1.0,
) -> FloatArray | float:
    """The price at which crawling a page whose news fade is exactly worth it.

    Parameters
        change_rate: Δ, changes per time unit
        recall: λ, the probability that a change gives a signal
        false_rate: ν, signals per time unit that no change gave
        decay: μ, how fast the worth of a change fades
        worth: X, of :func:`fading_worth`, from 0 to 1
        weight: w, what a change is worth when it is new
        cost: C, what a crawl spends

    >>> round(fading_signal_index(change_rate=0.1, recall=0.9, false_rate=0.05, decay=0.2, worth=0.6), 6)
    0.514286
    """
    return over_pages(
        fading_indices,
        change_rate=change_rate,
        recall=recall,
        false_rate=false_rate,
        decay=decay,
        worth=worth,
        weight=weight,
        cost=cost,
    )
