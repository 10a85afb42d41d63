"""The experiments' common ground: the sources, how long and how often, and runs kept for whoever asks again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import recrawl
from recrawl import policies
from recrawl.papers.allerton2019.runs import LearnerRuns, run_many
from recrawl.papers.tcns2018.setting import table_one
from recrawl.policies.lspe import Lspe
from recrawl.records import Sources
from recrawl.report.progress import ProgressCallback
from recrawl.report.tables import Cell
from recrawl.sim.metrics import interval95

PAPER_STEPS, PAPER_RUNS = 10_000, 20
QUICK_STEPS, QUICK_RUNS = 2_000, 6
SHARPNESS = 2.0
RAW_UNIT = 1.0
# The options of the learner that are varied, with the values they have where nothing else is said.
USUAL: dict[str, Any] = {
    "budget": "soft",
    "reward": "printed",
    "sharpness": SHARPNESS,
    "inverse": "tikhonov",
    "critic_steps": "paper",
    "initial": 0.5,
    "project": True,
    "unit": RAW_UNIT,
}
SUMMARY = ("mean", "s.d.", "least", "median", "most", "arms", "% of bound at its spend", "95 % interval, %")


@dataclass
class Lab:
    """Runs of the learner on Table I, with the interests ξ that [allerton2019, Table I] leaves out.

    Without them every arm alone would earn more than 160, and the paper's "between the best and the second-best arm"
    would be false.
    """

    quick: bool
    seed: int
    progress: ProgressCallback
    sources: Sources = field(default_factory=table_one)
    kept: dict[str, LearnerRuns] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """Slots per run."""
        return QUICK_STEPS if self.quick else PAPER_STEPS

    @property
    def runs(self) -> int:
        """Runs per setting."""
        return QUICK_RUNS if self.quick else PAPER_RUNS

    @property
    def whole_unit(self) -> float:
        """The largest ceiling: measured in it, every worth lies in [0, 1]."""
        return float(self.sources.ceiling.max())

    @property
    def units(self) -> dict[str, float]:
        """The two units that are compared throughout."""
        return {"raw": RAW_UNIT, "[0, 1]": self.whole_unit}

    def learn(self, **changes: Any) -> LearnerRuns:
        """Runs of the learner on Table I with the usual options, these excepted."""
        options = USUAL | changes
        key = str(sorted(options.items()))
        if key not in self.kept:
            self.kept[key] = self.learn_on(self.sources, **options)
        return self.kept[key]

    def learn_on(self, sources: Sources, **options: Any) -> LearnerRuns:
        """Runs of the learner on other sources."""
        policy = policies.make("lspe", seed=self.seed, **options)
        assert isinstance(policy, Lspe)
        return run_many(sources, policy, self.steps, self.runs, self.seed)

    def index_reward(self, sources: Sources | None = None) -> float:
        """What the index policy earns with one crawl per slot and all parameters known."""
        return recrawl.simulate(self.sources if sources is None else sources, "whittle", 1, self.steps).mean_reward

    def arm_reward(self, arm: int) -> float:
        """What crawling one source in every slot earns."""
        return recrawl.simulate(self.sources, policies.make("single", source=arm), 1, self.steps).mean_reward


def bound_at(sources: Sources, spend: float) -> float:
    """The most that any policy spending so much per slot can earn."""
    return recrawl.relaxed_bound(sources, min(max(spend, 1e-9), float(sources.cost.sum()))).value


def interval(runs: LearnerRuns) -> tuple[float, float] | None:
    """The 95 % interval of the mean reward."""
    return interval95(runs.reward_per_run)


def summary(runs: LearnerRuns, sources: Sources) -> list[Cell]:
    """The cells under `SUMMARY`: the reward over runs, and the arms engaged."""
    reward, spend = runs.reward_per_run, float(runs.engaged_per_run.mean())
    least, median, most = np.quantile(reward, [0.0, 0.5, 1.0]).tolist()
    mean = float(reward.mean())
    bound, around = bound_at(sources, spend), interval(runs)
    noise = None if around is None else (100.0 * around[0] / bound, 100.0 * around[1] / bound)
    return [mean, float(reward.std(ddof=1)), least, median, most, spend, 100.0 * mean / bound, noise]
