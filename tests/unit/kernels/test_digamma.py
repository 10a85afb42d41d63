"""ψ and ψ′ are SciPy's, to rounding, from tiny shapes to large counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma as psi
from scipy.special import polygamma

from recrawl.kernels.digamma import digamma, trigamma

EVERYWHERE = np.logspace(-3, 7, 5000)


def test_digamma_is_exact_to_rounding() -> None:
    expected = psi(EVERYWHERE)
    off = np.abs(digamma(EVERYWHERE) - expected)
    assert (off / np.maximum(1.0, np.abs(expected))).max() < 4e-15


def test_trigamma_is_exact_to_rounding() -> None:
    assert np.abs(trigamma(EVERYWHERE) / polygamma(1, EVERYWHERE) - 1.0).max() < 4e-15


@pytest.mark.parametrize("x", [0.02, 1.0, 200.0])
def test_one_number_is_taken_as_well_as_many(x: float) -> None:
    assert float(digamma(x)) == pytest.approx(float(psi(x)), rel=1e-14)
    assert float(trigamma(x)) == pytest.approx(float(polygamma(1, x)), rel=1e-14)
