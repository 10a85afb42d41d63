"""A cheap lower bound of the age at which the index reaches a price: for alarms that may ring early, never late.

The exact inverse solves G(s) = p by iteration. For p < 1/2 a polynomial in w = √(2p), the variable of Lambert's W at
its branch point, is within 3.4·10⁻⁶ of s/w everywhere; lowered by 5·10⁻⁶ it is a bound. The coefficients interpolate
s/w at the Chebyshev nodes of [0, 1].

Symbols: p = λC/v share of the full price, s = rτ, G(s) = 1 − (1 + s)e^{−s}.
"""

from __future__ import annotations

import math

from numba import njit

# Shares below this have the cheap bound.
EASY = 0.5
_BELOW = 1.0 - 5e-6


@njit(cache=True)
def ripening_at_most(share: float) -> float:
    """A number at most 0.001 % below the s with G(s) = share, and never above it; for shares in [0, 1/2)."""
    w = math.sqrt(2.0 * share)
    end = 0.419940827 + w * (-0.95872761 + w * (1.45637625 + w * (-1.10633029 + w * 0.371558582)))
    return _BELOW * w * (1.00000187 + w * (0.333031271 + w * (0.160665471 + w * (0.00182497535 + w * end))))
