"""The static lottery on whatever pages there are: within the budget, and no small shift of it does better."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recrawl.kernels.static_allocation import static_allocation

CHANGE = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(1e-6, 1.0))
WEIGHT = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
PAGES = st.lists(st.tuples(CHANGE, WEIGHT, st.floats(0.1, 10.0)), min_size=1, max_size=12)


def value(p: np.ndarray, change: np.ndarray, weight: np.ndarray) -> float:
    """F, with a page that never changes counting for nothing: no crawl can improve it."""
    per_slot = p + change - change * p
    return float((weight * np.where(change > 0, p / np.where(per_slot > 0, per_slot, 1.0), 0.0)).sum())


@given(PAGES, st.floats(0.05, 20.0))
def test_is_feasible_and_spends_what_is_useful(pages: list[tuple[float, float, float]], budget: float) -> None:
    change, weight, cost = map(np.array, zip(*pages, strict=True))
    p = static_allocation(change, weight, budget, cost)
    assert ((p >= 0) & (p <= 1)).all()
    useful = float(cost[(change > 0) & (weight > 0)].sum())
    np.testing.assert_allclose((p * cost).sum(), min(budget, useful), rtol=1e-6, atol=1e-9)


@given(PAGES, st.floats(0.05, 20.0), st.integers(0, 11), st.integers(0, 11))
def test_no_shift_between_two_pages_does_better(
    pages: list[tuple[float, float, float]], budget: float, giver: int, taker: int
) -> None:
    change, weight, cost = map(np.array, zip(*pages, strict=True))
    giver, taker = giver % len(pages), taker % len(pages)
    p = static_allocation(change, weight, budget, cost)
    best = value(p, change, weight)
    for spend in (1e-3, 1e-2, 0.1):
        moved = min(spend, p[giver] * cost[giver], (1 - p[taker]) * cost[taker])
        other = p.copy()
        other[giver] -= moved / cost[giver]
        other[taker] += moved / cost[taker]
        assert value(np.clip(other, 0, 1), change, weight) <= best * (1 + 1e-7) + 1e-9
