"""The network's step is the full gradient of the squared Bellman error, checked against finite differences."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from recrawl.policies.q_network import QNetwork

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="the extra `deep` is not installed")
ARMS, BATCH, DISCOUNT = 3, 5, 0.9


def forward(weights: list[np.ndarray], states: np.ndarray) -> np.ndarray:
    """Oracle: the network in double precision."""
    signal = states.astype(np.float64).T
    for place in range(0, len(weights), 2):
        signal = weights[place].astype(np.float64) @ signal + weights[place + 1]
        if place < len(weights) - 2:
            signal = np.maximum(signal, 0.0)
    return signal.T


def bellman_errors(weights: list[np.ndarray], batch: tuple[np.ndarray, ...]) -> np.ndarray:
    states, taken, rewards, following = batch
    best = np.sort(forward(weights, following), axis=1)[:, ::-1]
    ahead = [row[: int(chosen.sum())].sum() for row, chosen in zip(best, taken, strict=True)]
    return rewards + DISCOUNT * np.array(ahead) - (forward(weights, states) * taken).sum(axis=1)


def batch_of(chosen: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(chosen)
    taken = np.zeros((BATCH, ARMS), np.float32)
    for row in taken:
        row[random.choice(ARMS, chosen, replace=False)] = 1
    states, following = (random.random((BATCH, 2 * ARMS), dtype=np.float32) for _ in range(2))
    return states, taken, random.random(BATCH, dtype=np.float32), following


def network() -> QNetwork:
    import torch  # not while tests are collected: it takes seconds, in every worker

    return QNetwork.random(torch, (2 * ARMS, 16, 4, ARMS), np.random.default_rng(1))


def test_values_are_those_of_the_plain_formula() -> None:
    made, states = network(), batch_of(1)[0]
    np.testing.assert_allclose(made.values(states), forward(made.dump(), states), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("chosen", [1, 2])
def test_errors_are_those_of_the_plain_formula(chosen: int) -> None:
    made, batch = network(), batch_of(chosen)
    np.testing.assert_allclose(made.errors(*batch, DISCOUNT), bellman_errors(made.dump(), batch), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("chosen", [1, 2])
def test_a_step_follows_the_full_gradient_of_half_the_squared_error(chosen: int) -> None:
    made, batch, step = network(), batch_of(chosen), 1.0
    before = [weight.astype(np.float64) for weight in made.dump()]
    made.descend(*batch, discount=DISCOUNT, step=step)
    moved = [(old - new) / step for old, new in zip(before, made.dump(), strict=True)]
    for place, element in [(0, (3, 2)), (1, (5, 0)), (2, (1, 7)), (3, (2, 0)), (4, (0, 1)), (5, (1, 0))]:
        loss = []
        for shift in (1e-5, -1e-5):
            weights = [weight.copy() for weight in before]
            weights[place][element] += shift
            loss.append(0.5 * (bellman_errors(weights, batch) ** 2).mean())
        assert moved[place][element] == pytest.approx((loss[0] - loss[1]) / 2e-5, rel=2e-3, abs=1e-6)


def test_averaged_errors_take_the_place_of_the_sample_error() -> None:
    one, two, batch = network(), network(), batch_of(1)
    one.descend(*batch, discount=DISCOUNT, step=0.1)
    two.descend(*batch, discount=DISCOUNT, step=0.1, averaged=network().errors(*batch, DISCOUNT))
    for a, b in zip(one.dump(), two.dump(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    still = network()
    still.descend(*batch, discount=DISCOUNT, step=0.1, averaged=np.zeros(BATCH, np.float32))
    np.testing.assert_array_equal(still.dump()[0], network().dump()[0])


def test_noise_is_taken_off_every_weight() -> None:
    made = network()
    before = made.dump()
    noise = np.arange(len(made), dtype=np.float32) / 1000
    made.descend(*batch_of(1), discount=DISCOUNT, step=0.0, noise=noise)
    moved = np.concatenate([(old - new).ravel() for old, new in zip(before, made.dump(), strict=True)])
    np.testing.assert_allclose(moved, noise, atol=1e-6)


def test_training_leaves_the_number_of_threads_alone() -> None:
    import torch

    before = torch.get_num_threads()
    network().descend(*batch_of(1), discount=DISCOUNT, step=0.1)
    assert torch.get_num_threads() == before


def test_the_published_network_has_its_published_size() -> None:
    import torch

    made = QNetwork.random(torch, (8, 4000, 8, 4), np.random.default_rng(0))
    assert len(made) == 8 * 4000 + 4000 + 4000 * 8 + 8 + 8 * 4 + 4
