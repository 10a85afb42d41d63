"""The derivative of log Γ and the derivative of that, ψ and ψ′, of positive numbers.

Below 8 both step up by their recurrences ([abramowitz-stegun], 6.3.5 and 6.4.6), ψ(x) = ψ(x + 1) − 1/x and
ψ′(x) = ψ′(x + 1) + 1/x²; from there on their asymptotic series (6.3.18 and 6.4.12) are exact to rounding::

    ψ(x)  ~ log x − 1/(2x) − Σ B₂ₙ/(2n·x²ⁿ)
    ψ′(x) ~ 1/x + 1/(2x²) + Σ B₂ₙ/x²ⁿ⁺¹

SciPy has both, but is large, and a crawler needs nothing else of it.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from recrawl.records import FloatArray

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
"""B₂, B₄, …, B₁₄."""
STEPS = 8

Positive = TypeVar("Positive", float, FloatArray)


def digamma(x: Positive) -> Positive:
    """ψ(x), element by element.

    >>> round(float(digamma(1.0)), 6)  # −γ, Euler's constant
    -0.577216
    """
    below = sum(1.0 / (x + step) for step in range(STEPS))
    far = x + float(STEPS)
    inverse, series = 1.0 / (far * far), 0.0 * x
    for n in range(len(BERNOULLI), 0, -1):
        series = (series + BERNOULLI[n - 1] / (2 * n)) * inverse
    return np.log(far) - 0.5 / far - series - below


def trigamma(x: Positive) -> Positive:
    """ψ′(x), element by element.

    >>> round(float(trigamma(1.0)), 6)  # π²/6
    1.644934
    """
    below = sum(1.0 / ((x + step) * (x + step)) for step in range(STEPS))
    far = x + float(STEPS)
    inverse, series = 1.0 / (far * far), 0.0 * x
    for n in range(len(BERNOULLI), 0, -1):
        series = (series + BERNOULLI[n - 1]) * inverse
    return below + 1.0 / far + 0.5 * inverse + series / far
