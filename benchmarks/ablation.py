"""What each ingredient of `learned_whittle` is worth: the developer scenarios with one ingredient off at a time.

A single replay is chaotic: one choice that differs makes another trajectory. Every replicate therefore drops a random
tenth of the targets, the same for all variants, and what is shown is the mean paired difference to the full learner
with its standard error. The variant "nothing off" changes a constant that should not matter; what it shows is noise.

Shares in percentage points, higher is better; delays in hours, lower is better.

Run: python -m benchmarks.ablation [--quick] [--part items|pages|lists] [--replicates N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from recrawl.kernels.rhythm_index import HOURS
from recrawl.learning import (
    changes,
    drift,
    feed_model,
    freshness_plan,
    list_trust,
    list_worth,
    lists,
    page_model,
    paths,
    rates,
    signal_batches,
)
from recrawl.learning.rhythms import own_profiles
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.records import FloatArray, IntArray
from recrawl.sim.comparison import OURS, Contender, Job, in_processes, run_job
from recrawl.sim.scenarios import Scenario, read_scenarios
from recrawl.sim.trace_lists import TraceList
from recrawl.sim.traces import Folder, Trace

DATA = Path(os.environ.get("RECRAWL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
DROPPED = 0.1
FULL = "full learner"
Change = tuple[Any, str, Any]
"""Object, attribute, and what takes its place."""


def _no_profile(*given: Any) -> None:
    """Leave every profile at 1."""


def _hours_only(*given: Any) -> None:
    """Leave the profiles of weekdays at 1."""
    if len(given[4]) == HOURS:
        own_profiles(*given)


def _one_memory(memory: int) -> Callable[[drift.DriftingArrivals, IntArray], None]:
    """Bring rates in line with one of the memories alone."""
    update_posterior = drift.DriftingArrivals.update_posterior

    def with_one_memory(self: drift.DriftingArrivals, rows: IntArray) -> None:
        self.record[rows], self.record[rows, memory] = -1e9, 0.0
        update_posterior(self, rows)

    return with_one_memory


def _at_the_mean(self: page_model.PageModel, rows: IntArray) -> None:
    """One atom at the posterior mean rate, in place of the average over the posterior (freshness)."""
    mean, atoms = self.changes.mean(rows), self.atoms
    atoms.mass[rows], atoms.value[rows], atoms.rate[rows] = 0.0, 0.0, 0.0
    atoms.mass[rows, 0], atoms.value[rows, 0], atoms.rate[rows, 0] = 1.0, 1.0 / mean, mean
    atoms.redraw(rows)
    if self.plan is not None:
        self.plan.believed(rows, atoms, self.worth(rows), self.heard.hidden[rows])


def _one_account(self: list_trust.ListTrust, owners: IntArray, parts: IntArray, *rest: Any) -> None:
    """Judge the first list by the visits to pages of all."""
    _learn(self, np.zeros_like(owners), np.full_like(parts, -1), *rest)


def _the_one_account(self: list_trust.ListTrust, owners: IntArray, parts: IntArray) -> IntArray:
    """What is known of the first list counts for all."""
    return np.zeros_like(owners)


def _no_folders(self: lists.Lists, row: int, labels: object) -> None:
    """Leave every list whole."""


def _no_silence(self: lists.Lists, places: IntArray, now: float, *rest: object, pushed: bool) -> None:
    """Count no time and no signals."""
    self.sources.counted_to[places] = now


def _once_a_day(self: list_worth.ListWorth, ids: IntArray, now: FloatArray) -> FloatArray:
    """Before everybody else once a day is over."""
    _, _, read, _ = self._terms(ids)
    return np.where(now - read >= self._lists.day, np.inf, 0.0)


def _a_day(self: list_worth.ListWorth, ids: IntArray, level: FloatArray) -> FloatArray:
    """A day."""
    return np.full(len(ids), self._lists.day)


def _no_plan(targets: int, now: float) -> None:
    """Rank by the averaged index."""


def _no_tilts(self: paths.Folders, evidence: FloatArray, log_prior: FloatArray, folder: IntArray) -> FloatArray:
    return np.zeros(len(evidence))


def _prior_as_it_was(log_likelihood: FloatArray, log_prior: FloatArray, others: FloatArray) -> FloatArray:
    return log_prior


_learn = list_trust.ListTrust.learn

VARIANTS: dict[str, dict[str, list[Change]]] = {
    "items": {
        FULL: [],
        "nothing off (shortest wait 1 % longer)": [
            (feed_model, "SHORTEST_WAIT_DAYS", 1.01 * feed_model.SHORTEST_WAIT_DAYS)
        ],
        "no profile, so nothing to look ahead to": [(feed_model, "own_profiles", _no_profile)],
        "pooled profile instead of own": [
            (feed_model, "OWN_ITEMS_BY_HOUR", 1e12),
            (feed_model, "OWN_ITEMS_BY_WEEKDAY", 1e12),
        ],
        "no look-ahead": [(feed_model, "HORIZON_DAYS", 0.0)],
        "no weekdays": [(feed_model, "own_profiles", _hours_only)],
        "one memory of 120 days instead of four": [(drift.DriftingArrivals, "update_posterior", _one_memory(2))],
        "one memory of 500 days": [(drift.DriftingArrivals, "update_posterior", _one_memory(3))],
        "no information bonus": [(feed_model, "BONUS", 0.0)],
    },
    "lists": {
        FULL: [],
        "nothing off (flat part of the prior 5 % larger)": [(rates, "FLAT_SOURCES", 1.05 * rates.FLAT_SOURCES)],
        "no lists": [(LearnedWhittle, "uses_lists", False)],
        "one account for all lists": [
            (list_trust.ListTrust, "learn", _one_account),
            (list_trust.ListTrust, "judged_by", _the_one_account),
        ],
        "no accounts of folders": [(lists.Lists, "split", _no_folders)],
        "one precision per list, not per page": [(list_trust, "FALSE_PER_YEAR", 0.0 * list_trust.FALSE_PER_YEAR)],
        "recall taken to be one half": [(list_trust, "RECALLS", np.full(len(list_trust.RECALLS), 0.5))],
        "batches counted singly": [(signal_batches, "LEAST_SIZE", 10**9)],
        "silence of a list is no evidence": [(lists.Lists, "_count", _no_silence)],
        "every list once a day": [
            (list_worth.ListWorth, "index", _once_a_day),
            (list_worth.ListWorth, "age", _a_day),
        ],
    },
    "pages": {
        FULL: [],
        "nothing off (flat part of the prior 5 % larger)": [(rates, "FLAT_SOURCES", 1.05 * rates.FLAT_SOURCES)],
        "share of hopeless pages not cut": [(freshness_plan, "HOPELESS", np.inf), (page_model, "HOPELESS", np.inf)],
        "averaged index instead of plan": [(page_model, "Plan", _no_plan)],
        "plan at the posterior mean": [(page_model.PageModel, "condense", _at_the_mean)],
        "index at the posterior mean": [
            (page_model, "Plan", _no_plan),
            (page_model.PageModel, "condense", _at_the_mean),
        ],
        "no pooling along paths": [(paths.Folders, "tilts", _no_tilts)],
        "flat prior, never fitted": [(changes, "fit_prior", _prior_as_it_was)],
        "prior free in form": [(rates, "LOGNORMAL_SHARE", 0.0)],
        "prior lognormal": [(rates, "LOGNORMAL_SHARE", 1.0)],
        "Thompson draws of the index": [],
    },
}
OPTIONS = {"Thompson draws of the index": (("act", "thompson"),)}
"""Variants that are an option of the policy."""


@dataclass(frozen=True)
class Task:
    """One replay: a variant on a column, on the targets that a replicate keeps."""

    scenario: Scenario
    budget: float
    variant: str
    replicate: int

    @property
    def part(self) -> str:
        """Which part of the learner the scenario is about."""
        return part_of(self.scenario)

    @property
    def column(self) -> str:
        """`scenario@budget`."""
        return f"{self.scenario.name}@{self.budget:g}"


def part_of(scenario: Scenario) -> str:
    """Pages for freshness, with lists or without, items for the rest."""
    return "items" if scenario.kind != "freshness" else "lists" if scenario.lists else "pages"


def kept(trace: Trace, replicate: int) -> Trace:
    """The trace without a random tenth of its targets."""
    stays = np.random.default_rng(replicate).random(len(trace)) >= DROPPED
    number = np.where(stays, np.cumsum(stays) - 1, -1)
    place = number[trace.owners]
    labels = [label for label, stay in zip(trace.labels, stays, strict=True) if stay]
    rest = Trace.of(trace.targets[stays], labels, place[place >= 0], trace.times[place >= 0])
    return replace(rest, lists=tuple(_kept_entries(each, number) for each in trace.lists))


def _kept_entries(listed: TraceList, number: IntArray) -> TraceList:
    """What a list says of the targets that stay, by their new numbers."""
    owners = number[np.repeat(listed.pages, np.diff(listed.offsets))]
    there = owners >= 0
    return TraceList.of(listed.number, listed.label, owners[there], listed.listed_at[there], listed.lastmod[there])


def score_of(task: Task, traces: dict[str, Trace]) -> float:
    """The score of one replay: per cent, or hours."""
    with ExitStack() as stack:
        for target, name, replacement in VARIANTS[task.part][task.variant]:
            stack.enter_context(patch.object(target, name, replacement))
        job = Job(task.scenario, task.budget, Contender(OURS, OPTIONS.get(task.variant, ())))
        value = run_job(job, kept(traces[task.scenario.name], task.replicate)).score.value
    return value if task.scenario.kind == "discovery" else 100.0 * value


def tasks_of(scenarios: Sequence[Scenario], replicates: int, quick: bool) -> list[Task]:
    """All replays, replicate by replicate; a quick run takes each scenario's first budget only."""
    return [
        Task(scenario, budget, variant, replicate)
        for replicate in range(1, replicates + 1)
        for scenario in scenarios
        for budget in scenario.budgets_fetches_per_day[: 1 if quick else None]
        for variant in VARIANTS[part_of(scenario)]
    ]


def paired(scores: dict[Task, float], column: str, variant: str) -> str:
    """The mean difference to the full learner and its standard error; the full learner's own mean score."""
    found = {
        task.replicate: value for task, value in scores.items() if (task.column, task.variant) == (column, variant)
    }
    full = {task.replicate: value for task, value in scores.items() if (task.column, task.variant) == (column, FULL)}
    if variant == FULL:
        return f"{statistics.mean(full.values()):.2f}"
    differences = [value - full[replicate] for replicate, value in found.items()]
    mean = statistics.mean(differences)
    if len(differences) < 2:
        return f"{mean:+.2f}"
    return f"{mean:+.2f} ± {statistics.stdev(differences) / len(differences) ** 0.5:.2f}"


def table(scores: dict[Task, float], part: str) -> str:
    """A Markdown table of one part: variants by columns."""
    columns = list(dict.fromkeys(task.column for task in scores if task.part == part))
    lines = [f"| off | {' | '.join(columns)} |", f"| --- |{' --- |' * len(columns)}"]
    for variant in VARIANTS[part]:
        cells = [paired(scores, column, variant) for column in columns]
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines)


def run(tasks: Sequence[Task], traces: dict[str, Trace], say: Callable[[str], None]) -> dict[Task, float]:
    """Do all replays in two processes, saying each score as it comes."""
    found: dict[int, float] = {}
    for place, value in in_processes(score_of, tasks, traces, workers=2):
        found[place] = value
        task = tasks[place]
        say(f"{len(found)}/{len(tasks)} {task.replicate} {task.column} {task.variant}: {value:.3f}")
    return {tasks[place]: found[place] for place in range(len(tasks))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one replicate, each scenario's first budget")
    parser.add_argument("--part", choices=tuple(VARIANTS), help="only this learner")
    parser.add_argument("--replicates", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write every score to this file")
    given = parser.parse_args()
    if not (DATA / "scenarios.toml").is_file():
        sys.exit(f"no scenarios.toml in {DATA}: name a folder of traces by RECRAWL_DATA")
    files = sorted(DATA.glob("scenarios*.toml"))
    scenarios = [each for file in files for each in read_scenarios(file) if given.part in (None, part_of(each))]
    folder = Folder(DATA)
    traces = {scenario.name: folder.trace(scenario) for scenario in scenarios}
    tasks = tasks_of(scenarios, 1 if given.quick else given.replicates, given.quick)
    scores = run(tasks, traces, lambda line: print(line, file=sys.stderr, flush=True))
    for part in dict.fromkeys(task.part for task in tasks):
        print(table(scores, part), end="\n\n")
    if given.json is not None:
        rows = [[task.column, task.variant, task.replicate, value] for task, value in scores.items()]
        given.json.write_text(json.dumps(rows, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
