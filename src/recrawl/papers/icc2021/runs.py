"""The runs behind the figures and numbers: every policy in both examples, run by run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import recrawl
from recrawl import policies
from recrawl.papers.expected_rewards import Audited
from recrawl.papers.icc2021.setting import DEEP, EXAMPLES, VARIANTS, Length, lines
from recrawl.papers.parallel import side_by_side
from recrawl.records import FloatArray
from recrawl.report.progress import ProgressCallback
from recrawl.sim.result import SimulationResult


class Task(NamedTuple):
    """One run of one policy; `variant` names a variant of the deep learner."""

    example: str
    line: str
    run: int
    steps: int
    seed: int
    variant: str = ""


class Outcome(NamedTuple):
    """Rewards per slot, in expectation too where the policy acts on pages, and the share of pages never visited.

    `met_before` is the share of the slots whose state (X, Y) and choice were met before: of the deep learner's first
    run, NaN elsewhere.
    """

    rewards: FloatArray
    expected: FloatArray
    never_visited: float
    met_before: float = math.nan


@dataclass(frozen=True)
class Curves:
    """All runs of one policy in one example: rewards as found and in expectation (one row per run)."""

    rewards: FloatArray
    expected: FloatArray
    never_visited: float
    met_before: float = math.nan


def one_run(task: Task) -> Outcome:
    """Do one run. Run r of every policy meets the same changes of the same pages."""
    world = EXAMPLES[task.example]
    line = lines()[task.line]
    seed = task.seed * 1000 + task.run
    if task.variant:
        policy = policies.make("fg_dqn", seed=task.run, **VARIANTS[task.variant].options)
        return _outcome(recrawl.simulate(world, policy, steps=task.steps, seed=seed, noise="change"), task)
    policy = line.make(world, task.run)
    if not line.on_pages:
        return _outcome(recrawl.simulate(world, policy, steps=task.steps, seed=seed, noise="change"), task)
    audited = Audited(policy) if line.learns else None
    found = recrawl.simulate(world.pages(), audited or policy, steps=task.steps, seed=seed, noise="change")
    expected = np.array(audited.expected) if audited else np.empty(0)
    return Outcome(found.rewards[0], expected, float((found.crawls[0] == 0).mean()))


def _outcome(found: SimulationResult, task: Task) -> Outcome:
    never = EXAMPLES[task.example].never_visited(found.crawls)
    # Looking at what was chosen plays the run again, so only one is looked at.
    met = met_before(found) if (task.line, task.variant, task.run) == ("drl", "", 0) else math.nan
    return Outcome(found.rewards[0], np.empty(0), never, met)


def met_before(found: SimulationResult) -> float:
    """The share of slots whose state, (X, Y) of every arm, and choice were met in an earlier slot of the first run."""
    chosen, changed = found.actions.argmax(axis=1), found.rewards[0] > 0
    arms = found.actions.shape[1]
    elapsed, last = [1] * arms, [False] * arms
    seen: set[tuple[object, ...]] = set()
    repeats = 0
    for arm, found_change in zip(chosen.tolist(), changed.tolist(), strict=True):
        key = (*elapsed, *last, arm)
        repeats += key in seen
        seen.add(key)
        elapsed = [each + 1 for each in elapsed]
        elapsed[arm], last[arm] = 1, found_change
    return repeats / len(chosen)


def all_runs(length: Length, seed: int, progress: ProgressCallback) -> dict[tuple[str, str], Curves]:
    """Every curve, by example and policy; variants of the deep learner under "variant: …"."""
    tasks = {}
    for example in EXAMPLES:
        for name in lines(example):
            steps = length.long if name == "ours" else length.steps
            for run in range(length.runs):
                tasks[example, name, run] = Task(example, name, run, steps, seed)
    if set(DEEP) <= set(lines()):
        for variant, example in ((name, each) for name, made in VARIANTS.items() for each in made.examples):
            for run in range(length.variant_runs):
                key = example, f"variant: {variant}", run
                tasks[key] = Task(example, "drl", run, length.variant_steps, seed, variant)
    ordered = dict(sorted(tasks.items(), key=lambda item: (item[1].line not in DEEP, item[1].line != "ours")))
    done = side_by_side(one_run, ordered, _piece, progress)
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for example, name, run in tasks:
        groups.setdefault((example, name), []).append(done[example, name, run])
    return {key: _curves(outcomes) for key, outcomes in groups.items()}


def _piece(key: tuple[str, str, int]) -> str:
    example, name, _ = key
    if name.startswith("variant"):
        return "icc2021: variants of the deep learner"
    return f"icc2021, {example}: {name if name in (*DEEP, 'ours') else 'other policies'}"


def _curves(outcomes: list[Outcome]) -> Curves:
    return Curves(
        np.stack([outcome.rewards for outcome in outcomes]),
        np.stack([outcome.expected for outcome in outcomes]),
        float(np.mean([outcome.never_visited for outcome in outcomes])),
        outcomes[0].met_before,
    )
