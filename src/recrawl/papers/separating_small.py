"""The same law with twenty pages, few enough for the learners of allerton2019 and icc2021 as they were published.

LSPE(0) keeps a feature for every pair of sources, so a thousand pages would need a matrix of half a million columns.
Here it stands beside the rest, with a hard budget because the others keep one, and so does the deep learner with the
paper's own network.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

import recrawl
from recrawl import policies
from recrawl.kernels.static_allocation import lottery_reward, static_allocation
from recrawl.papers.expected_rewards import Audited
from recrawl.papers.parallel import side_by_side
from recrawl.papers.results import Result, compare, interval_of_runs
from recrawl.papers.separating_law import catalogue
from recrawl.policies.contract import Policy
from recrawl.records import FloatArray, Sources
from recrawl.report import Column, Section, Table, Text
from recrawl.report.progress import ProgressCallback
from recrawl.report.tables import Cell

PAGES, BUDGET = 20, 1
SETTING = f"separating/n{PAGES}-k{BUDGET}"
KNOWS = {
    "whittle": "index",
    "periodic": "best fixed periods",
    "greedy": "greedy (myopic)",
    "static": "best static lottery",
    "round-robin": "round robin",
}
LEARNS = {
    "ours": "learned index",
    "drl": "DRL (FG-DQN)",
    "thompson-importance": "Thompson with known importance",
    "thompson": "Thompson sampling",
    "lspe-collected": "LSPE(0), reward as collected",
    "lspe-printed": "LSPE(0), reward as printed",
}


class Task(NamedTuple):
    """One policy on one small catalogue."""

    name: str
    draw: int
    slots: int
    seed: int


def able(names: Mapping[str, str]) -> dict[str, str]:
    """The policies that can run here: without torch all but the deep one."""
    return {name: label for name, label in names.items() if name != "drl" or find_spec("torch") is not None}


def one_run(task: Task) -> FloatArray:
    """Expected reward per slot as a share of the bound."""
    sources = catalogue(task.seed * 1000 + task.draw, PAGES)
    bound = recrawl.relaxed_bound(sources, BUDGET).value
    if task.name == "static":
        change, worth = sources.arrivals_per_slot, sources.interest
        share = lottery_reward(static_allocation(change, worth * change, BUDGET), change, worth) / bound
        return np.full(task.slots, share)
    if task.name in KNOWS:
        return recrawl.simulate(sources, task.name.replace("-", "_"), BUDGET, task.slots).rewards[0] / bound
    audited = Audited(_learner(task.name, sources, task.draw))
    recrawl.simulate(sources, audited, BUDGET, task.slots, seed=task.draw, noise="change")
    return np.array(audited.expected) / bound


def _learner(name: str, sources: Sources, seed: int) -> Policy:
    if name == "ours":
        return policies.make("learned_whittle", objective="changes", seed=seed)
    if name == "drl":
        return policies.make("fg_dqn", seed=seed)
    if name.startswith("lspe"):
        unit, reward = float(sources.ceiling.max()), name.removeprefix("lspe-")
        return policies.make("lspe", budget="hard", reward=reward, unit=unit, seed=seed)
    return policies.make("thompson", importance=name == "thompson-importance", seed=seed)


def findings(slots: int, draws: int, seed: int, progress: ProgressCallback) -> tuple[list[Result], Section]:
    """Every policy on every small catalogue: rows and a section."""
    names = able(LEARNS) | KNOWS
    tasks = {(name, draw): Task(name, draw, slots, seed) for name in names for draw in range(draws)}
    done = side_by_side(one_run, tasks, lambda key: f"separating, twenty pages: {names[key[0]]}", progress)
    results = []
    for name in names:
        share = np.array([100 * done[name, draw][slots // 2 :].mean() for draw in range(draws)])
        note = f"% of the dual bound over the second half of {slots} slots, {draws} catalogues of {PAGES} pages."
        results.append(compare(f"{SETTING}/{name}", float(share.mean()), ci95=interval_of_runs(share), note=note))
    return results, _section({result.id.rpartition("/")[2]: result for result in results}, slots, draws)


def _section(found: Mapping[str, Result], slots: int, draws: int) -> Section:
    rows: list[list[Cell]] = [
        [label, knows, found[name].measured, found[name].ci95]
        for names, knows in ((KNOWS, "known"), (able(LEARNS), "unknown"))
        for name, label in names.items()
    ]
    columns = [Column("policy"), Column("parameters"), Column("% of the bound", 2), Column("95 % interval", 2)]
    text = (
        f"The papers' own learners on {PAGES} pages of the same law, one crawl per slot. LSPE(0) is told more than the "
        "other learners: it sees the expected worth of every page in every slot, and the range of each threshold. It "
        "still has to find its thresholds by gradient ascent, and a slot in which it crawls the wrong page teaches it "
        "nothing about the right one. Worths are measured in the largest ceiling."
    )
    caption = f"Second half of {slots} slots, {draws} catalogues."
    return Section("Twenty pages: the papers' learners as published", [Text(text), Table(columns, rows, caption)])
