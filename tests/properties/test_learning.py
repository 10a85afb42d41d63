"""What holds for whatever crawls reveal."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recrawl import Visits
from recrawl.kernels.likelihood import smoothed_change_rate
from recrawl.learning.changes import ChangeBeliefs
from recrawl.policies.learned_whittle import LearnedWhittle

GAPS = st.floats(1e-6, 1e6)
VISITS = st.lists(st.tuples(GAPS, st.booleans()), min_size=1, max_size=40)
OBJECTIVES = st.sampled_from(["ephemeral", "freshness", "discovery", "changes"])
SHOWN = st.sampled_from(["changed", "worth", "both", "published", "new", "nothing"])


def visit(shown: str, now: float, amount: float) -> Visits:
    """One visit of target 0 that shows `amount` in some form."""
    changed, worth = np.array([amount > 0.5]), np.array([amount])
    if shown == "published":
        return Visits(np.array([0]), now, published=[np.full(int(amount), now)], worth=worth)
    fields = {"changed": {"changed": changed}, "worth": {"worth": worth}, "both": {"changed": changed, "worth": worth}}
    fields |= {"new": {"new": np.array([int(amount)])}, "nothing": {}}
    return Visits(np.array([0]), now, **fields[shown])  # type: ignore[arg-type]


@given(VISITS)
def test_a_change_rate_is_always_finite_and_inside_its_range(visits: list[tuple[float, bool]]) -> None:
    beliefs = ChangeBeliefs(1, (1e-5, 10.0))
    for gap, saw in visits:
        beliefs.learn(np.array([0]), np.array([gap]), np.array([saw]))
    low, high = beliefs.interval(np.array([0]))
    assert 1e-5 <= beliefs.mean(np.array([0]))[0] <= 10.0
    assert 0.0 < low[0] <= high[0] < 20.0


@given(VISITS)
def test_the_smoothed_estimate_is_finite_and_grows_with_a_change(visits: list[tuple[float, bool]]) -> None:
    gaps, changed = np.array([gap for gap, _ in visits]), np.array([saw for _, saw in visits])
    estimate = smoothed_change_rate(gaps, changed)
    assert np.isfinite(estimate)
    assert estimate > 0
    if not changed.all():
        more = changed.copy()
        more[np.argmin(changed)] = True
        assert smoothed_change_rate(gaps, more) > estimate


@given(
    OBJECTIVES,
    st.sampled_from(["mean", "thompson", "optimism"]),
    st.lists(st.tuples(GAPS, SHOWN, st.floats(0.0, 1e6)), max_size=25),
)
def test_whatever_is_seen_every_index_is_finite_and_grows_with_age(
    objective: str, act: str, seen: list[tuple[float, str, float]]
) -> None:
    policy = LearnedWhittle(objective=objective, act=act)  # type: ignore[arg-type]
    policy.start(2, 0.0)
    now = 0.0
    for gap, shown, amount in seen:
        now += gap
        policy.choose(now, 1)
        policy.release([0, 1])
        policy.observe(visit(shown, now, min(amount, 50.0) if shown == "published" else amount))
    if not seen:
        return
    scores = np.array([policy.index([0], now + wait) for wait in (0.0, 1.0, 10.0, 1e4)])
    assert np.isfinite(scores).all()
    assert (scores >= 0.0).all()
    if act == "mean" and objective != "ephemeral":
        assert (np.diff(scores, axis=0) >= -1e-9 * np.abs(scores[1:])).all()
