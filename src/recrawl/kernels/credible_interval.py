"""Where a positive quantity lies, from its mean and standard deviation.

A posterior of a rate or value lives on a logarithmic scale, so its interval is that of the lognormal law with the same
two moments::

    σ² = ln(1 + (sd/mean)²),   quantile p = mean·exp(z_p σ − σ²/2)

with z_p the standard normal quantile.
"""

from __future__ import annotations

import math
from statistics import NormalDist

WIDEST = 1e100
"""The largest ratio of standard deviation to mean that is told apart: beyond it, nothing is known."""


def lognormal_interval(mean: float, sd: float, level: float = 0.9) -> tuple[float, float]:
    """The central interval that holds `level` of the lognormal law with this mean and standard deviation.

    NaN where a moment is; the mean itself where the standard deviation is 0.

    >>> low, high = lognormal_interval(2.0, 1.0)
    >>> round(low, 3), round(high, 3)
    (0.822, 3.891)
    """
    if math.isnan(mean) or math.isnan(sd):
        return math.nan, math.nan
    if mean <= 0.0 or sd <= 0.0:
        return mean, mean
    ratio = min(sd / mean, WIDEST)
    spread = math.sqrt(math.log1p(ratio * ratio))
    reach = NormalDist().inv_cdf(0.5 + 0.5 * level) * spread
    centre = math.log(mean) - 0.5 * spread * spread
    return math.exp(centre - reach), math.exp(centre + reach)
