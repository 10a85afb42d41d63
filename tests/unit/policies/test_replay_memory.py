"""The replay memory is a ring that knows which transitions are alike."""

from __future__ import annotations

import numpy as np

from recrawl.policies.replay_memory import ReplayMemory


def filled(count: int, capacity: int = 4) -> ReplayMemory:
    memory = ReplayMemory(capacity, inputs=2, arms=2)
    for number in range(count):
        state = np.array([number % 2, 0], np.float32)
        memory.store(state, np.array([1, 0], np.float32), float(number), state + 1)
    return memory


def test_the_oldest_give_way() -> None:
    memory = filled(6)
    assert len(memory) == 4
    assert sorted(memory.rows.rewards.tolist()) == [2, 3, 4, 5]


def test_draws_come_from_what_is_stored() -> None:
    places = filled(2).draw(100, np.random.default_rng(0))
    assert set(places.tolist()) == {0, 1}


def test_alike_are_those_of_the_same_state_and_action() -> None:
    memory = filled(6)
    rewards = [memory.rows.rewards[place] for place in memory.alike(0, most=10)]
    assert sorted(rewards) == [2, 4]
    assert len(memory.alike(0, most=1)) == 1
    assert sum(map(len, memory.twins.values())) == 4
