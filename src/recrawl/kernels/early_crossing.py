"""A cheap lower bound of the age at which the index reaches a price: for alarms that may ring early, never late.

G(s) = p is the same as s − ln(1 + s) = L with L = −ln(1 − p). In w = √(2L) its solution is a smooth function,
s = w + w²/3 + w³/36 − …, the variable of Lambert's W at its branch point. On 0 ≤ w ≤ 3, that is p up to 0.988, a
polynomial is within 2.7·10⁻⁷ of s/w everywhere; lowered by 5·10⁻⁷ it is a bound. The coefficients interpolate s/w at
the Chebyshev nodes.

Symbols: p = λC/v share of the full price, s = rτ, G(s) = 1 − (1 + s)e^{−s}.
"""

from __future__ import annotations

import math

from recrawl.compiled_code import njit

# Shares below this have the cheap bound.
EASY = 0.988
_BELOW = 1.0 - 5e-7


@njit(cache=True)
def ripening_at_most(share: float) -> float:
    """A number at most 10⁻⁶ of it below the s with G(s) = share, and never above it; for shares in [0, EASY)."""
    w = math.sqrt(-2.0 * math.log1p(-share))
    end = -0.00380741107008 + w * (0.000344623383001 + w * (-1.04918316848e-05 - w * 7.85104741658e-07))
    return _BELOW * w * (1.00000026114 + w * (0.333324731681 + w * (0.027825607702 + w * end)))
