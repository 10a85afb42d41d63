"""Crawling as Gymnasium environments, for agents written elsewhere.

Both are the simulator's own worlds, stepped slot by slot: an action says what to crawl in this slot, the reward is the
worth collected, and an episode is cut off after `slots` slots. An observation is a 2 × N array, one column per target:

* row 0, X: slots since the target was last crawled, at least 1 (one slot before the start counts as a crawl);
* row 1, Y: what that crawl brought (`Ephemeral-v0`: worth; `ChangingPages-v0`: 1 if it found a change, else 0), or, in
  `Ephemeral-v0` with `observed=True`, the worth waiting now.

Importing this module registers the names ``recrawl/Ephemeral-v0`` and ``recrawl/ChangingPages-v0``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError, require
from recrawl.records import IntArray, Sources
from recrawl.sim.grouped_pages import GroupedPages, GroupedWorld
from recrawl.sim.noise import Noise
from recrawl.sim.registration import register
from recrawl.sim.worlds import SlottedWorld, dynamics_of

gymnasium: Any = require("gymnasium", "the environments", "lab")
Observation = npt.NDArray[np.float64]
register()


class CrawlEnv(gymnasium.Env[Observation, Any]):  # type: ignore[misc]
    """What both environments share: choosing `budget` of `targets` in each slot.

    With a budget of 1 the action is the number of a target; with more it is that many numbers, and one named twice is
    crawled once.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 — Gymnasium's own convention

    def __init__(self, targets: int, budget: int, slots: int, most_shown: float) -> None:
        for name, count, most in (("budget", budget, targets), ("slots", slots, np.inf)):
            if not (isinstance(count, (int, np.integer)) and 1 <= count <= most):
                raise ParameterError(name, f"a whole number from 1 to {most}", count)
        self.budget, self.slots = int(budget), int(slots)
        spaces = gymnasium.spaces
        single = budget == 1
        self.action_space = spaces.Discrete(targets) if single else spaces.MultiDiscrete([targets] * self.budget)
        high = np.stack([np.full(targets, self.slots + 1.0), np.full(targets, most_shown)])
        self.observation_space = spaces.Box(np.zeros_like(high), high, dtype=np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in a fresh world, the same one for the same seed."""
        super().reset(seed=seed)
        targets = self.observation_space.shape[1]
        self.world = self.make_world(int(self.np_random.integers(2**63)))
        self.slot, self.last, self.found = 0, np.full(targets, -1.0), np.zeros(targets)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Crawl, collect, and let a slot pass."""
        ids: IntArray = np.unique(np.asarray(action, dtype=np.int64))
        if not self.action_space.contains(action):
            raise ParameterError("action", f"an element of {self.action_space}", action)
        visits = self.world.crawl(ids, float(self.slot))
        assert visits.worth is not None
        self.last[ids] = self.slot
        self.found[ids] = self.shown(visits.worth)
        self.slot += 1
        self.world.advance()
        return self._observation(), float(visits.worth.sum()), False, self.slot >= self.slots, {}

    def make_world(self, seed: int) -> SlottedWorld | GroupedWorld:
        """The world of one episode."""
        raise NotImplementedError

    def shown(self, worth: Observation) -> Observation:
        """What an observation says of a crawl that collected this."""
        return worth

    def _observation(self) -> Observation:
        space = self.observation_space
        return np.clip(np.stack([self.slot - self.last, self.found]), space.low, space.high)


class EphemeralEnv(CrawlEnv):
    """``recrawl/Ephemeral-v0``: sources that publish items whose interest fades [tcns2018].

    Parameters
        sources: what can be crawled; None for the four sources of [tcns2018, Table I]
        budget: sources crawled per slot
        slots: length of an episode
        noise: as for :func:`recrawl.simulate`
        observed: whether the agent sees the worth waiting at every source
    """

    def __init__(
        self,
        sources: Sources | None = None,
        budget: int = 1,
        slots: int = 1000,
        noise: Noise = "poisson",
        observed: bool = False,
    ) -> None:
        self.sources = TABLE_I if sources is None else sources
        self.noise, self.observed = noise, observed
        dynamics_of(self.sources, noise)  # complains of a noise that does not fit
        # Spaces must be bounded; random worth has no bound, but stays far below this.
        super().__init__(len(self.sources), budget, slots, most_shown=1e3 * float(self.sources.ceiling.max() + 1.0))

    def make_world(self, seed: int) -> SlottedWorld:
        """The sources' world."""
        return SlottedWorld(self.sources, self.noise, seed, 0)

    def _observation(self) -> Observation:
        if self.observed:
            self.found = self.world.states(np.ones(len(self.sources), dtype=np.bool_))
        return super()._observation()


class ChangingPagesEnv(CrawlEnv):
    """``recrawl/ChangingPages-v0``: groups of alike pages that change at random [icc2021].

    Parameters
        pages: the groups; None for the paper's four groups of 100 pages
        budget: groups chosen per slot, one page of each being crawled
        slots: length of an episode
    """

    def __init__(self, pages: GroupedPages | None = None, budget: int = 1, slots: int = 1000) -> None:
        self.pages = FOUR_GROUPS if pages is None else pages
        super().__init__(len(self.pages), budget, slots, most_shown=1.0)

    def make_world(self, seed: int) -> GroupedWorld:
        """The groups' world, with random changes."""
        return GroupedWorld(self.pages, "change", seed, 0)

    def shown(self, worth: Observation) -> Observation:
        """Whether the crawl found a change."""
        return np.asarray(worth > 0, dtype=np.float64)


TABLE_I = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])
FOUR_GROUPS = GroupedPages([5, 80, 10, 5], [0.1, 0.002, 0.005, 0.05], [5, 0.2, 1, 0.5])
