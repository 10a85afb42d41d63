"""Lists and the pages they name, played one event at a time, and what lists say kept in plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Law:
    """How a list names a page: recall λ, false signals φ per change and ν per time."""

    recall: float
    per_change: float = 0.0
    per_time: float = 0.0


@dataclass(frozen=True)
class Gaps:
    """What happened between two visits to pages: each gap was covered by its list for a while, then it was not read."""

    covered: np.ndarray
    since_read: np.ndarray
    signals: np.ndarray
    changed: np.ndarray


def gaps(
    law: Law, change: np.ndarray, covered: np.ndarray, since_read: np.ndarray, random: np.random.Generator
) -> Gaps:
    """Changes of each page, and what its list makes of them, drawn apart."""
    seen, unseen = random.poisson(change * covered), random.poisson(change * since_read)
    told = random.binomial(seen, law.recall)
    false = random.poisson((law.per_change * change + law.per_time) * covered)
    return Gaps(covered, since_read, told + false, seen + unseen > 0)


def moment_by_moment(law: Law, change: float, covered: float, count: int, random: np.random.Generator) -> Gaps:
    """The same for one page, with every event at its own time: nothing is taken from a law of counts but the waits."""
    signals, changed = np.zeros(count, np.int64), np.zeros(count, dtype=bool)
    pace = (1.0 + law.per_change) * change + law.per_time
    for k in range(count):
        time = random.exponential(1.0 / pace)
        while time < covered:
            if random.random() < change / pace:
                changed[k] = True
                signals[k] += random.random() < law.recall
            else:
                signals[k] += 1
            time += random.exponential(1.0 / pace)
    return Gaps(np.full(count, covered), np.zeros(count), signals, changed)


class Rings:
    """Which lists name each target, and the one it listens to; rows of lists, as numbers."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.named: dict[int, list[int]] = {}
        self.heard: dict[int, int | None] = {}
        """None for any of them."""

    def enter(self, target: int, row: int) -> bool:
        """A list names a target; whether it is heard."""
        named = self.named.setdefault(target, [])
        if row not in named and len(named) < self.most:
            named.append(row)
            self.heard.setdefault(target, row)
        return row in named

    def leave(self, target: int) -> None:
        """A target is gone."""
        self.named.pop(target, None)
        self.heard.pop(target, None)

    def drop(self, row: int) -> set[int]:
        """A list is gone; the targets that it named."""
        touched = {target for target, named in self.named.items() if row in named}
        for target in touched:
            self.named[target].remove(row)
            if not self.named[target]:
                self.leave(target)
            elif self.heard[target] == row:
                self.heard[target] = None
        return touched

    def elect(self, target: int, tells: Callable[[int], float], better: float) -> bool:
        """The list that tells most is listened to from now on if it tells more by so much; whether it is another."""
        now = self.heard.get(target)
        others = [row for row in self.named.get(target, ()) if row != now]
        if now is None or not others:
            return False
        best = max(others, key=tells)
        if tells(best) <= tells(now) + better:
            return False
        self.heard[target] = best
        return True
