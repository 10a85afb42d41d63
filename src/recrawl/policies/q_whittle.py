"""The Whittle index learnt by Q-learning as a policy [qwi2020]; the mathematics is in `learning.whittle_q`.

It assumes nothing of what a target is: a target is in one of the states 1 … S, the slots since its last crawl, and the
policy finds out by trial what each action brings in each state. One call of `choose` is one slot: it closes the slot
before, learns, then crawls the targets of the highest index, or with probability ε random ones.

With `network`, the tables of all targets are one network (:mod:`recrawl.policies.whittle_network`); the extra `deep`
brings what that needs. The indices stay tables.

What the paper leaves open, and what is done here: ε falls linearly from `exploration[0]` to `exploration[1]` over
`exploration_slots` choices; a target crawled longer ago than S slots counts as crawled S slots ago; a slot in which a
crawl failed or was called off teaches nothing about that target.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from recrawl.arguments import number, several, shown, whole
from recrawl.errors import ParameterError
from recrawl.learning.whittle_q import Steps, joined, learn_slot, new_tables
from recrawl.policies.base import RankedPolicy
from recrawl.policies.q_network import torch_for
from recrawl.policies.thompson import found_change
from recrawl.policies.whittle_network import NEEDS, WhittleNetwork
from recrawl.records import BoolArray, FloatArray, IntArray, Visits


class QWhittle(RankedPolicy):
    """Learns the index of every target and state by Q-learning, without a model.

    Parameters
        states: S, slots since the crawl that are told apart
        exploration: ε at first and at last
        exploration_slots: choices until ε is down
        step, halving: of the values: `step`/⌈ν/`halving`⌉^0.6 at the ν-th visit to a state and action
        index_step, index_halving: of the indices: `index_step`/(1 + n·ln(n + 1)/`index_halving`) at the n-th visit
        network: sizes of the hidden layers of a network in place of tables; None for tables
        slot: length of a slot in the unit of `now`
    """

    crawled: BoolArray
    sure: BoolArray
    """Of which targets this slot teaches something."""
    reward: FloatArray

    def __init__(
        self,
        states: int = 16,
        exploration: tuple[float, float] = (1.0, 0.02),
        exploration_slots: int = 500,
        step: float = 0.3,
        halving: float = 20.0,
        index_step: float = 0.1,
        index_halving: float = 100.0,
        network: tuple[int, ...] | None = None,
        slot: float = 1.0,
        seed: int | tuple[int, ...] = 0,
    ) -> None:
        super().__init__(seed)
        self.states = whole("states", states, low=2)
        expected = "two probabilities in [0, 1], at first and at last"
        both = [
            number("exploration", each, expected, high=1.0) for each in several("exploration", exploration, expected)
        ]
        if len(both) != 2:
            raise ParameterError("exploration", expected, shown(exploration))
        self.exploration = both[0], both[1]
        self.exploration_slots = whole("exploration_slots", exploration_slots, low=1)
        self.steps = Steps(
            number("step", step, "in (0, 1]", open_low=True, high=1.0),
            number("halving", halving, "finite and > 0", open_low=True),
            number("index_step", index_step, "finite and > 0", open_low=True),
            number("index_halving", index_halving, "finite and > 0", open_low=True),
        )
        self.slot = number("slot", slot, "finite and > 0", open_low=True)
        self.hidden = None if network is None else tuple(whole("network", size, low=1) for size in network)
        if self.hidden == ():
            raise ParameterError("network", "sizes of one hidden layer or more, or None", "none")
        if self.hidden is not None:
            torch_for(NEEDS)

    def begin(self, now: float) -> None:
        """Know nothing; every target counts as crawled one slot ago."""
        targets = len(self.last)
        self.tables = new_tables(targets, self.states)
        self.began = now - self.slot
        self.choices = 0
        self.before: IntArray | None = None
        self.network: WhittleNetwork | None = None
        if self.hidden is not None:
            self.network = WhittleNetwork(targets, self.states, self.hidden, self.random)
        self._clear(targets)

    def state_at(self, now: float) -> IntArray:
        """The state of every target, counted from 0."""
        slots = (now - np.where(np.isneginf(self.last), self.began, self.last)) / self.slot
        return np.clip(np.rint(slots) - 1.0, 0, self.states - 1).astype(np.int64)

    def indices(self, now: float) -> FloatArray:
        """λ of every target in its state."""
        return self.tables.indices[np.arange(len(self.last)), self.state_at(now)]

    def epsilon(self) -> float:
        """The probability of choosing at random now."""
        first, last = self.exploration
        return first + (last - first) * min(1.0, self.choices / self.exploration_slots)

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """Learn from the slot before; then choose by index, or at random with probability ε."""
        now, budget, states = self.question(now, budget, states)
        state = self.state_at(now)
        if self.before is not None:
            self._end_slot(self.before, state)
        chosen = super().choose(now, budget, states)
        self.before = state
        self.choices += 1
        self._clear(len(self.last))
        return chosen

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """The learnt indices per cost, or random numbers with probability ε."""
        if self.random.random() < self.epsilon():
            return self.random.random(len(self.last))
        return self.indices(now) / self.cost

    def learn(self, visits: Visits) -> None:
        """Note what each crawl of this slot brought."""
        gained = found_change(visits).astype(np.float64) if visits.worth is None else visits.worth
        seen = np.ones(len(visits), dtype=bool) if visits.failed is None else ~visits.failed
        self.crawled[visits.ids[seen]] = True
        self.reward[visits.ids[seen]] = gained[seen]
        self.sure[visits.ids[~seen]] = False

    def learn_lists(self, visits: Visits) -> None:
        """A visit to a list says nothing of its worth."""
        self.sure[visits.ids] = False

    def release(self, ids: npt.ArrayLike) -> None:
        """Take ids out of flight; this slot teaches nothing about them."""
        super().release(ids)
        self.sure[self._known(ids)] = False

    def grow(self, count: int) -> None:
        """New targets start without knowledge, and learn from the next slot on."""
        self.tables = joined(self.tables, new_tables(count, self.states))
        if self.network is not None:
            self.network.grow(count, self.random)
        self.crawled = np.concatenate([self.crawled, np.zeros(count, dtype=bool)])
        self.sure = np.concatenate([self.sure, np.zeros(count, dtype=bool)])
        self.reward = np.concatenate([self.reward, np.zeros(count)])
        if self.before is not None:
            self.before = np.concatenate([self.before, np.zeros(count, dtype=np.int64)])

    def _end_slot(self, before: IntArray, after: IntArray) -> None:
        told = before, self.crawled, self.sure & ~self.away, self.reward, after
        if self.network is None:
            learn_slot(self.tables, self.steps, *told)
        else:
            self.network.learn_slot(self.tables, self.steps, *told, self.random)

    def _clear(self, targets: int) -> None:
        self.crawled, self.sure = np.zeros(targets, dtype=bool), np.ones(targets, dtype=bool)
        self.reward = np.zeros(targets)
