"""What a slot brings to a source: the laws of the inflow U [tcns2018, §VIII].

=============  =====================================================================================
``None``       the mean, u
``"poisson"``  items arrive by a Poisson process, each worth the mean interest when new
``"item"``     the same, each item's interest exponential
``"epoch"``    the same as "poisson", the interest of a slot's items one common exponential number
``"change"``   changing pages: the page changes with its probability, worth its importance until crawled
=============  =====================================================================================

Most slots of most sources bring nothing, and that is seen from one number per source, which are drawn for all of them
in vector instructions; only sources to which something comes are looked at one by one.

Items are drawn one by one, with their times, unless more than `EXACT_ITEMS` matter at the end of a slot (those of the
last 1/r of it, where interest fades at r > 1 per slot). Then the sum over items is drawn from the shifted gamma law
that has its mean, variance and skewness: the cumulants of the compound Poisson sum are κ_n = Λ·E[ξⁿ]·(1 − αⁿ)/(nμ).
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from recrawl.compiled_code import njit
from recrawl.errors import ParameterError
from recrawl.kernels.elementary import vector_exp
from recrawl.records import FloatArray, IntArray, Sources
from recrawl.scheduling.compiled import inner
from recrawl.sim.randomness import (
    IN_ONE_PART,
    Streams,
    exponential,
    gamma,
    give_back,
    mixed,
    poisson,
    poisson_at,
    skip,
    state_after,
    streams,
    uniform,
    uniforms,
)

Noise = Literal["poisson", "item", "epoch", "change"] | None
STEADY, POISSON, ITEM, EPOCH, CHANGE = range(5)
_CODES: dict[Noise, int] = {None: STEADY, "poisson": POISSON, "item": ITEM, "epoch": EPOCH, "change": CHANGE}
EXACT_ITEMS = 32.0


MEAN, RATE, ITEMS, WINDOW, INTEREST, SHAPE, SCALE, SHIFT = range(8)
# No quantile of a Poisson law drawn in one part is as large as this: there the probabilities are 0 in double precision.
MOST_ITEMS = 512
# As many chances are kept for each source, and as many items written at once, needed or not.
FEW, AT_ONCE = 8, 4
# Items older than this many times 1/r are worth e^−40 and not drawn.
FADED = 40.0


class NoiseLaw(NamedTuple):
    """The law of every source's inflow, ready for the compiled draw: one row of numbers (MEAN to SHIFT) per source."""

    code: int
    numbers: FloatArray
    nothing: FloatArray
    """A slot brings nothing if the first number drawn for it is at most this; below 0 where that cannot tell."""
    few: FloatArray
    """It brings at most k items if that number is at most column k."""


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
    one_by_one = (shape == 0.0) & (items * window <= IN_ONE_PART)
    nothing = np.where(one_by_one, np.exp(-items * window), -1.0)
    return NoiseLaw(code, np.ascontiguousarray(np.stack(columns, axis=1)), nothing, _few(items * window, nothing))


def _few(mean: FloatArray, nothing: FloatArray) -> FloatArray:
    """The chances of at most 0, 1, … items, as `poisson_at` adds them up."""
    out = np.empty((len(mean), FEW))
    term = nothing
    out[:, 0] = below = nothing
    for count in range(1, FEW):
        term = term * (mean / count)
        below = below + term
        out[:, count] = below
    return out


@inner
def _inflow(code: int, numbers: FloatArray, i: int, stream: Streams) -> float:
    """One slot's inflow of source i by itself, advancing its stream."""
    interest, rate = numbers[i, INTEREST], numbers[i, RATE]
    total = 0.0
    if numbers[i, SHAPE] == 0.0:
        window = numbers[i, WINDOW]
        for _ in range(poisson(stream, i, numbers[i, ITEMS] * window)):
            fading = math.exp(-rate * window * uniform(stream, i))
            total += fading * exponential(stream, i) if code == ITEM else fading
    else:
        total = max(0.0, numbers[i, SHIFT] + numbers[i, SCALE] * gamma(stream, i, numbers[i, SHAPE]))
    if code == EPOCH:
        total *= exponential(stream, i)
    return total * interest


class Inflow(NamedTuple):
    """What a slot brings to every source, and the room to draw it."""

    fresh: FloatArray
    busy: IntArray
    """Those to which something comes."""
    owner: IntArray
    """Of each item."""
    state: Streams
    """The state of its owner's stream that its time comes from."""
    fading: FloatArray
    """How far its worth fades in a whole slot, then until the end of this slot."""


def inflow_room(count: int) -> Inflow:
    """Room to draw the inflow of so many sources."""
    items = 2 * MOST_ITEMS + AT_ONCE
    owner, state = np.empty(items, np.int64), np.empty(items, np.uint64)
    return Inflow(np.empty(count), np.empty(count, np.int64), owner, state, np.empty(items))


@inner
def _busy(law: NoiseLaw, stream: Streams, room: Inflow) -> int:
    """Gather those to which something comes, `fresh` being the numbers drawn first; how many there are."""
    fresh, busy, nothing = room.fresh, room.busy, law.nothing
    count = 0
    for i in range(len(fresh)):
        busy[count] = i
        count += fresh[i] > nothing[i]
    if law.code == EPOCH:
        for i in range(len(fresh)):
            if fresh[i] <= nothing[i]:
                skip(stream, i)
    for i in range(len(fresh)):
        fresh[i] = fresh[i] if fresh[i] > nothing[i] else 0.0
    return count


@inner
def _item_count(law: NoiseLaw, i: int, u: float) -> int:
    """How many items come if the first number drawn is u."""
    few, count = law.few, 0
    for k in range(FEW):
        count += u > few[i, k]
    if count < FEW:
        return count
    return poisson_at(u, law.numbers[i, ITEMS] * law.numbers[i, WINDOW], few[i, 0])


@inner
def _draw_batch(law: NoiseLaw, stream: Streams, room: Inflow, start: int, count: int) -> int:
    """Draw the inflow of some of those to which something comes, from place `start` on; where the next ones start.

    Without branches for each item: how many there are cannot be foreseen, and a processor that guesses wrong loses
    more time than it takes to draw one.
    """
    code, numbers, nothing, _ = law
    fresh, busy, owner, state, fading = room
    place, filled = start, 0
    while place < count and filled <= MOST_ITEMS:
        i = busy[place]
        place += 1
        if nothing[i] < 0.0 or code == ITEM:
            give_back(stream, i)
            fresh[i] = _inflow(code, numbers, i, stream)
            continue
        items, last = _item_count(law, i, fresh[i]), numbers[i, RATE] * numbers[i, WINDOW]
        fresh[i] = 0.0
        for first in range(0, items, AT_ONCE):
            for k in range(filled + first, filled + first + AT_ONCE):
                owner[k], fading[k], state[k] = i, -last, state_after(stream, i, k - filled + 1)
        filled += items
        stream[i] = state_after(stream, i, items)
    for k in range(filled):
        fading[k] = vector_exp(fading[k] * mixed(state[k]))
    for k in range(filled):
        fresh[owner[k]] += fading[k]
    for k in range(start, place):
        i = busy[k]
        if nothing[i] >= 0.0 and code != ITEM:
            total = fresh[i] * exponential(stream, i) if code == EPOCH else fresh[i]
            fresh[i] = total * numbers[i, INTEREST]
    return place


@inner
def draw_inflows(law: NoiseLaw, stream: Streams, room: Inflow) -> None:
    """Fill `room.fresh` with one slot's inflow of every source, advancing their streams."""
    code, numbers, fresh = law.code, law.numbers, room.fresh
    if code == STEADY:
        for i in range(len(fresh)):
            fresh[i] = numbers[i, MEAN]
        return
    uniforms(stream, fresh)
    if code == CHANGE:
        for i in range(len(fresh)):
            fresh[i] = numbers[i, INTEREST] if fresh[i] < numbers[i, ITEMS] else 0.0
        return
    count, place = _busy(law, stream, room), 0
    while place < count:
        place = _draw_batch(law, stream, room, place, count)


@njit(cache=True)
def _draw_slots(law: NoiseLaw, stream: Streams, room: Inflow, out: FloatArray) -> None:
    for t in range(len(out)):
        draw_inflows(law, stream, room)
        out[t] = room.fresh


def sample_inflow(sources: Sources, noise: Noise, size: int, seed: int = 0) -> FloatArray:
    """`size` independent slots' inflows, one column per source: what `stochastic_index` is made from.

    >>> from recrawl.records import Sources
    >>> sample_inflow(Sources.ephemeral(2.0, 1.0, 0.5), "poisson", size=3).shape
    (3, 1)
    """
    out = np.empty((size, len(sources)))
    _draw_slots(noise_law(sources, noise), streams(seed, 0, len(sources)), inflow_room(len(sources)), out)
    return out
