"""One network in place of the tables of :mod:`recrawl.learning.whittle_q` [qwi2020, with a network].

The network takes which target it is about (one input each), the state s and the reference state x, both as shares of
S, and returns Q^x(s, 0) and Q^x(s, 1) in units of the largest reward seen. After every slot it makes one step of Adam
on a batch of remembered slots of single targets, each with a random reference state, towards::

    (1 − a)λ(x) + a·r + max_b Q^x(s′, b) − f,   f = ½(Q^x(1, 0) + Q^x(1, 1))

with the target held fixed. f anchors the relative values at the state right after a crawl, which is met most. The
subsidies are a table and move as they do there, by the network's own difference in the state just left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from recrawl.learning.whittle_q import Steps, WhittleTables, index_step
from recrawl.policies.q_network import Float32Array, QNetwork, one_thread, torch_for
from recrawl.records import BoolArray, FloatArray, IntArray

NEEDS = "the policy QWhittle with a network"
FIRST_MOMENT, SECOND_MOMENT, TINY = 0.9, 0.999, 1e-8


class ActionValues(QNetwork):
    """The network, trained by Adam towards given values of single actions."""

    def __init__(self, torch: Any, weights: list[Float32Array], moments: list[Float32Array] | None = None) -> None:
        super().__init__(torch, weights)
        kept = moments if moments is not None else [np.zeros_like(weight) for weight in weights] * 2
        self.moments = [torch.tensor(moment) for moment in kept]
        self.trained = 0

    def approach(self, rows: Float32Array, actions: IntArray, targets: Float32Array, step: float) -> None:
        """One step that moves the values of `actions` in `rows` towards `targets`."""
        torch = self.torch
        with one_thread(torch):
            values = self._forward(torch.from_numpy(rows)).gather(1, torch.from_numpy(actions)[:, None])[:, 0]
            loss = torch.nn.functional.smooth_l1_loss(values, torch.from_numpy(targets))
            gradients = torch.autograd.grad(loss, self.weights)
            self.trained += 1
            size = step * (1.0 - SECOND_MOMENT**self.trained) ** 0.5 / (1.0 - FIRST_MOMENT**self.trained)
            mean, square = self.moments[: len(self.weights)], self.moments[len(self.weights) :]
            with torch.no_grad():
                for place, gradient in enumerate(gradients):
                    mean[place].lerp_(gradient, 1.0 - FIRST_MOMENT)
                    square[place].mul_(SECOND_MOMENT).addcmul_(gradient, gradient, value=1.0 - SECOND_MOMENT)
                    self.weights[place].addcdiv_(mean[place], square[place].sqrt().add_(TINY), value=-size)

    def __getstate__(self) -> tuple[list[Float32Array], list[Float32Array], int]:
        """Weights, moments and steps as plain values, so that copies do not share them and files can hold them."""
        return self.dump(), [moment.numpy().copy() for moment in self.moments], self.trained

    def __setstate__(self, state: tuple[list[Float32Array], list[Float32Array], int]) -> None:
        weights, moments, trained = state
        ActionValues.__init__(self, torch_for(NEEDS), weights, moments)
        self.trained = trained


class Memory:
    """The last slots of single targets: target, state, action, reward, next state."""

    def __init__(self, capacity: int) -> None:
        self.places = np.zeros((capacity, 4), dtype=np.int64)
        self.rewards = np.zeros(capacity)
        self.stored = 0

    def __len__(self) -> int:
        return min(self.stored, len(self.rewards))

    def store(self, places: IntArray, rewards: FloatArray) -> None:
        """Remember these in place of the oldest."""
        at = (self.stored + np.arange(len(rewards))) % len(self.rewards)
        self.places[at], self.rewards[at] = places, rewards
        self.stored += len(rewards)


class WhittleNetwork:
    """Learns the values of all targets by one network, and by them the indices of `tables`.

    Parameters
        targets, states: N and S
        hidden: sizes of the hidden layers
        step, batch, memory: of Adam; slots of single targets in a batch, and remembered
    """

    def __init__(
        self,
        targets: int,
        states: int,
        hidden: tuple[int, ...],
        random: np.random.Generator,
        step: float = 2e-3,
        batch: int = 64,
        memory: int = 20_000,
    ) -> None:
        self.targets, self.states, self.step, self.batch = targets, states, step, batch
        self.network = ActionValues.random(torch_for(NEEDS), (targets + 2, *hidden, 2), random)
        self.memory = Memory(memory)
        self.largest = 0.0

    def grow(self, count: int, random: np.random.Generator) -> None:
        """Give new targets an input each; what was learnt of the others stays."""
        first, *rest = self.network.dump()
        fresh = (2.0 * random.random((len(first), count)) - 1.0) / np.sqrt(first.shape[1] + count)
        first = np.insert(first, [self.targets] * count, fresh.astype(np.float32), axis=1)
        self.network = ActionValues(self.network.torch, [first, *rest])
        self.targets += count

    def values_of(self, target: int) -> Float32Array:
        """Q^s(s, 0) and Q^s(s, 1) of one target, a row per state s, in units of the largest reward."""
        state = np.arange(self.states)
        return self.network.values(self._rows(np.full(self.states, target), state, state))

    def learn_slot(
        self,
        tables: WhittleTables,
        steps: Steps,
        before: IntArray,
        crawled: BoolArray,
        known: BoolArray,
        reward: FloatArray,
        after: IntArray,
        random: np.random.Generator,
    ) -> None:
        """Remember one slot of all targets, train once, and move the indices of the states just left."""
        who = np.flatnonzero(known)
        action = crawled[who].astype(np.int64)
        self.memory.store(np.stack([who, before[who], action, after[who]], axis=1), reward[who])
        self.largest = max(self.largest, float(reward.max(initial=0.0)))
        tables.visits[who, before[who], action] += 1
        if self.largest == 0.0 or len(self.memory) < self.batch:
            return
        self._train(tables.indices, random)
        tried = (tables.visits[who, before[who]] > 0).all(axis=1)
        who = who[tried]
        state = before[who]
        value = self.network.values(self._rows(who, state, state))
        size = np.array([index_step(steps, int(n)) for n in tables.visits[who, state].sum(axis=1)])
        tables.indices[who, state] += size * self.largest * (value[:, 1] - value[:, 0])

    def _train(self, indices: FloatArray, random: np.random.Generator) -> None:
        drawn = random.integers(0, len(self.memory), self.batch)
        who, state, action, later = self.memory.places[drawn].T
        reference = random.integers(0, self.states, self.batch)
        start = np.zeros_like(state)
        ahead = self.network.values(
            np.concatenate([self._rows(who, later, reference), self._rows(who, start, reference)])
        )
        gained = np.where(action == 1, self.memory.rewards[drawn], indices[who, reference]) / self.largest
        target = gained + ahead[: self.batch].max(axis=1) - ahead[self.batch :].mean(axis=1)
        self.network.approach(
            self._rows(who, state, reference), np.ascontiguousarray(action), target.astype(np.float32), self.step
        )

    def _rows(self, who: IntArray, state: IntArray, reference: IntArray) -> Float32Array:
        out = np.zeros((len(who), self.targets + 2), dtype=np.float32)
        out[np.arange(len(who)), who] = 1.0
        out[:, -2], out[:, -1] = (state + 1.0) / self.states, (reference + 1.0) / self.states
        return out
