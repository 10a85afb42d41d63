"""Means shrunk towards the catalogue's."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.learning.shrinkage import MeanWorth


def test_a_mean_that_never_varies_is_believed_at_once_and_a_noisy_one_is_shrunk() -> None:
    random = np.random.default_rng(5)
    exact, noisy, everyone = MeanWorth(51), MeanWorth(51), np.arange(51)
    truth = random.uniform(1.0, 3.0, 50)
    for _ in range(5):
        exact.learn(np.arange(50), truth)
        noisy.learn(np.arange(50), truth + random.normal(0.0, 5.0, 50))
    exact.refit()
    noisy.refit()
    np.testing.assert_allclose(exact.mean(everyone)[:50], truth, rtol=1e-4)
    assert exact.mean(everyone)[50] == pytest.approx(truth.mean())
    assert noisy.mean(everyone)[:50].std() < 0.5 * (noisy.total / noisy.count.clip(1))[:50].std()


def test_a_source_never_seen_is_hoped_to_be_as_good_as_the_best() -> None:
    worth = MeanWorth(4)
    for _ in range(10):
        worth.learn(np.arange(3), np.array([1.0, 2.0, 9.0]))
    np.testing.assert_allclose(worth.hopeful(np.arange(4)), [1.0, 2.0, 9.0, 9.0], rtol=1e-3)
    assert worth.mean(np.array([3]))[0] == pytest.approx(4.0)
