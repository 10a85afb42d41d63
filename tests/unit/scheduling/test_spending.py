"""The top of a ranking, as far as a budget goes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recrawl.scheduling.spending import affordable, first_of_each, top

scores = st.lists(st.sampled_from([-np.inf, 0.0, 0.5, 1.0, 2.0, 3.5]), min_size=1, max_size=30).map(np.array)


@given(scores, st.integers(0, 35))
def test_top_is_the_head_of_the_full_ranking(given_scores: np.ndarray, count: int) -> None:
    ranking = sorted(
        (i for i in range(len(given_scores)) if given_scores[i] > -np.inf), key=lambda i: (-given_scores[i], i)
    )
    assert top(given_scores, count).tolist() == ranking[:count]


@given(st.integers(1, 300), st.integers(0, 300), st.integers(0, 10))
def test_long_rankings_are_cut_the_same_way(length: int, count: int, seed: int) -> None:
    many = np.random.default_rng(seed).integers(0, 40, length).astype(float)
    assert top(many, count).tolist() == sorted(range(length), key=lambda i: (-many[i], i))[:count]


@given(scores, st.floats(0, 20))
def test_spending_stops_at_the_first_that_does_not_fit(given_scores: np.ndarray, budget: float) -> None:
    cost = 0.5 + np.arange(len(given_scores)) % 3
    ranked = top(given_scores, len(given_scores))
    left, expected = budget, []
    for i in ranked:
        if cost[i] > left + 1e-9:
            break
        left -= cost[i]
        expected.append(i)
    assert affordable(ranked, cost, budget).tolist() == expected


def test_three_times_a_third_pays_for_one() -> None:
    assert affordable(np.array([0]), np.ones(1), 1 / 3 + 1 / 3 + 1 / 3 - 1e-16).tolist() == [0]


def test_only_the_best_of_each_group_stays() -> None:
    groups = np.array([7, 7, 3, 3, 9])
    assert first_of_each(np.array([3, 1, 2, 0, 4]), groups).tolist() == [3, 1, 4]
