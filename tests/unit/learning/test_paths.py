"""Priors pooled along paths."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.learning.changes import ChangeBeliefs
from recrawl.learning.paths import DEEPEST, Folders

SPAN = (1e-3, 10.0)


def test_every_folder_comes_after_its_parent() -> None:
    folders = Folders()
    labels = ["https://a.org/news/1", "https://a.org/news/2", "https://a.org/about", "readme"]
    folder = [folders.of(label) for label in labels]
    assert all(parent < number for number, parent in enumerate(folders.parent))
    assert folder[0] == folder[1] != folder[2]
    assert folder[3] == 0


def test_an_endless_path_makes_few_folders() -> None:
    folders = Folders()
    folders.of("a/" * 100_000)
    assert len(folders) == DEEPEST + 1


def visited(labels: list[str] | None, rates: np.ndarray, visits: int) -> ChangeBeliefs:
    random = np.random.default_rng(0)
    beliefs = ChangeBeliefs(len(rates), SPAN, labels=labels or ())
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


def test_sources_added_later_are_expected_to_be_like_their_folder_too() -> None:
    rates = np.tile([0.05, 2.0], 61)
    labels = [f"{'slow' if rate < 1 else 'fast'}/{i}" for i, rate in enumerate(rates)]
    beliefs = visited(labels, rates, 60)
    beliefs.grow(3)
    beliefs.label(np.array([122, 123]), ["slow/new", "fast/new"])
    beliefs.refit()
    slow, fast, nowhere = beliefs.mean(np.array([122, 123, 124]))
    assert slow < 0.5 * fast
    assert beliefs.tilt[124] == 0.0
    assert slow < nowhere < fast
