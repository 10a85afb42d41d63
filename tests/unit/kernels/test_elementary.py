"""The vectorisable exp and log agree with the library's."""

from __future__ import annotations

import numpy as np
from numba import njit

from recrawl.kernels.elementary import vector_exp, vector_log


@njit
def _exp(x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = vector_exp(x[i])
    return out


@njit
def _log(x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = vector_log(x[i])
    return out


def test_exp_is_right_to_two_units_in_the_last_place() -> None:
    x = -np.concatenate([np.linspace(0, 708, 200_001), np.geomspace(1e-300, 1, 10_000), [0.0]])
    np.testing.assert_array_max_ulp(_exp(x), np.exp(x), maxulp=3)


def test_exp_is_tiny_beyond_its_range() -> None:
    assert 0 <= _exp(np.array([-1e308]))[0] < 1e-307


def test_log_is_right_relative_to_its_argument() -> None:
    x = np.concatenate([np.geomspace(1e-307, 1e308, 200_001), np.linspace(0.5, 2, 100_001)])
    np.testing.assert_allclose(_log(x), np.log(x), rtol=5e-16, atol=2e-16)
