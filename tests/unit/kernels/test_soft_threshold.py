"""The soft threshold, and equation (8) of allerton2019 against derivatives taken the slow way."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.kernels.soft_threshold import crawl_probabilities, log_gradient, logistic, projected, thresholds

X = np.array([0.9, 0.4, 0.7])
Q = np.array([[0.3, 0.1, 0.02], [0.2, -0.1, 0.05], [0.1, 0.2, -0.03]])
SHARPNESS = np.array([2.0, 0.7, 3.0])
WIDE = np.full(3, np.inf)
EVERY = np.ones(3, dtype=bool)


def probabilities(q: np.ndarray) -> np.ndarray:
    return crawl_probabilities(X, thresholds(q, X, -WIDE, WIDE), SHARPNESS)


def log_probability(q: np.ndarray, crawled: np.ndarray) -> float:
    f = probabilities(q)
    return float(np.log(np.where(crawled, f, 1 - f)).sum())


@pytest.mark.parametrize("crawled", [[True, False, True], [False, False, False], [True, True, True]])
def test_the_gradient_is_that_of_the_log_probability(crawled: list[bool]) -> None:
    action = np.array(crawled)
    found = log_gradient(X, action, EVERY, probabilities(Q), SHARPNESS)
    for place in np.ndindex(3, 3):
        step = np.zeros_like(Q)
        step[place] = 1e-6
        slope = (log_probability(Q + step, action) - log_probability(Q - step, action)) / 2e-6
        assert found[place] == pytest.approx(slope, abs=1e-8)


def test_the_printed_fractions_cancel_to_the_same_for_the_source_itself() -> None:
    f = probabilities(Q)
    for crawled in (True, False):
        p = f if crawled else 1 - f
        printed = SHARPNESS * ((-1 if crawled else 1) / p) * p * (1 - p)
        ours = log_gradient(X, np.full(3, crawled), EVERY, f, SHARPNESS)[:, 0]
        np.testing.assert_allclose(ours, printed)


def test_what_was_not_decided_has_no_gradient() -> None:
    decided = np.array([True, False, True])
    found = log_gradient(X, EVERY, decided, probabilities(Q), SHARPNESS)
    assert (found[1] == 0).all()
    assert (found[[0, 2]] != 0).any(axis=1).all()


def test_probability_is_one_half_just_above_the_threshold() -> None:
    assert crawl_probabilities(np.array([3.5]), np.array([3.0]), np.array([2.0]))[0] == 0.5


@pytest.mark.parametrize(("z", "expected"), [(1e6, 1.0), (-1e6, 0.0), (0.0, 0.5)])
def test_the_logistic_does_not_overflow(z: float, expected: float) -> None:
    assert logistic(z) == expected


def test_projection_keeps_thresholds_where_worths_can_be() -> None:
    assert [projected(t, 1.0, 2.0) for t in (0.0, 1.5, 9.0, np.inf, -np.inf, np.nan)] == [1.0, 1.5, 2.0, 2.0, 1.0, 1.0]


class Chain:
    """One source with a constant threshold: ages 1 … last, crawled surely at the last."""

    def __init__(self, threshold: float, collected: bool, last: int = 80) -> None:
        age = np.arange(1, last + 1)
        self.worth = 1.0 - 0.7**age
        f = crawl_probabilities(self.worth, np.full(last, threshold), np.full(last, 4.0))
        self.free = np.arange(last) < last - 1
        self.crawl = np.where(self.free, f, 1.0)
        self.on = np.minimum(np.arange(last) + 1, last - 1)
        move = np.zeros((last, last))
        move[np.arange(last), self.on] += 1 - self.crawl
        move[:, 0] += self.crawl
        waiting = np.concatenate([[1.0], np.cumprod(1 - self.crawl)[:-1]])
        self.stationary = waiting / waiting.sum()
        self.earned = self.crawl * self.worth if collected else self.worth
        self.average = float(self.stationary @ self.earned)
        # Poisson's equation with V(first) = 0
        system = np.eye(last) - move
        system[:, 0] = 1.0
        solved = np.linalg.solve(system, self.earned)
        assert solved[0] == pytest.approx(self.average)
        self.value = np.concatenate([[0.0], solved[1:]])


@pytest.mark.parametrize("collected", [False, True])
def test_score_times_value_is_the_derivative_of_the_average_reward(collected: bool) -> None:
    at, step = 0.4, 1e-5
    chain = Chain(at, collected)
    gradient = 0.0
    for k in np.flatnonzero(chain.free):
        for crawled, p, after in ((True, chain.crawl[k], 0), (False, 1 - chain.crawl[k], chain.on[k])):
            # log_gradient's row is (∂q₀, …) and ∂q₀ is the derivative by the threshold itself
            score = log_gradient(
                chain.worth[k : k + 1],
                np.array([crawled]),
                np.array([True]),
                chain.crawl[k : k + 1],
                np.array([4.0]),
            )[0, 0]
            action = chain.worth[k] if collected and crawled else 0.0
            gradient += chain.stationary[k] * p * score * (action + chain.value[after])
    slope = (Chain(at + step, collected).average - Chain(at - step, collected).average) / (2 * step)
    assert gradient == pytest.approx(slope, rel=1e-6)


def test_without_the_action_s_own_reward_the_collected_gradient_would_be_wrong() -> None:
    at, step = 0.4, 1e-5
    chain = Chain(at, collected=True)
    f, free = chain.crawl, chain.free
    next_value = np.where(free, f * (f - 1) * chain.value[0] + (1 - f) * f * chain.value[chain.on], 0.0)
    gradient = 4.0 * float(chain.stationary @ next_value)
    slope = (Chain(at + step, True).average - Chain(at - step, True).average) / (2 * step)
    assert gradient != pytest.approx(slope, rel=0.1)


def test_the_printed_reward_always_wants_a_higher_threshold() -> None:
    averages = [Chain(at, collected=False).average for at in np.linspace(0.3, 1.0, 15)]
    assert (np.diff(averages) > 0).all()
