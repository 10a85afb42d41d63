"""What a slot brings to a source: the laws of the inflow U [tcns2018, §VIII].

=============  =====================================================================================
``None``       the mean, u
``"poisson"``  items arrive by a Poisson process, each worth the mean interest when new
``"item"``     the same, each item's interest exponential
``"epoch"``    the same as "poisson", the interest of a slot's items one common exponential number
``"change"``   changing pages: the page changes with its probability, worth its importance until crawled
=============  =====================================================================================

Items are drawn one by one, with their times, unless more than `EXACT_ITEMS` matter at the end of a slot (those of the
last 1/r of it, where interest fades at r > 1 per slot). Then the sum over items is drawn from the shifted gamma law
that has its mean, variance and skewness: the cumulants of the compound Poisson sum are κ_n = Λ·E[ξⁿ]·(1 − αⁿ)/(nμ).
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from recrawl.errors import ParameterError
from recrawl.records import FloatArray, Sources
from recrawl.sim.randomness import Streams, exponential, gamma, poisson, streams, uniform

Noise = Literal["poisson", "item", "epoch", "change"] | None
STEADY, POISSON, ITEM, EPOCH, CHANGE = range(5)
_CODES: dict[Noise, int] = {None: STEADY, "poisson": POISSON, "item": ITEM, "epoch": EPOCH, "change": CHANGE}
EXACT_ITEMS = 32.0


MEAN, RATE, ITEMS, WINDOW, INTEREST, SHAPE, SCALE, SHIFT = range(8)
# Items older than this many times 1/r are worth e^−40 and not drawn.
FADED = 40.0


class NoiseLaw(NamedTuple):
    """The law of every source's inflow, ready for the compiled draw: one row of numbers (MEAN to SHIFT) per source."""

    code: int
    numbers: FloatArray


def noise_law(sources: Sources, noise: Noise) -> NoiseLaw:
    """The law for these sources, or an error if this noise does not fit them."""
    if not (noise is None or isinstance(noise, str)) or noise not in _CODES:
        raise ParameterError("noise", "None, 'poisson', 'item', 'epoch' or 'change'", repr(noise))
    fitting: tuple[Noise, ...] = (None, "change") if sources.kind == "changing" else (None, "poisson", "item", "epoch")
    if noise not in fitting:
        raise ParameterError("noise", f"one of {fitting} for {sources.kind} sources", repr(noise))
    if noise is not None and sources.lifetime_form == "paper" and np.isfinite(sources.lifetime).any():
        raise ParameterError("noise", "None where lifetimes take the paper's form (a mean, not a law)", repr(noise))
    code = _CODES[noise]
    rate, items = sources.decay_rate, sources.arrivals_per_slot
    # E[ξⁿ]/ξ̄ⁿ is 1 for equal items, n! for exponential ones.
    second, third = (2.0, 6.0) if code == ITEM else (1.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        k1 = items * -np.expm1(-rate) / rate
        k2 = items * second * -np.expm1(-2 * rate) / (2 * rate)
        k3 = items * third * -np.expm1(-3 * rate) / (3 * rate)
        shape, scale = np.nan_to_num(4 * k2**3 / k3**2), np.nan_to_num(k3 / (2 * k2))
        shift = np.nan_to_num(k1 - shape * scale)
        window = np.where(rate > FADED, FADED / rate, 1.0)
    # No shape says that items are drawn one by one.
    shape[items / np.maximum(rate, 1.0) <= EXACT_ITEMS] = 0.0
    columns = (sources.inflow, rate, items, window, sources.interest, shape, scale, shift)
    return NoiseLaw(code, np.ascontiguousarray(np.stack(columns, axis=1)))


@njit(cache=True)
def draw_inflow(code: int, numbers: FloatArray, i: int, stream: Streams) -> float:
    """One slot's inflow of source i, advancing its stream."""
    if code == STEADY:
        return numbers[i, MEAN]
    items, interest, rate = numbers[i, ITEMS], numbers[i, INTEREST], numbers[i, RATE]
    if code == CHANGE:
        return interest if uniform(stream, i) < items else 0.0
    total = 0.0
    if numbers[i, SHAPE] == 0.0:
        window = numbers[i, WINDOW]
        for _ in range(poisson(stream, i, items * window)):
            fading = math.exp(-rate * window * uniform(stream, i))
            total += fading * exponential(stream, i) if code == ITEM else fading
    else:
        total = max(0.0, numbers[i, SHIFT] + numbers[i, SCALE] * gamma(stream, i, numbers[i, SHAPE]))
    if code == EPOCH:
        total *= exponential(stream, i)
    return total * interest


@njit(cache=True)
def _draw_inflows(code: int, numbers: FloatArray, stream: Streams, slots: int) -> FloatArray:
    out = np.empty((slots, len(numbers)))
    for t in range(slots):
        for i in range(len(numbers)):
            out[t, i] = draw_inflow(code, numbers, i, stream)
    return out


def sample_inflow(sources: Sources, noise: Noise, size: int, seed: int = 0) -> FloatArray:
    """`size` independent slots' inflows, one column per source: what `stochastic_index` is made from.

    >>> from recrawl.records import Sources
    >>> sample_inflow(Sources.ephemeral(2.0, 1.0, 0.5), "poisson", size=3).shape
    (3, 1)
    """
    law = noise_law(sources, noise)
    return _draw_inflows(law.code, law.numbers, streams(seed, 0, len(sources)), size)
