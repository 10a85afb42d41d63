"""The critic and actor of allerton2019 against a plain transcription of the equations."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.kernels.soft_threshold import crawl_probabilities, log_gradient, thresholds
from recrawl.learning import lspe
from recrawl.learning.lspe import Learner, Settings, features, learn_transition, new_learner

N = 3
LOW, HIGH = np.zeros(N), np.ones(N)


def settings(**changes: object) -> Settings:
    usual = Settings(
        sharpness=np.full(N, 2.0),
        low=LOW,
        high=HIGH,
        critic_gain=0.05,
        inverse=lspe.PLAIN,
        regularisation=1e-3,
        collected=False,
        critic_steps=lspe.HARMONIC_STEPS,
        critic_step_gain=0.5,
        actor_steps=lspe.PAPER_STEPS,
        actor_step_gain=0.01,
    )
    return usual._replace(**changes)


def transitions(count: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    random = np.random.default_rng(3)
    states = random.uniform(0.1, 1.0, (count + 1, N))
    crawls = random.random((count, N)) < 0.4
    return [(states[k], crawls[k], states[k + 1]) for k in range(count)]


def taught(how: Settings, count: int = 300, epsilon: float = 1.0) -> Learner:
    learner = new_learner(np.full(N, 0.5), epsilon)
    for x, crawled, after in transitions(count):
        learn_transition(learner, how, x, crawled, np.ones(N, dtype=bool), after)
    return learner


def phi(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, [x[i] * x[j] for i in range(len(x)) for j in range(i, len(x))]])


def transcribed(how: Settings, count: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The equations of §IV one after the other; returns q and r."""
    size = len(phi(np.zeros(N)))
    r, eta, gram = np.zeros(size), 0.0, epsilon * np.eye(size)
    drift, target = np.zeros((size, size)), np.zeros(size)
    q = np.zeros((N, 3))
    q[:, 0] = 0.5
    for n, (x, crawled, after) in enumerate(transitions(count), start=1):
        reward = x[crawled].sum() if how.collected else x.sum()
        f = crawl_probabilities(x, thresholds(q, x, how.low, how.high), how.sharpness)
        score = log_gradient(x, crawled, np.ones(N, dtype=bool), f, how.sharpness)
        earned = r @ phi(after) + (reward if how.collected else 0.0)
        slow = how.actor_step_gain / (np.ceil(n / 500) if how.actor_steps == lspe.PAPER_STEPS else n + 1)
        if how.critic_steps == lspe.PAPER_STEPS:
            b = gram_step = how.critic_step_gain / np.ceil(n / 1000) ** (2 / 3)
        else:
            b, gram_step = 1 / n, 1 / (n + 1)
        gram = gram + gram_step * (np.outer(phi(x), phi(x)) - gram)
        drift = drift + b * (np.outer(phi(x), phi(after) - phi(x)) - drift)
        target = target + b * (phi(x) * (reward - eta) - target)
        eta = eta + b * (reward - eta)
        right = drift @ r + target
        if how.inverse == lspe.TIKHONOV:
            move = np.linalg.solve(gram.T @ gram + how.regularisation * np.eye(size), gram.T @ right)
        else:
            move = np.linalg.inv(gram) @ right
        q = q + slow * score * earned
        r = r + how.critic_gain * move
    return q, r


@pytest.mark.parametrize("inverse", [lspe.PLAIN, lspe.SHERMAN_MORRISON, lspe.TIKHONOV])
@pytest.mark.parametrize("collected", [False, True])
@pytest.mark.parametrize(
    ("critic_steps", "actor_steps"),
    [(lspe.HARMONIC_STEPS, lspe.PAPER_STEPS), (lspe.HARMONIC_STEPS, lspe.HARMONIC_STEPS)],
)
def test_learns_what_the_equations_say(inverse: int, collected: bool, critic_steps: int, actor_steps: int) -> None:
    how = settings(inverse=inverse, collected=collected, critic_steps=critic_steps, actor_steps=actor_steps)
    learner = taught(how)
    q, r = transcribed(how, 300, 1.0)
    np.testing.assert_allclose(learner.value_weights, r, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(learner.threshold_parameters, q, rtol=1e-7, atol=1e-9)
    assert learner.counts.tolist() == [300, 0]


def test_the_paper_s_steps_forget() -> None:
    how = settings(inverse=lspe.TIKHONOV, critic_steps=lspe.PAPER_STEPS, critic_step_gain=0.1)
    q, r = transcribed(how, 1200, 1.0)
    learner = taught(how, 1200)
    np.testing.assert_allclose(learner.value_weights, r, rtol=1e-6)
    np.testing.assert_allclose(learner.threshold_parameters, q, rtol=1e-6)


def test_averages_are_averages_and_epsilon_counts_as_one_sample() -> None:
    learner = taught(settings(), 50, epsilon=0.3)
    seen = [x for x, _, _ in transitions(50)]
    assert learner.average_reward[0] == pytest.approx(np.mean([x.sum() for x in seen]))
    samples = sum((np.outer(phi(x), phi(x)) for x in seen), 0.3 * np.eye(len(phi(seen[0]))))
    np.testing.assert_allclose(learner.gram, samples / 51)


def test_the_first_step_does_not_erase_epsilon() -> None:
    learner = taught(settings(), 1)
    assert np.linalg.matrix_rank(learner.gram) == len(learner.gram)


@pytest.mark.parametrize("critic_steps", [lspe.HARMONIC_STEPS, lspe.PAPER_STEPS])
def test_sherman_morrison_carries_the_inverse(critic_steps: int) -> None:
    how = settings(inverse=lspe.SHERMAN_MORRISON, critic_steps=critic_steps, critic_step_gain=0.05)
    learner = taught(how, 200)
    np.testing.assert_allclose(learner.gram_inverse @ learner.gram, np.eye(len(learner.gram)), atol=1e-6)


def test_sherman_morrison_is_the_printed_update_with_n_set_right() -> None:
    random = np.random.default_rng(1)
    before = np.linalg.inv(random.normal(size=(4, 6)) @ random.normal(size=(6, 4)) + 9 * np.eye(4))
    before, vector, n = (before + before.T) / 2, random.normal(size=4), 7
    printed = (n + 1) / n * (before - np.outer(before @ vector, vector @ before) / (n + vector @ before @ vector))
    carried = before.copy()
    lspe.sherman_morrison(carried, vector, 1 / (n + 1))
    np.testing.assert_allclose(carried, printed)


def test_plain_and_carried_inverse_learn_the_same() -> None:
    plain, carried = (taught(settings(inverse=i)) for i in (lspe.PLAIN, lspe.SHERMAN_MORRISON))
    np.testing.assert_allclose(plain.value_weights, carried.value_weights, rtol=1e-7)
    np.testing.assert_allclose(plain.threshold_parameters, carried.threshold_parameters, rtol=1e-7)


def test_the_complex_solve_is_tikhonov_s_form() -> None:
    random = np.random.default_rng(0)
    root, right, delta = random.normal(size=(14, 9)), random.normal(size=14), 0.3
    gram = root @ root.T  # rank 9 of 14
    expected = np.linalg.solve(gram.T @ gram + delta * np.eye(14), gram.T @ right)
    np.testing.assert_allclose(lspe.regularised_solve(gram, right, delta), expected, rtol=1e-9, atol=1e-12)


def test_the_complex_solve_keeps_a_small_delta_that_the_square_would_drown() -> None:
    gram, right = np.diag([1e11, 1e-2, 0.0]), np.array([1e11, 1e-2, 1.0])
    # λ/(λ² + δ)·y: 1, 1e-4/(1e-4 + δ) and 0
    np.testing.assert_allclose(lspe.regularised_solve(gram, right, 1e-4), [1.0, 0.5, 0.0], atol=1e-12)


def test_a_singular_matrix_breaks_the_plain_learner_which_keeps_what_it_had() -> None:
    how = settings()
    learner = new_learner(np.full(N, 0.5), 1.0)
    learner.gram[:] = 0.0
    still = np.zeros(N)
    learn_transition(learner, how, still, np.zeros(N, dtype=bool), np.ones(N, dtype=bool), still)
    assert learner.counts.tolist() == [1, 1]
    assert np.isfinite(learner.value_weights).all()
    before = learner.threshold_parameters.copy()
    learn_transition(learner, how, LOW + 0.5, np.ones(N, dtype=bool), np.ones(N, dtype=bool), still)
    np.testing.assert_array_equal(learner.threshold_parameters, before)
    assert learner.counts.tolist() == [1, 1]


def test_the_critic_finds_the_value_of_a_cycle() -> None:
    # x alternates between two worths: V(x₁) − V(x₂) = (x₁ − x₂)/2 solves Poisson's equation.
    first, second = np.array([0.4]), np.array([0.7])
    how = settings(sharpness=np.array([2.0]), low=np.array([0.4]), high=np.array([1.0]), critic_gain=0.5)
    how = how._replace(actor_step_gain=1e-12)
    learner = new_learner(np.array([0.5]), 1e-6)
    for k in range(4000):
        x, after = (first, second) if k % 2 == 0 else (second, first)
        learn_transition(learner, how, x, np.array([k % 2 == 1]), np.array([True]), after)
    value = [float(learner.value_weights @ features(x)) for x in (first, second)]
    assert value[0] - value[1] == pytest.approx((0.4 - 0.7) / 2, abs=2e-3)


def test_features_are_the_monomials_of_the_paper() -> None:
    assert features(np.array([2.0, 3.0, 5.0])).tolist() == [2, 3, 5, 4, 6, 10, 9, 15, 25]
    assert lspe.feature_count(4) == 14


@pytest.mark.parametrize(("n", "a", "b"), [(1, 0.5, 0.5), (500, 0.5, 0.5), (501, 0.25, 0.5), (8000, 0.5 / 16, 0.125)])
def test_the_paper_s_steps(n: int, a: float, b: float) -> None:
    assert lspe.actor_step(lspe.PAPER_STEPS, 0.5, n) == a
    assert lspe.critic_step(lspe.PAPER_STEPS, 0.5, n) == pytest.approx(b)


def test_harmonic_steps() -> None:
    assert lspe.actor_step(lspe.HARMONIC_STEPS, 1.0, 1) == 0.5
    assert lspe.critic_step(lspe.HARMONIC_STEPS, 0.5, 4) == 0.25
