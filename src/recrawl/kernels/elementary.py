"""exp and log that a compiler can turn into vector instructions.

The C library's are called once per element and keep a loop from being vectorised; these are plain arithmetic on the
bits of a double, several elements at a time, and four times faster over arrays. Accurate to 2 units in the last place
over the ranges stated; outside them the result is meaningless, not an error.
"""

from __future__ import annotations

import numpy as np

from recrawl.compiled_code import njit

# Adding this to a small double leaves it rounded to a whole number in the low bits.
_ROUNDER = 6755399441055744.0
_LOG2_E = 1.4426950408889634
# ln 2 in two parts, the first with enough trailing zeros that its multiples are exact
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_MANTISSA = np.int64((1 << 52) - 1)
_ONE = np.int64(1023 << 52)
_WHOLE = np.int64(0x433 << 52)
_TWO_TO_52 = 4503599627370496.0
_SQRT_2 = 1.4142135623730951


@njit(cache=True, inline="always")
def vector_exp(x: float) -> float:
    """e^x for −708 ≤ x ≤ 0; below, e^−708."""
    x = max(x, -708.0)
    rounded = x * _LOG2_E + _ROUNDER
    k = rounded - _ROUNDER
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    shift = np.float64(rounded).view(np.int64) << np.int64(52)
    return np.int64(np.float64(p).view(np.int64) + shift).view(np.float64)


@njit(cache=True, inline="always")
def vector_log(x: float) -> float:
    """ln x for normal positive x."""
    bits = np.float64(x).view(np.int64)
    m = np.int64((bits & _MANTISSA) | _ONE).view(np.float64)
    large = m > _SQRT_2
    m = 0.5 * m if large else m
    exponent = np.int64((bits >> np.int64(52)) | _WHOLE).view(np.float64) - (_TWO_TO_52 + 1023.0)
    exponent = exponent + 1.0 if large else exponent
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    return exponent * _LN2_HIGH + (2.0 * s + (2.0 * s * z * p + exponent * _LN2_LOW))
