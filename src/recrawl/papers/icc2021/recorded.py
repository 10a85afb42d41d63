"""The paper's policies on recorded pages, beside ours and round robin: what its authors leave to future work.

The policies of the paper choose among groups of pages that behave alike. It is given the groups; here they are formed
from what crawls have shown (:mod:`recrawl.policies.grouped_arms`). Ours and round robin act on pages. Everything is
played by the replays of :mod:`recrawl.sim.comparison`, and every crawl log is scored twice: by the share of time pages
are fresh, which static optimisation maximises, and by the share of changes found, which the learners are rewarded for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from recrawl.papers.icc2021.setting import DEEP, LINES, lines
from recrawl.papers.recordings import Recordings
from recrawl.papers.results import Result, compare, interval_of_runs
from recrawl.records import FloatArray
from recrawl.report.progress import ProgressCallback
from recrawl.sim.comparison import OURS, Contender, Outcome, grouped_entries, jobs_for, run_jobs
from recrawl.sim.scenarios import Scenario
from recrawl.sim.scoring import Score, changes_found, difference

SEEDS, QUICK_SEEDS, QUICK_BUDGETS = 4, 2, 2
WORKERS = 2
ROUND_ROBIN = "round-robin"
ON_PAGES = {
    "ours": Contender(OURS),
    "ours-changes": Contender(OURS, (("objective", "changes"),)),
    ROUND_ROBIN: Contender("round_robin"),
}
"""What acts on pages and meets no chance of its own: one run says all."""
ON_GROUPS = {"fg_dqn": "drl", "thompson_then_dqn": "hybrid"}
"""Policies of the paper that it, and the lines of its figures, call otherwise."""
FORGIVEN = "thompson-first-copies-aside"
"""Thompson sampling that is not told of first crawls, which have nothing to compare with and cannot find a change."""
LABELS = {
    "ours": "learned index, for freshness (pages)",
    "ours-changes": "learned index, for changes found (pages)",
    ROUND_ROBIN: "round robin (pages)",
    FORGIVEN: "Thompson, first copies aside",
}
MEASURES = {"": "% of time fresh", "-found": "% of changes found"}


@dataclass(frozen=True, eq=False)
class Played:
    """One policy in one column, over all its seeds.

    Parameters
        column: scenario@budget
        policy: its key among the results
        fresh, found: share of time fresh, and of changes found: over the seeds the mean, which knows its doubt over
            pages
        fresh_of_seeds, found_of_seeds: the same, seed by seed
    """

    column: str
    policy: str
    fresh: Score
    found: Score
    fresh_of_seeds: FloatArray
    found_of_seeds: FloatArray

    @property
    def label(self) -> str:
        """Its name in tables and legends."""
        return LABELS[self.policy] if self.policy in LABELS else LINES[self.policy].label


def play(recordings: Recordings, quick: bool, seed: int, progress: ProgressCallback) -> list[Played]:
    """Every policy on every column; `quick` takes fewer seeds and budgets."""
    seeds = range(seed, seed + (QUICK_SEEDS if quick else SEEDS))
    scenarios = [_shortened(each) if quick else each for each in recordings.scenarios]
    entries = _entries(seeds)
    jobs = jobs_for(scenarios, (), [entry for of_policy in entries.values() for entry in of_policy], keep_log=True)
    outcomes = run_jobs(
        jobs, recordings.traces, lambda name, share: progress(f"icc2021, recorded: {name}", share), WORKERS
    )
    by_column: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_column.setdefault(outcome.column, []).append(outcome)
    return [
        _played(policy, [outcome for outcome in of_column if outcome.entry in of_policy], recordings)
        for of_column in by_column.values()
        for policy, of_policy in entries.items()
    ]


def _shortened(scenario: Scenario) -> Scenario:
    return replace(scenario, budgets_fetches_per_day=scenario.budgets_fetches_per_day[:QUICK_BUDGETS])


def _entries(seeds: Sequence[int]) -> dict[str, list[Contender]]:
    """The runs of each policy: one per seed where it draws lots."""
    found = {name: [entry] for name, entry in ON_PAGES.items()}
    for seed in seeds:
        for entry in grouped_entries(seed=seed):
            name = ON_GROUPS.get(entry.name, entry.name)
            if name in lines() or name not in DEEP:
                found.setdefault(name, []).append(entry)
        found.setdefault(FORGIVEN, []).append(_forgiven(seed))
    return found


def _forgiven(seed: int) -> Contender:
    return Contender("thompson", (("grouped", True), ("first_copies", False), ("seed", seed)))


def _played(policy: str, outcomes: Sequence[Outcome], recordings: Recordings) -> Played:
    found = []
    for outcome in outcomes:
        assert outcome.log is not None
        trace = recordings.traces[outcome.scenario.name]
        found.append(changes_found(outcome.scenario, trace, outcome.log, outcome.budget))
    fresh = [outcome.score for outcome in outcomes]
    values = [np.array([score.value for score in scores]) for scores in (fresh, found)]
    return Played(outcomes[0].column, policy, _mean(fresh), _mean(found), *values)


def _mean(scores: Sequence[Score]) -> Score:
    """The mean over seeds, group of pages by group of pages: its weights are the same in all."""
    return replace(
        scores[0],
        gain=np.mean([score.gain for score in scores], axis=0),
        used_share=float(np.mean([score.used_share for score in scores])),
        never_visited=float(np.mean([score.never_visited for score in scores])),
        details={},
    )


def results(played: Sequence[Played]) -> list[Result]:
    """Two rows per policy and column, in per cent."""
    out = []
    for each in played:
        pairs = ((each.fresh, each.fresh_of_seeds), (each.found, each.found_of_seeds))
        for (suffix, measure), (score, of_seeds) in zip(MEASURES.items(), pairs, strict=True):
            runs = f"mean of {len(of_seeds)} seeds; on groups" if len(of_seeds) > 1 else "on pages, one run"
            note = f"{measure}, {runs}. Standard error over pages {100 * score.standard_error:.2f}."
            identity = f"icc2021/real/{each.column}/{each.policy}{suffix}"
            interval = interval_of_runs(100 * of_seeds) if each.policy not in ON_PAGES else None
            out.append(compare(identity, 100 * score.value, ci95=interval, note=note))
    return out


def against(each: Played, other: Played, found: bool) -> tuple[float, float]:
    """Per cent by which one is ahead of another in the same column, and the standard error of that over pages."""
    ahead, doubt = difference(each.found, other.found) if found else difference(each.fresh, other.fresh)
    return 100 * ahead, 100 * doubt
