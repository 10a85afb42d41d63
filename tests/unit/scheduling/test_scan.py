import numpy as np
import pytest

from recrawl import continuous_index
from recrawl.errors import ParameterError
from recrawl.scheduling.ranking import bring_first, put_in_order
from recrawl.scheduling.scan import scan, take


def by_looking(index, budget):
    order = sorted((-merit, i) for i, merit in enumerate(index.tolist()) if merit > 0)
    return [i for _, i in order[:budget]]


@pytest.mark.parametrize("budget", [0, 1, 7, 300, 5000])
def test_the_fused_scan_finds_what_sorting_finds(budget):
    rng = np.random.default_rng(3)
    value, rate, last = rng.integers(0, 4, 3000).astype(float), rng.choice([0.0, 0.1], 3000), -rng.integers(0, 9, 3000)
    expected = by_looking(continuous_index(value, rate, 1.0 - last), budget)
    assert scan(value, rate, last=last, now=1.0, budget=budget).tolist() == expected


def test_only_allowed_sources_are_taken():
    allowed = np.array([True, False, True])
    assert scan([1.0, 9.0, 2.0], 0.1, last=0.0, now=5.0, budget=3, allowed=allowed).tolist() == [2, 0]
    assert take([1.0, 9.0, 2.0], 3, allowed=allowed).tolist() == [2, 0]


def test_one_per_group_and_to_the_first_that_does_not_fit():
    assert take([5.0, 4.0, 3.0, 2.0], 3, group=[0, 0, 1, 2]).tolist() == [0, 2, 3]
    assert take([5.0, 4.0, 3.0], 2.0, cost=[1.0, 2.0, 0.5]).tolist() == [0]


def test_an_index_that_is_no_number_is_refused():
    with pytest.raises(ParameterError, match=r"index\[1\]"):
        take([1.0, np.nan], 1)


@pytest.mark.parametrize("size", [0, 1, 2, 15, 17, 1000])
def test_the_ranking_sorts_by_index_then_id(size):
    rng = np.random.default_rng(size)
    index, ids = rng.integers(0, 50, size).astype(float), rng.permutation(size)
    expected = sorted(zip((-index).tolist(), ids.tolist(), strict=True))
    half = size // 2
    bring_first(index, ids, 0, size, half)
    put_in_order(index, ids, 0, half)
    put_in_order(index, ids, half, size)
    assert list(zip((-index).tolist(), ids.tolist(), strict=True)) == expected
