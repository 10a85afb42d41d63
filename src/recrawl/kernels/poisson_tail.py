"""The chance of more than n events of a Poisson process, in bounded work.

R_n(x) = 1 − e^{−x} Σ_{j≤n} x^j/j!, the regularised incomplete gamma function P(n + 1, x). Whichever of the two sums, up
to n or beyond it, has falling terms is taken, so that neither a small chance nor its complement is a difference.

Symbols: n number of events, x their mean.
"""

from __future__ import annotations

import math

from recrawl.compiled_code import njit

NEGLIGIBLE = 1e-17
"""The share of a sum below which its next term is left out."""


@njit(cache=True)
def poisson_tail(n: int, x: float) -> float:
    """R_n(x), the chance of more than n events where x are expected; some √n terms of falling size at most."""
    if x <= 0.0:
        return 0.0
    if n == 0:
        return -math.expm1(-x)
    if x == math.inf:
        return 1.0
    share = math.exp(n * math.log(x) - x - math.lgamma(n + 1.0))
    term, total = 1.0, 0.0
    if x > n + 1.0:
        for j in range(n, -1, -1):
            total += term
            term *= j / x
            if term < NEGLIGIBLE * total:
                break
        return 1.0 - share * total
    j = n + 1
    while term > NEGLIGIBLE * total:
        term *= x / j
        total += term
        j += 1
    return share * total
