"""The threshold map says of each source alone what the index policy says of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recrawl import Sources, simulate, whittle_index
from recrawl.errors import ParameterError
from recrawl.kernels.threshold_map import inverse_whittle_index, threshold_map

TABLE = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])


@st.composite
def some_sources(draw: st.DrawFn) -> tuple[Sources, np.ndarray]:
    count = draw(st.integers(2, 6))
    numbers = st.floats(0.05, 5.0)
    rows = draw(st.lists(st.tuples(numbers, numbers, numbers), min_size=count, max_size=count))
    rate, decay, cost = np.array(rows).T
    sources = Sources.ephemeral(arrival_rate=rate, interest=1.0, decay=decay, cost=cost)
    shares = draw(st.lists(st.floats(0.0, 1.3), min_size=count, max_size=count))
    return sources, np.array(shares) * sources.ceiling


@given(some_sources())
def test_the_inverse_undoes_the_index(case: tuple[Sources, np.ndarray]) -> None:
    sources, state = case
    # Near the ceiling the index is all but flat in the slots, not in the worth: no precision is lost.
    np.testing.assert_allclose(
        inverse_whittle_index(sources, whittle_index(sources, state)),
        state,
        rtol=1e-9,
        atol=1e-9 * sources.ceiling.max(),
    )


@given(some_sources(), st.floats(0.0, 10.0))
def test_the_index_undoes_the_inverse(case: tuple[Sources, np.ndarray], index: float) -> None:
    sources, _ = case
    np.testing.assert_allclose(
        whittle_index(sources, inverse_whittle_index(sources, index)), index, rtol=1e-9, atol=1e-12
    )


@given(some_sources(), st.data())
def test_reaching_the_threshold_is_being_chosen_by_index(case: tuple[Sources, np.ndarray], data: st.DataObject) -> None:
    sources, state = case
    active = data.draw(st.integers(1, len(sources) - 1))
    index = np.sort(whittle_index(sources, state))[::-1]
    assume(index[active - 1] - index[active] > 1e-9 * index[0])
    chosen = np.zeros(len(sources), dtype=bool)
    chosen[np.argsort(-whittle_index(sources, state))[:active]] = True
    np.testing.assert_array_equal(state >= threshold_map(sources, state, active), chosen)


def test_crawling_by_thresholds_is_the_index_policy_slot_by_slot() -> None:
    expected = simulate(TABLE, "whittle", 1, 300)
    worth = TABLE.inflow.copy()
    for slot in range(300):
        np.testing.assert_allclose(worth, expected.states[slot])
        crawl = worth >= threshold_map(TABLE, worth)
        np.testing.assert_array_equal(crawl, expected.actions[slot])
        worth = np.where(crawl, 0.0, worth) * TABLE.decay_factor + TABLE.inflow


def test_thresholds_rise_with_the_worth_of_the_others() -> None:
    low = threshold_map(TABLE, TABLE.inflow)
    assert (threshold_map(TABLE, 1.5 * TABLE.inflow) >= low).all()


def test_an_exact_lifetime_has_no_such_map() -> None:
    mortal = Sources.ephemeral(arrival_rate=[1, 2], interest=1, decay=0.5, lifetime=5)
    with pytest.raises(ParameterError, match="exact lifetime"):
        inverse_whittle_index(mortal, 1.0)
    with pytest.raises(ParameterError, match="exact lifetime"):
        threshold_map(mortal, [1.0, 1.0])
    paper = Sources.ephemeral(arrival_rate=[1, 2], interest=1, decay=0.5, lifetime=5, lifetime_form="paper")
    assert np.isfinite(threshold_map(paper, [1.0, 1.0])).all()


@pytest.mark.parametrize("active", [0, 4, 1.5])
def test_the_number_of_active_sources_is_checked(active: int) -> None:
    with pytest.raises(ParameterError, match="active must be"):
        threshold_map(TABLE, TABLE.inflow, active)
