"""Priors pooled along paths."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.learning.changes import ChangeBeliefs
from recrawl.learning.paths import folders

SPAN = (1e-3, 10.0)


def test_every_folder_comes_after_its_parent() -> None:
    folder, parent = folders(["https://a.org/news/1", "https://a.org/news/2", "https://a.org/about", "readme"])
    assert (parent[1:] < np.arange(1, len(parent))).all()
    assert folder[0] == folder[1] != folder[2]
    assert folder[3] == 0


def visited(labels: list[str] | None, rates: np.ndarray, visits: int) -> ChangeBeliefs:
    random = np.random.default_rng(0)
    beliefs = ChangeBeliefs(len(rates), SPAN, labels=labels)
    seen = np.arange(len(rates) - 2)
    for _ in range(visits):
        gaps = random.exponential(2.0, len(seen))
        beliefs.learn(seen, gaps, random.random(len(seen)) < -np.expm1(-rates[seen] * gaps))
    return beliefs


def test_an_unseen_page_is_expected_to_be_like_its_folder() -> None:
    rates = np.append(np.tile([0.05, 2.0], 60), [0.05, 2.0])
    labels = [f"{'slow' if rate < 1 else 'fast'}/{i}" for i, rate in enumerate(rates)]
    unseen = np.array([120, 121])
    alike, slow_fast = visited(None, rates, 60).mean(unseen), visited(labels, rates, 60).mean(unseen)
    assert alike[0] == pytest.approx(alike[1])
    assert slow_fast[0] < 0.5 * slow_fast[1]


def test_sources_added_later_belong_to_no_folder() -> None:
    beliefs = visited(["a/x"] * 20, np.full(20, 0.3), 20)
    beliefs.grow(1)
    for _ in range(30):
        beliefs.learn(np.array([20]), np.ones(1), np.ones(1, dtype=bool))
    assert beliefs.tilt[20] == 0.0
