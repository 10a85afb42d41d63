"""Student's t with a whole number of degrees of freedom: how far to both sides a share of it reaches.

With tan θ = t/√ν, the share within ±t is a finite sum ([abramowitz-stegun], 26.7.3 and 26.7.4)::

    ν even:  sin θ·(1 + cos²θ/2 + 1·3/(2·4)·cos⁴θ + … up to cos^{ν−2} θ)
    ν odd:   2/π·(θ + sin θ·(cos θ + 2/3·cos³θ + 2·4/(3·5)·cos⁵θ + … up to cos^{ν−2} θ))
"""

from __future__ import annotations

import math

HALVINGS = 60
NEGLIGIBLE = 1e-18


def share_within(angle: float, degrees: int) -> float:
    """The share of Student's t within ±√ν·tan(angle)."""
    odd = degrees % 2
    square = math.cos(angle) ** 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for power in range(odd, degrees - 1, 2):
        total += term
        term *= square * (power + 1) / (power + 2)
        if term < NEGLIGIBLE:
            break
    total *= math.sin(angle)
    return 2.0 / math.pi * (angle + total) if odd else total


def reach(degrees: int, share: float) -> float:
    """The t that has `share` of the law within ±t, by halving the angle; `degrees` is at least 1.

    >>> round(reach(10, 0.95), 3)
    2.228
    """
    low, high = 0.0, 0.5 * math.pi
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if share_within(middle, degrees) < share:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan(0.5 * (low + high))
