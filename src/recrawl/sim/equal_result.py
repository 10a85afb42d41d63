"""How many fetches a rule needs for the same result: the figure users want.

For a score reached at some budget, another rule's budget is doubled or halved until two budgets straddle that score;
after one more replay half-way between them the score (for delays: its logarithm) is taken to be linear in the logarithm
of the budget. Budgets are those a scenario can spend whole. A rule whose own timers leave budget unused gains nothing
from more of it, so the search stops there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from recrawl.report.progress import ProgressCallback
from recrawl.sim.comparison import OURS, Contender, Job, Outcome, in_processes, replay_job, run_job
from recrawl.sim.scenarios import Scenario
from recrawl.sim.traces import Trace

MOST, LEAST = 32.0, 1 / 32
SATURATED = 0.9
"""A rule that uses less of its budget than this gains nothing from more."""


@dataclass(frozen=True)
class EqualResult:
    """What a rule needs for a score.

    Parameters
        entry: the rule
        budget: where the score was reached
        score: that score
        multiple: its budget over that one; inf where no budget gives it that score, 0 where any tried does
        curve: the rule's scores at the budgets tried on the way, ascending
    """

    scenario: Scenario
    entry: Contender
    budget: float
    score: float
    multiple: float
    curve: tuple[tuple[float, float], ...]


class _Curve:
    """A rule's score against its budget, replayed where asked."""

    def __init__(self, scenario: Scenario, trace: Trace, entry: Contender) -> None:
        self.scenario, self.trace, self.entry = scenario, trace, entry
        self.known: dict[float, tuple[float, float]] = {}

    def at(self, budget: float) -> tuple[float, float]:
        """Goodness and the share of the budget used."""
        if budget not in self.known:
            found = run_job(Job(self.scenario, budget, self.entry), self.trace).score
            self.known[budget] = (found.value, found.used_share)
        value, used = self.known[budget]
        return self.goodness(value), used

    def goodness(self, value: float) -> float:
        """A score turned so that more is better; delays by their logarithm, as they fall about like 1/budget."""
        return -math.log(max(value, 1e-12)) if self.scenario.kind == "discovery" else value

    def points(self) -> tuple[tuple[float, float], ...]:
        """All (budget, score) pairs known, ascending."""
        return tuple((budget, value) for budget, (value, _) in sorted(self.known.items()))


def equal_results(scenario: Scenario, trace: Trace, entry: Contender, wanted: dict[float, float]) -> list[EqualResult]:
    """The multiple of each budget in `wanted` (budget to score) at which the entry reaches the score."""
    curve = _Curve(scenario, trace, entry)
    multiples = {budget: _multiple(curve, budget, curve.goodness(value)) for budget, value in wanted.items()}
    return [
        EqualResult(scenario, entry, budget, value, multiples[budget], curve.points())
        for budget, value in wanted.items()
    ]


def _multiple(curve: _Curve, budget: float, wanted: float) -> float:
    reached = curve.at(budget)[0] >= wanted
    step = 0.5 if reached else 2.0
    one = budget
    while LEAST * budget <= one * step <= MOST * budget:
        other = curve.scenario.spendable(one * step)
        good, used = curve.at(other)
        if (good >= wanted) != reached:
            return _between(curve, min(one, other), max(one, other), wanted) / budget
        if not reached and used < SATURATED:
            break
        one = other
    return 0.0 if reached else math.inf


def _between(curve: _Curve, low: float, high: float, wanted: float) -> float:
    """Where the score is reached between a budget that is too small and one that is enough."""
    middle = curve.scenario.spendable(math.sqrt(low * high))
    if low < middle < high:
        low, high = (low, middle) if curve.at(middle)[0] >= wanted else (middle, high)
    below, above = curve.at(low)[0], curve.at(high)[0]
    share = (wanted - below) / (above - below) if above > below else 1.0
    return low * (high / low) ** min(max(share, 0.0), 1.0)


@dataclass(frozen=True)
class _Search:
    scenario: Scenario
    entry: Contender
    wanted: tuple[tuple[float, float], ...]


def _search(task: _Search, traces: dict[str, Trace]) -> list[EqualResult]:
    return equal_results(task.scenario, traces[task.scenario.name], task.entry, dict(task.wanted))


def compare_budgets(
    outcomes: Sequence[Outcome], traces: dict[str, Trace], progress: ProgressCallback, workers: int = 2
) -> list[EqualResult]:
    """For every rule in `outcomes`, the budgets at which it reaches what ours reached there."""
    wanted: dict[Scenario, list[tuple[float, float]]] = {}
    for outcome in outcomes:
        if outcome.entry == Contender(OURS):
            wanted.setdefault(outcome.scenario, []).append((outcome.budget, outcome.score.value))
    pairs = dict.fromkeys((outcome.scenario, outcome.entry) for outcome in outcomes)
    tasks = [
        _Search(scenario, entry, tuple(wanted[scenario]))
        for scenario, entry in pairs
        if scenario in wanted and entry != Contender(OURS) and not (entry.scaled or entry.through_store)
    ]
    title = "fetches for the same result"
    progress(title, 0.0)
    found: dict[int, list[EqualResult]] = {}
    for place, results in in_processes(_search, tasks, traces, workers):
        found[place] = results
        progress(title, len(found) / (len(tasks) + 1))
    others = [each for place in range(len(tasks)) for each in found[place]]
    ours = _our_curves(wanted, others, traces, workers)
    progress(title, 1.0)
    return ours + others


def _our_curves(
    wanted: dict[Scenario, list[tuple[float, float]]],
    others: Sequence[EqualResult],
    traces: dict[str, Trace],
    workers: int,
) -> list[EqualResult]:
    """Our own scores at the budgets others were tried at, up to twice the largest listed, so that curves compare."""
    tasks = []
    for scenario, points in wanted.items():
        tried = {budget for each in others if each.scenario == scenario for budget, _ in each.curve}
        most = 2 * max(budget for budget, _ in points)
        tasks += [
            Job(scenario, budget, Contender(OURS)) for budget in sorted(tried - dict(points).keys()) if budget <= most
        ]
    found = [outcome for _, outcome in in_processes(replay_job, tasks, traces, workers)]
    return [
        EqualResult(scenario, Contender(OURS), budget, value, 1.0, tuple(sorted({*points, *_scores(found, scenario)})))
        for scenario, points in wanted.items()
        for budget, value in points
    ]


def _scores(outcomes: Sequence[Outcome], scenario: Scenario) -> list[tuple[float, float]]:
    return [(outcome.budget, outcome.score.value) for outcome in outcomes if outcome.scenario == scenario]
