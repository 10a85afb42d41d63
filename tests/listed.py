"""Pages that change and lists that name them, hour by hour: a small made-up world that a policy is let loose on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from oracles.lists import Law
from recrawl import Visits
from recrawl.policies.learned_whittle import LearnedWhittle

NOW, HOUR, DAY = 1.75e9, 3600.0, 86400.0


@dataclass
class World:
    """Targets are first the pages, then the lists; each list has its pages and its law.

    Parameters
        change: of each page, per second
        lists: the pages of each, and its law
    """

    change: np.ndarray
    lists: Sequence[tuple[np.ndarray, Law]]
    seed: int = 0
    now: float = NOW
    visits: list[tuple[float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.changed = np.zeros(len(self.change), dtype=bool)
        self.modified = np.full(len(self.change), self.now - DAY)
        self.stated = [np.full(len(pages), self.now - DAY) for pages, _ in self.lists]

    @property
    def targets(self) -> int:
        return len(self.change) + len(self.lists)

    def begun(self, objective: str = "freshness", labels: Sequence[str] | None = None) -> LearnedWhittle:
        """A policy that knows only how many targets there are."""
        policy = LearnedWhittle(objective)  # type: ignore[arg-type]
        policy.start(self.targets, self.now, labels=labels)
        return policy

    def pass_time(self, seconds: float = HOUR) -> None:
        """Pages change, and lists name some of those, and others."""
        self.now += seconds
        hit = self.random.random(len(self.change)) < -np.expm1(-self.change * seconds)
        self.changed |= hit
        self.modified[hit] = self.now
        for (pages, law), stated in zip(self.lists, self.stated, strict=True):
            false = -np.expm1(-(law.per_change * self.change[pages] + law.per_time) * seconds)
            draw = self.random.random((2, len(pages)))
            stated[(hit[pages] & (draw[0] < law.recall)) | (draw[1] < false)] = self.now

    def visit(self, policy: LearnedWhittle, ids: np.ndarray) -> None:
        """What these show now."""
        pages, lists = ids[ids < len(self.change)], ids[ids >= len(self.change)]
        self.visits += [(self.now, target) for target in ids.tolist()]
        if len(pages):
            policy.observe(Visits(pages, self.now, changed=self.changed[pages]))
            self.changed[pages] = False
        if len(lists):
            which = (lists - len(self.change)).tolist()
            said = [(self.lists[k][0], self.stated[k].copy()) for k in which]
            policy.observe(Visits(lists, self.now, sitemap=said))

    def step(self, policy: LearnedWhittle, budget: float, seconds: float = HOUR) -> np.ndarray:
        """Let time pass and the policy choose; whom it chose."""
        self.pass_time(seconds)
        chosen = policy.choose(self.now, budget)
        self.visit(policy, chosen)
        return chosen

    def run(self, policy: LearnedWhittle, days: float, budget: float, seconds: float = HOUR) -> None:
        """So many days of it, `budget` visits each time."""
        for _ in range(round(days * DAY / seconds)):
            self.step(policy, budget, seconds)

    def per_day(self, target: int, since: float) -> float:
        """Visits to a target since a time."""
        return sum(1 for at, one in self.visits if one == target and at > since) / (self.now - since) * DAY


def weekly(pages: int) -> np.ndarray:
    """Pages that change about every ten days, some more often than others."""
    return np.geomspace(1 / 30, 1 / 3, pages) / DAY
