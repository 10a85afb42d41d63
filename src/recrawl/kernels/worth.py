"""How interest fades: half of it is gone after each half-life.

What is left of an item's interest at age a is 2^(−a/h) = e^(−μa) with h the half-life and μ = ln 2/h the decay
[tcns2018, §II: interest ξ·e^(−μt)]. Learners forget in the same way: evidence of age a counts 2^(−a/memory).

Age and half-life are in the same unit of time, scalars or arrays. Compiled code may call `remaining` too.

Symbols: a `age`, h `half_life`, μ `decay` (per time).
"""

from __future__ import annotations

import math
from typing import overload

from numba.extending import register_jitable

from recrawl.records import FloatArray

LN2 = math.log(2.0)


@overload
def remaining(age: float, half_life: float) -> float: ...
@overload
def remaining(age: FloatArray, half_life: FloatArray | float) -> FloatArray: ...
@register_jitable
def remaining(age: FloatArray | float, half_life: FloatArray | float) -> FloatArray | float:
    """2^(−a/h): the share that is left at an age; 1 with an endless half-life."""
    return 2.0 ** (-age / half_life)


def faded(age: float, half_life: float) -> float:
    """1 − 2^(−a/h): the share that is gone, also where it is tiny."""
    return -math.expm1(-age * LN2 / half_life)


def mean_remaining(gap: float, half_life: float) -> float:
    """(1 − 2^(−g/h))/(g·μ): the share left, on average, of what came at an unknown moment of a gap."""
    decayed = gap * LN2 / half_life
    return 1.0 if decayed < 1e-9 else faded(gap, half_life) / decayed


@overload
def decay_of(half_life: float) -> float: ...
@overload
def decay_of(half_life: FloatArray) -> FloatArray: ...
def decay_of(half_life: FloatArray | float) -> FloatArray | float:
    """μ = ln 2/h, per time."""
    return LN2 / half_life


@overload
def half_life_of(decay: float) -> float: ...
@overload
def half_life_of(decay: FloatArray) -> FloatArray: ...
def half_life_of(decay: FloatArray | float) -> FloatArray | float:
    """h = ln 2/μ."""
    return LN2 / decay
