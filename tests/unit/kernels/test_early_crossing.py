import numpy as np
import pytest

from recrawl.kernels.continuous_index import continuous_index, ripening
from recrawl.kernels.early_crossing import EASY, ripening_at_most
from recrawl.kernels.index_growth import growth_at_age


def test_the_cheap_bound_is_never_late_and_hardly_early():
    shares = np.concatenate([np.geomspace(1e-280, 1e-6, 2000), np.linspace(1e-6, EASY, 20_001)[:-1]])
    exact = np.array([ripening(p, 1.0 - p) for p in shares])
    bound = np.array([ripening_at_most(p) for p in shares])
    assert (bound <= exact).all()
    assert (bound >= exact * (1 - 1e-6)).all()


@pytest.mark.parametrize("rate", [0.0, 1e-6, 0.1, 3.0])
@pytest.mark.parametrize("age", [1e-3, 1.0, 50.0])
def test_growth_is_the_logarithmic_derivative_of_the_index(rate, age):
    step = 1e-5 * age
    low, high = continuous_index(1.0, rate, [age - step, age + step])
    if rate * age < 20.0:
        assert growth_at_age(rate, age) == pytest.approx(np.log(high / low) / (2 * step), rel=1e-4)


def test_growth_falls_from_infinity_to_nothing():
    assert growth_at_age(0.5, 0.0) == np.inf
    assert growth_at_age(0.0, 0.0) == np.inf
    assert growth_at_age(0.5, np.inf) == 0.0
