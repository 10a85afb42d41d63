"""The last transitions a learner lived through, to be drawn from at random [icc2021, Algorithm 1]."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recrawl.records import IntArray

Float32Array = npt.NDArray[np.float32]


class Transitions(NamedTuple):
    """Rows of (Z, U, R, Z'): state, arms chosen (1 or 0 each), reward, next state."""

    states: Float32Array
    taken: Float32Array
    rewards: Float32Array
    next_states: Float32Array


class ReplayMemory:
    """A ring of transitions that also knows which of them share state and action.

    Parameters
        capacity: how many are kept
        inputs: numbers in a state
        arms: arms that can be chosen
    """

    def __init__(self, capacity: int, inputs: int, arms: int) -> None:
        self.rows = Transitions(
            np.zeros((capacity, inputs), np.float32),
            np.zeros((capacity, arms), np.float32),
            np.zeros(capacity, np.float32),
            np.zeros((capacity, inputs), np.float32),
        )
        self.stored = 0
        self.twins: dict[bytes, list[int]] = {}

    def __len__(self) -> int:
        return min(self.stored, len(self.rows.rewards))

    def store(self, state: Float32Array, taken: Float32Array, reward: float, next_state: Float32Array) -> None:
        """Remember a transition in place of the oldest."""
        place = self.stored % len(self.rows.rewards)
        if self.stored >= len(self.rows.rewards):
            self._forget(place)
        self.rows.states[place], self.rows.taken[place] = state, taken
        self.rows.rewards[place], self.rows.next_states[place] = reward, next_state
        self.twins.setdefault(self._key(place), []).append(place)
        self.stored += 1

    def draw(self, count: int, random: np.random.Generator) -> IntArray:
        """Places of transitions drawn at random, with repetition."""
        return random.integers(0, len(self), count)

    def at(self, places: IntArray) -> Transitions:
        """The transitions at these places."""
        return Transitions(*(column[places] for column in self.rows))

    def alike(self, place: int, most: int) -> list[int]:
        """The latest places, up to `most`, whose state and action are those at `place`, itself among them."""
        return self.twins[self._key(place)][-most:]

    def _key(self, place: int) -> bytes:
        return self.rows.states[place].tobytes() + self.rows.taken[place].tobytes()

    def _forget(self, place: int) -> None:
        key = self._key(place)
        self.twins[key].remove(place)
        if not self.twins[key]:
            del self.twins[key]
