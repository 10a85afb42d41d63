"""How interest fades, against repeated halving and plain sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from recrawl.kernels.worth import decay_of, faded, half_life_of, mean_remaining, remaining


def halved(age: float, half_life: float, steps: int = 100_000) -> float:
    """e^(−μa) by compound steps: each takes the same small share, and a half-life of them takes half."""
    per_step = 0.5 ** (1.0 / steps)
    return float(per_step ** round(steps * age / half_life))


@pytest.mark.parametrize("times", [0, 1, 2, 7, 40])
def test_each_half_life_takes_half(times: int) -> None:
    left = 1.0
    for _ in range(times):
        left /= 2.0
    assert remaining(times * 300.0, 300.0) == left


@given(st.floats(0.0, 1e7), st.floats(60.0, 1e6))
def test_in_between_it_fades_evenly(age: float, half_life: float) -> None:
    assert remaining(age, half_life) == pytest.approx(halved(age, half_life), rel=2e-5)
    assert remaining(age, half_life) == pytest.approx(math.exp(-decay_of(half_life) * age), rel=1e-9)
    assert faded(age, half_life) == pytest.approx(1.0 - remaining(age, half_life), abs=1e-15)


def test_an_endless_half_life_takes_nothing() -> None:
    assert remaining(1e9, math.inf) == 1.0


def test_arrays_and_compiled_code_agree_with_the_scalar() -> None:
    @njit
    def compiled(age: float, half_life: float) -> float:
        return remaining(age, half_life)

    ages, half_lives = np.array([0.0, 30.0, 3600.0, 1e6]), np.array([60.0, 3600.0, 43200.0, 1e5])
    plain = [remaining(age, half_life) for age, half_life in zip(ages.tolist(), half_lives.tolist(), strict=True)]
    np.testing.assert_allclose(remaining(ages, half_lives), plain, rtol=1e-14)
    np.testing.assert_allclose([compiled(*pair) for pair in zip(ages, half_lives, strict=True)], plain, rtol=1e-14)


@given(st.floats(1e-3, 1e6), st.floats(3600.0, 1e6))
def test_the_mean_over_a_gap_is_that_of_many_moments(gap: float, half_life: float) -> None:
    moments = (np.arange(20_000) + 0.5) / 20_000 * gap
    assert mean_remaining(gap, half_life) == pytest.approx(float(remaining(moments, half_life).mean()), rel=1e-4)


def test_nothing_fades_in_no_time() -> None:
    assert mean_remaining(0.0, 60.0) == 1.0
    assert faded(1e-12, 60.0) == pytest.approx(1e-12 * math.log(2.0) / 60.0)


@given(st.floats(1e-3, 1e9))
def test_a_decay_and_its_half_life_lead_to_each_other(half_life: float) -> None:
    assert half_life_of(decay_of(half_life)) == pytest.approx(half_life)
