"""The paper's own advice: Thompson sampling at first, then the deep learner [icc2021, §V]."""

from __future__ import annotations

from typing import Any

import numpy as np

from recrawl.errors import ParameterError
from recrawl.policies.fg_dqn import FgDqn
from recrawl.policies.thompson import Thompson
from recrawl.records import FloatArray, Visits


class ThompsonThenDqn(FgDqn):
    """Chooses by Thompson sampling for the first choices, while the network already learns from them; then by value.

    After the switch ε has its last value: Thompson sampling has explored.

    Parameters
        switch: choices made by Thompson sampling
        importance: whether Thompson sampling weighs draws by known importance
        options: those of :class:`FgDqn`
    """

    def __init__(
        self, switch: int = 500, importance: bool = False, seed: int | tuple[int, ...] = 0, **options: Any
    ) -> None:
        super().__init__(seed=seed, **options)
        if switch < 0:
            raise ParameterError("switch", ">= 0", switch)
        self.switch, self.importance = switch, importance

    def begin(self, now: float) -> None:
        """Start both."""
        super().begin(now)
        self.thompson = Thompson(self.importance, seed=int(self.random.integers(2**32)))
        self.thompson.start(len(self.last), now, self.sources)

    def epsilon(self) -> float:
        """No random choices while Thompson sampling chooses."""
        return 0.0 if self.choices < self.switch else self.exploration[1]

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """Draws at first, then values."""
        if self.choices < self.switch:
            return self.thompson.rank(now, states)
        return super().rank(now, states)

    def learn(self, visits: Visits) -> None:
        """Teach both."""
        super().learn(visits)
        self.thompson.learn(visits)

    def grow(self, count: int) -> None:
        """Make room in both."""
        super().grow(count)
        self.thompson.grow(count)
        self.thompson.last = np.concatenate([self.thompson.last, np.full(count, -np.inf)])
