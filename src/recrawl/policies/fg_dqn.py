"""Deep reinforcement learning with the full gradient: FG-DQN over arms [icc2021, Algorithm 1].

The state of arm k is (X_k, Y_k): slots since it was last chosen, and whether the crawl then found a change. A network
(:mod:`recrawl.policies.q_network`) values choosing each arm; the best are chosen, or with probability ε random ones.
Every transition goes into a replay memory, and after every transition one step of training is made on a batch drawn
from it.

What the paper leaves open, and what is done here:

* X starts at 1 after a crawl (by its definition; (4) prints 0), and is divided by `elapsed_scale` before the network;
* ε falls linearly from `exploration[0]` to `exploration[1]` over `exploration_slots` choices, then stays;
* plain gradient steps a(n) = `step`/(1 + n/`step_halving`), no optimiser state;
* the noise ξ has the step b(n) = `noise`/(n + 1)^`noise_exponent`;
* `memory` transitions are kept, `batch` are drawn with repetition;
* several arms per slot: the value of a set is the sum of its arms' values.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError
from recrawl.policies.base import RankedPolicy
from recrawl.policies.q_network import Float32Array, QNetwork, torch_for
from recrawl.policies.replay_memory import ReplayMemory, Transitions
from recrawl.policies.thompson import found_change
from recrawl.records import FloatArray, IntArray, Visits

MOST_ALIKE = 32


class FgDqn(RankedPolicy):
    """Full-gradient deep Q-learning; needs the extra `deep` and knows nothing of the targets but what crawls show.

    Parameters
        hidden: sizes of the hidden layers
        discount: γ, per choice
        exploration: ε at first and at last
        exploration_slots: choices until ε is down
        step, step_halving: of the gradient, see above
        noise, noise_exponent: of the extraneous noise; 0 for none
        memory, batch: transitions kept, and drawn for one step of training
        matched: average each error over past traces of the same state and action, as the original FG-DQN does
        gradient: "full" as (9) has it, or "semi", which holds the target fixed as ordinary DQN does
        elapsed_scale: slots that enter the network as 1
        slot: length of a slot in the unit of `now`
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (4000, 8),
        discount: float = 0.95,
        exploration: tuple[float, float] = (0.7, 0.1),
        exploration_slots: int = 1000,
        step: float = 1e-3,
        step_halving: float = 5000.0,
        noise: float = 1e-4,
        noise_exponent: float = 1.0,
        memory: int = 5000,
        batch: int = 16,
        matched: bool = False,
        elapsed_scale: float = 10.0,
        slot: float = 1.0,
        gradient: Literal["full", "semi"] = "full",
        seed: int | tuple[int, ...] = 0,
    ) -> None:
        super().__init__(seed)
        _check(discount=(discount, 0.0, 1.0), first_exploration=(exploration[0], 0.0, 1.0))
        _check(last_exploration=(exploration[1], 0.0, 1.0), step=(step, 0.0, np.inf), noise=(noise, 0.0, np.inf))
        for name, value in (("memory", memory), ("batch", batch), ("exploration_slots", exploration_slots)):
            if value < 1:
                raise ParameterError(name, ">= 1", value)
        for name, scale in (("elapsed_scale", elapsed_scale), ("slot", slot), ("step_halving", step_halving)):
            if not scale > 0:
                raise ParameterError(name, "> 0", scale)
        if gradient not in ("full", "semi"):
            raise ParameterError("gradient", "'full' or 'semi'", repr(gradient))
        torch_for(f"the policy {type(self).__name__}")
        self.full_gradient = gradient == "full"
        self.hidden, self.discount = tuple(hidden), discount
        self.exploration, self.exploration_slots = exploration, exploration_slots
        self.step, self.step_halving, self.noise, self.noise_exponent = step, step_halving, noise, noise_exponent
        self.memory_size, self.batch, self.matched = memory, batch, matched
        self.elapsed_scale, self.slot = elapsed_scale, slot

    def begin(self, now: float) -> None:
        """Draw the network; every arm counts as chosen one slot ago, without a change."""
        arms = len(self.last)
        self.network = QNetwork.random(self._torch(), (2 * arms, *self.hidden, arms), self.random)
        self.memory = ReplayMemory(self.memory_size, 2 * arms, arms)
        self.began = now - self.slot
        self.changed = np.zeros(arms)
        self.choices = self.steps = 0
        self.taken, self.reward = np.zeros(arms, np.float32), 0.0
        self.state = self.state_at(now)

    def state_at(self, now: float) -> Float32Array:
        """Z as the network takes it: X_1 … X_K, Y_1 … Y_K."""
        elapsed = (now - np.where(np.isneginf(self.last), self.began, self.last)) / (self.slot * self.elapsed_scale)
        return np.concatenate([elapsed, self.changed]).astype(np.float32)

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """End the last transition and learn from it; then choose by value, or at random with probability ε."""
        now, budget, states = self.question(now, budget, states)
        state = self.state_at(now)
        if self.taken.any():
            self.memory.store(self.state, self.taken, self.reward, state)
            self.train()
        self.state = state
        chosen = super().choose(now, budget, states)
        self.choices += 1
        self.taken, self.reward = np.zeros(len(self.last), np.float32), 0.0
        self.taken[chosen] = 1.0
        return chosen

    def epsilon(self) -> float:
        """The probability of choosing at random now."""
        first, last = self.exploration
        return first + (last - first) * min(1.0, self.choices / self.exploration_slots)

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """The network's values, or random numbers with probability ε."""
        if self.random.random() < self.epsilon():
            return self.random.random(len(self.last))
        return self.network.values(self.state[None])[0].astype(np.float64)

    def train(self) -> None:
        """One step of (9) on a batch from the memory, once it holds one."""
        if len(self.memory) < self.batch:
            return
        places = self.memory.draw(self.batch, self.random)
        drawn = self.memory.at(places)
        self.network.descend(
            *drawn,
            discount=self.discount,
            step=self.step / (1.0 + self.steps / self.step_halving),
            noise=self._noise() if self.noise else None,
            averaged=self._averaged(places) if self.matched else None,
            full=self.full_gradient,
        )
        self.steps += 1

    def _noise(self) -> Float32Array:
        """b·ξ for every weight."""
        size = np.float32(self.noise / (self.steps + 1.0) ** self.noise_exponent)
        drawn: Float32Array = self.random.random(len(self.network), dtype=np.float32)
        drawn -= np.float32(0.5)
        drawn *= 2.0 * size
        return drawn

    def _averaged(self, places: IntArray) -> Float32Array:
        """For each place the Bellman error averaged over the traces alike to it."""
        alike = [self.memory.alike(int(place), MOST_ALIKE) for place in places]
        owner = np.repeat(np.arange(len(places)), [len(traces) for traces in alike])
        rows: Transitions = self.memory.at(np.concatenate(alike).astype(np.int64))
        errors = self.network.errors(*rows, discount=self.discount)
        mean: Float32Array = (np.bincount(owner, weights=errors) / np.bincount(owner)).astype(np.float32)
        return mean

    def learn(self, visits: Visits) -> None:
        """Note the reward and what was found; a failed crawl counts as not chosen."""
        found = found_change(visits)
        gained = found.astype(np.float64) if visits.worth is None else visits.worth
        seen = np.ones(len(visits), dtype=bool) if visits.failed is None else ~visits.failed
        self.reward += float(gained[seen].sum())
        self.changed[visits.ids[seen]] = found[seen]
        self.taken[visits.ids[~seen]] = 0.0

    def release(self, ids: npt.ArrayLike) -> None:
        """Take ids out of flight; they count as not chosen."""
        super().release(ids)
        self.taken[self._known(ids)] = 0.0

    def grow(self, count: int) -> None:
        """Widen the network with fresh weights for the new arms; transitions of the old shape are forgotten."""
        before = len(self.last)
        after = before + count
        old, fresh = self.network.dump(), QNetwork.random(self._torch(), (2 * after, *self.hidden, after), self.random)
        new = fresh.dump()
        for place, weight in enumerate(old[1:-2], start=1):
            new[place] = weight
        new[0][:, :before], new[0][:, after : after + before] = old[0][:, :before], old[0][:, before:]
        new[-2][:before], new[-1][:before] = old[-2], old[-1]
        self.network = QNetwork(self._torch(), new)
        self.memory = ReplayMemory(self.memory_size, 2 * after, after)
        self.changed = np.concatenate([self.changed, np.zeros(count)])
        self.taken = np.zeros(after, np.float32)

    def dump(self) -> dict[str, Any]:
        """Everything, the network as plain arrays."""
        network, self.network = self.network, self.network.dump()  # type: ignore[assignment]
        try:
            return super().dump()
        finally:
            self.network = network

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a dump."""
        super().restore(state)
        self.network = QNetwork(self._torch(), state["network"])

    def _torch(self) -> Any:
        return torch_for(f"the policy {type(self).__name__}")


def _check(**ranges: tuple[float, float, float]) -> None:
    for name, (value, low, high) in ranges.items():
        if not low <= value <= high:
            raise ParameterError(name, f"in [{low:g}, {high:g}]", value)
