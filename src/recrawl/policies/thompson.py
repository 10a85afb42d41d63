"""Thompson sampling over the chance that a crawl finds a change [icc2021, §IV-A].

Each target has a Beta(1 + successes, 1 + failures) belief of the chance that crawling it finds a change; a choice draws
one number from every belief and takes the largest. The belief forgets nothing and ignores how long the target has been
left alone, so it settles where all targets it still tries are about equally likely to have changed.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from recrawl.arguments import flag
from recrawl.errors import ParameterError
from recrawl.policies.live_base import RunningPolicy
from recrawl.records import FloatArray, Visits


class Thompson(RunningPolicy):
    """Chooses by a draw from each target's belief.

    Parameters
        importance: False for the paper's form, which weighs all changes alike; True to multiply the draw by the known
            importance of the target per cost, which needs `sources`
    """

    kept: ClassVar[tuple[str, ...]] = ("successes", "failures")

    def __init__(self, importance: bool = False, seed: int | tuple[int, ...] = 0) -> None:
        super().__init__(seed)
        self.importance = flag("importance", importance)

    def begin(self, now: float) -> None:
        """Believe nothing."""
        if self.importance and self.sources is None:
            raise ParameterError("sources", "given: Thompson(importance=True) needs known importance", None)
        targets = len(self.last)
        self.successes, self.failures = np.zeros(targets), np.zeros(targets)
        known = self.sources is not None and self.importance
        self.weight = self.sources.interest / self.cost if known and self.sources else np.ones(targets)

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """One draw per target."""
        draw: FloatArray = self.weight * self.random.beta(1.0 + self.successes, 1.0 + self.failures)
        return draw

    def learn(self, visits: Visits) -> None:
        """Count a success where the crawl found a change, else a failure; nothing where it failed."""
        found = found_change(visits)
        seen = np.ones(len(visits), dtype=bool) if visits.failed is None else ~visits.failed
        self.successes[visits.ids] += seen & found
        self.failures[visits.ids] += seen & ~found

    def grow(self, count: int) -> None:
        """New targets start without evidence; their importance is unknown."""
        if self.importance:
            raise ParameterError("count", "0: Thompson(importance=True) knows only the sources it started with", count)
        self.successes = np.concatenate([self.successes, np.zeros(count)])
        self.failures = np.concatenate([self.failures, np.zeros(count)])
        self.weight = np.concatenate([self.weight, np.ones(count)])


def found_change(visits: Visits) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether each visit brought something: the page had changed, or else worth or items were collected."""
    if visits.changed is not None:
        return visits.changed
    if visits.worth is not None:
        return np.asarray(visits.worth > 0)
    counts = np.zeros(len(visits), dtype=np.int64) if visits.new is None else visits.new.copy()
    if visits.published is not None:
        counts += np.array([np.size(times) for times in visits.published], dtype=np.int64)
    return np.asarray(counts > 0)
