"""How fast the index grows, relative to itself.

With g(τ) = (v/C)·G(s), s = rτ, the relative growth d ln g/dτ is::

    r·s·e^{−s}/G(s),   2/τ where r = 0

which falls from infinity (a source just crawled) to 0 (a ripe one): ln g is concave in τ. It depends on neither value
nor cost.

Symbols: r rate (per time), τ age (time), s = rτ.
"""

from __future__ import annotations

import math

from recrawl.compiled_code import njit
from recrawl.kernels.continuous_index import EXHAUSTED, ripeness


@njit(cache=True)
def growth_at_age(rate: float, age: float) -> float:
    """d ln g/dτ at one age, per time; inf at age 0."""
    if rate <= 0.0:
        return 2.0 / age if age > 0.0 else math.inf
    s = rate * age
    if s > EXHAUSTED:
        return 0.0
    share = ripeness(s)
    return rate * s * math.exp(-s) / share if share > 0.0 else math.inf
