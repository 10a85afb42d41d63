"""What finding out is worth: a crawl brings items, and tells the rate at which they come.

With a Gamma(A, B) belief about the rate r, a crawl after the exposure N removes the share N/(B + N) of the variance 1/A
of log r. The index is raised by that standard deviation times a factor, so that sources gone quiet are looked at again.
"""

from __future__ import annotations

import math

from recrawl.compiled_code import njit


@njit(cache=True)
def information(shape: float, scale_rate: float, exposure: float) -> float:
    """The standard deviation of log r, under a Gamma(A, B) belief, that a crawl after exposure N would remove."""
    known = exposure / (scale_rate + exposure) if exposure < math.inf else 1.0
    return math.sqrt(known / max(shape, 1e-3))


@njit(cache=True)
def raised(index: float, shape: float, scale_rate: float, exposure: float, bonus: float) -> float:
    """The index with what finding out is worth."""
    return index * (1.0 + bonus * information(shape, scale_rate, exposure))
