import math

import mpmath
import numpy as np
import pytest

from recrawl import continuous_index, crossing_age
from recrawl.errors import ParameterError
from recrawl.kernels.continuous_index import ripeness

EPSILON = np.finfo(np.float64).eps
ARGUMENTS = np.geomspace(1e-6, 36.0, 120)


def exact_ripeness(s):
    """G(s) = 1 − (1 + s)e^{−s} in 60 digits."""
    with mpmath.workdps(60):
        return 1 - (1 + mpmath.mpf(s)) * mpmath.exp(-mpmath.mpf(s))


def exact_ripening(share, near):
    """The s with G(s) = share, in 60 digits, by Newton steps from a nearby value."""
    with mpmath.workdps(60):
        s, target = mpmath.mpf(near), mpmath.mpf(share)
        for _ in range(100):
            step = (1 - (1 + s) * mpmath.exp(-s) - target) / (s * mpmath.exp(-s))
            s -= step
            if abs(step) < mpmath.mpf(10) ** -45 * s:
                return s
    raise AssertionError("no convergence")


@pytest.mark.parametrize("s", ARGUMENTS)
def test_the_index_is_accurate_to_a_few_roundings(s):
    exact = exact_ripeness(float(s))
    error = float(abs(continuous_index(1.0, 1.0, s) - exact))
    # From s = 1/20 on arrays take the plain formula, where a rounding is one of the full price, not of its share.
    assert error <= 8 * EPSILON * (1.0 if s >= 0.05 else float(exact))
    assert float(abs(ripeness(s) - exact) / exact) <= 16 * EPSILON


def test_the_series_and_the_closed_form_meet():
    below, above = np.nextafter(0.25, 0.0), 0.25
    assert ripeness(below) == pytest.approx(ripeness(above), rel=1e-14)


@pytest.mark.parametrize("s", ARGUMENTS)
def test_the_crossing_age_inverts_the_price_as_a_float(s):
    price = float(exact_ripeness(float(s)))
    exact = exact_ripening(price, float(s))
    # ds/s = G/(sG') · dG/G; for a price near 1 what is rounded is the price itself, by half a unit in its last place.
    with mpmath.workdps(60):
        condition = float(mpmath.mpf(price) / (exact * exact * mpmath.exp(-exact)))
    error = float(abs(crossing_age(1.0, 1.0, price) - exact) / exact)
    assert error <= 4 * EPSILON * (1 + condition)


@pytest.mark.parametrize("share", [1e-300, 1e-30, 1e-16, 1e-12, 0.4999999, 0.5, 0.5000001, 1 - 1e-10, 1 - 2**-53])
def test_the_crossing_age_is_accurate_at_the_edges_of_its_branches(share):
    near = math.sqrt(2 * share) if share < 0.1 else float(crossing_age(1.0, 1.0, share))
    with mpmath.workdps(400):
        exact = mpmath.findroot(lambda s: 1 - (1 + s) * mpmath.exp(-s) - mpmath.mpf(share), near)
        condition = float(mpmath.mpf(share) / (exact * exact * mpmath.exp(-exact)))
    assert float(abs(crossing_age(1.0, 1.0, share) - exact) / exact) <= 4 * EPSILON * (1 + condition)


@pytest.mark.parametrize("value", [1e-8, 3.7, 1e12])
@pytest.mark.parametrize("rate", [1e-9, 0.3, 1e5])
@pytest.mark.parametrize("cost", [0.1, 7.0])
def test_there_and_back(value, rate, cost):
    ages = np.geomspace(1e-4, 15.0, 50) / rate
    prices = continuous_index(value, rate, ages, cost)
    assert (np.diff(prices) > 0).all()
    assert crossing_age(value, rate, prices, cost) == pytest.approx(ages, rel=1e-9)


def test_rate_zero_is_the_quadratic_form():
    assert continuous_index(value=3.0, rate=0.0, age=4.0, cost=2.0) == 12.0
    assert crossing_age(value=3.0, rate=0.0, price=12.0, cost=2.0) == pytest.approx(4.0, rel=1e-15)


def test_the_quadratic_form_is_the_limit_of_slow_ripening():
    arrivals, rate, age = 3.0, 1e-7, 4.0
    assert continuous_index(arrivals / rate**2, rate, age) == pytest.approx(
        continuous_index(arrivals, 0.0, age), rel=1e-6
    )


def test_a_price_at_or_above_the_full_value_is_never_reached():
    assert crossing_age(2.0, 1.0, [2.0, 2.0001, 1e300]).tolist() == [math.inf] * 3
    assert crossing_age(2.0, 1.0, np.nextafter(2.0, 0.0)) < math.inf
    assert crossing_age(0.0, [0.0, 1.0], 1.0).tolist() == [math.inf] * 2


def test_a_free_crawl_is_worth_it_at_once():
    assert crossing_age([0.0, 1.0, 1.0], [1.0, 1.0, 0.0], 0.0).tolist() == [0.0, 0.0, 0.0]


def test_a_source_never_crawled_has_its_full_price():
    assert continuous_index(3.0, 2.0, math.inf, cost=2.0) == 1.5


EXTREMES = [0.0, 5e-324, 1e-300, 1e-16, 1.0, 1e16, 1e300, np.finfo(np.float64).max]


def test_the_index_is_finite_for_every_finite_input():
    value, rate, age, cost = np.meshgrid(EXTREMES, EXTREMES, [*EXTREMES, math.inf], EXTREMES[1:], indexing="ij")
    index = continuous_index(value, rate, age, cost)
    assert np.isfinite(index).all()
    assert (index >= 0).all()


def test_the_crossing_age_is_never_nan_or_negative():
    value, rate, price, cost = np.meshgrid(EXTREMES, EXTREMES, EXTREMES, EXTREMES[1:], indexing="ij")
    age = crossing_age(value, rate, price, cost)
    assert (age >= 0).all()


def test_single_precision_and_integers_are_welcome():
    plain = continuous_index([2.0, 3.0], 0.5, [1.0, 4.0])
    single = continuous_index(np.float32([2, 3]), np.float32(0.5), np.array([1, 4]))
    assert single.dtype == np.float64
    assert single.tolist() == plain.tolist()
    assert isinstance(continuous_index(1, 1, 1), float)


def test_arguments_are_broadcast():
    assert continuous_index(np.ones((3, 1)), np.ones(4), 2.0).shape == (3, 4)
    assert crossing_age(np.ones((3, 1)), np.ones(4), 0.5).shape == (3, 4)
    assert continuous_index([], [], []).shape == (0,)


@pytest.mark.parametrize("function", [continuous_index, crossing_age])
@pytest.mark.parametrize(
    ("position", "bad"),
    [
        *((argument, bad) for argument in (0, 1) for bad in (-1.0, math.nan, math.inf)),
        *((2, bad) for bad in (-1.0, math.nan)),
        *((3, bad) for bad in (0.0, -1.0, math.nan, math.inf)),
    ],
)
def test_a_wrong_element_is_named(function, position, bad):
    arguments = [np.ones(3) for _ in range(4)]
    arguments[position][1] = bad
    names = ("value", "rate", "age" if function is continuous_index else "price", "cost")
    with pytest.raises(ParameterError, match=rf"{names[position]}\[1\] must be .*got {bad}") as error:
        function(*arguments)
    assert error.value.element == (1,)


@pytest.mark.parametrize("function", [continuous_index, crossing_age])
def test_shapes_and_types_that_do_not_fit_are_named(function):
    with pytest.raises(ParameterError, match="value"):
        function(np.ones(3), np.ones(2), 1.0)
    with pytest.raises(ParameterError, match="rate"):
        function(1.0, "fast", 1.0)
    with pytest.raises(ParameterError, match="value must be"):
        function(-1.0, 1.0, 1.0)


def test_a_price_must_be_finite():
    with pytest.raises(ParameterError, match="price"):
        crossing_age(1.0, 1.0, math.inf)


def test_inputs_are_left_alone():
    arrays = [np.array([1.0, 2.0]) for _ in range(4)]
    continuous_index(*arrays)
    crossing_age(*arrays)
    assert all(array.tolist() == [1.0, 2.0] for array in arrays)
