"""The averaged index against the index of each atom."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recrawl.kernels.continuous_index import continuous_index
from recrawl.kernels.mixture_index import condense, lagged_index, ripe_ages, scan, tick_lag, young_ages
from recrawl.kernels.slotted_index import index_after


@pytest.mark.parametrize("rate", [1e-9, 1e-4, 0.03, 0.7, 12.0])
@pytest.mark.parametrize("slots", [1, 2, 7, 100, 10_000])
def test_on_ticks_it_is_the_slotted_index(rate: float, slots: int) -> None:
    tick = 3.0
    ours = lagged_index(2.0, rate / tick, tick_lag(rate / tick, tick), slots * tick)
    assert ours == pytest.approx(index_after(slots, rate, -2.0 * math.expm1(-rate), 2.0, 1.0), rel=1e-7)


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.03, 12.0])
@pytest.mark.parametrize("age", [0.0, 1e-3, 5.0, math.inf])
def test_without_ticks_it_is_the_continuous_index(rate: float, age: float) -> None:
    if rate * age == math.inf or not math.isnan(rate * age):
        assert lagged_index(2.0, rate, tick_lag(rate, 0.0), age) == pytest.approx(continuous_index(2.0, rate, age))


def condensed(log_posterior: np.ndarray, values: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, ...]:
    mass, value, rate = np.empty(6), np.empty(6), np.empty(6)
    condense(log_posterior, values, rates, mass, value, rate)
    return mass, value, rate


def test_condensing_keeps_mass_value_and_the_averaged_index() -> None:
    rates = np.geomspace(1e-3, 10.0, 48)
    log_posterior = -0.5 * ((np.log(rates) + 2.0) / 1.2) ** 2
    values = 1.0 / rates
    mass, value, rate = condensed(log_posterior, values, rates)
    shares = np.exp(log_posterior) / np.exp(log_posterior).sum()
    assert mass.sum() == pytest.approx(1.0)
    assert (mass * value).sum() == pytest.approx(shares @ values)
    assert (mass * value * rate).sum() == pytest.approx(shares @ (values * rates))
    for age in (0.5, 5.0, 50.0):
        exact = sum(s * lagged_index(v, r, 0.0, age) for s, v, r in zip(shares, values, rates, strict=True))
        ours = sum(s * lagged_index(v, r, 0.0, age) for s, v, r in zip(mass, value, rate, strict=True))
        assert ours == pytest.approx(exact, rel=0.1)


def test_a_posterior_narrower_than_the_grid_is_placed_between_its_points() -> None:
    rates = np.geomspace(1e-3, 10.0, 48)
    truth, deviation = 0.123, 0.02
    mass, value, rate = condensed(-0.5 * (np.log(rates / truth) / deviation) ** 2, np.ones(48), rates)
    mean = (mass * rate).sum()
    assert mean == pytest.approx(truth, rel=1e-3)
    assert math.sqrt((mass * rate**2).sum() - mean**2) == pytest.approx(truth * deviation, rel=0.02)
    assert value[mass > 0].tolist() == [1.0, 1.0]


def test_the_scan_averages_and_adds_its_optimism() -> None:
    mass, value, rate = np.array([[0.25, 0.75, 0.0]]), np.array([[1.0, 3.0, 9.0]]), np.array([[0.1, 0.5, 9.0]])
    mass, value, rate = (column.astype(np.float32) for column in (mass, value, rate))
    rows, spread, out = np.zeros(1, np.int64), np.array([0.2], np.float32), np.empty(1)
    indices = np.array([lagged_index(1.0, 0.1, 0.0, 4.0), lagged_index(3.0, 0.5, 0.0, 4.0)])
    mean = indices @ [0.25, 0.75]
    scan(rows, mass, value, rate, spread, np.empty(0, np.float32), np.array([4.0]), 0.0, out)
    assert out[0] == pytest.approx(mean)
    scan(rows, mass, value, rate, spread, np.full(1, 2.0, np.float32), np.array([4.0]), 0.0, out)
    deviation = math.sqrt(1.04 * (indices**2 @ [0.25, 0.75]) - mean**2)
    assert out[0] == pytest.approx(mean + 2.0 * deviation, rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_nobody_is_taken_for_young_who_has_reached_the_level(seed: int) -> None:
    random = np.random.default_rng(seed)
    mass = random.dirichlet(np.ones(4), 50).astype(np.float32)
    value = random.lognormal(0.0, 2.0, (50, 4)).astype(np.float32)
    rate = random.choice([0.0, 1.0], (50, 4), p=[0.1, 0.9]).astype(np.float32)
    rate *= random.lognormal(-2.0, 3.0, (50, 4)).astype(np.float32)
    rows, none = np.arange(50), np.empty(0, np.float32)

    def index(age: np.ndarray) -> np.ndarray:
        out = np.empty(50)
        scan(rows, mass, value, rate, np.zeros(50, np.float32), none, age, 0.0, out)
        return out

    age = random.lognormal(0.0, 3.0, 50) * random.choice([0.0, 1.0], 50)
    level = index(age) * random.lognormal(0.5, 2.0, 50) + 1e-9
    for near in (0.01, 1e-9):
        young = np.empty(50)
        young_ages(rows, mass, value, rate, age, level, near, young)
        at = np.where(np.isfinite(young), young, 1e9 * (age + 1.0))
        behind = level <= index(age)
        assert (index(at)[~behind] <= level[~behind] * (1 + 1e-9)).all()
        np.testing.assert_array_equal(young[behind], age[behind])
    close = ~behind & np.isfinite(young)
    np.testing.assert_allclose(index(young)[close], level[close], rtol=1e-6)
    ripe = np.empty(50)
    ripe_ages(rows, mass, value, rate, level, 1e-6, ripe)
    np.testing.assert_array_equal(np.isfinite(ripe)[~behind], np.isfinite(young)[~behind])
    met = np.isfinite(ripe)
    np.testing.assert_allclose(index(np.where(met, ripe, 0.0))[met], level[met], rtol=1e-6)
