"""Policies side by side on scenarios: who runs where, in how many processes, and what came out.

An *entry* is a policy with its options as one writes them on a command line: `nutch_adaptive`, `nutch_adaptive:filled`,
`learned_whittle:act=thompson`. A *column* is a scenario at a budget. Policies with an objective are told the scenario's
(and its half-life); nothing else differs between columns.

`grouped` puts any policy in charge of four groups of pages that behave alike instead of the pages themselves, as
icc2021 does. `scaled` is an option of timer rules that needs hindsight: all intervals times one constant, the largest
with which the rule still uses 98 % of the budget.

`through_store` plays an entry as the live program runs it. How is not known here: whoever runs the jobs brings a player
for it.
"""

from __future__ import annotations

import inspect
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from recrawl import policies
from recrawl.errors import ContractError, ParameterError, RecrawlError
from recrawl.policies.contract import Policy
from recrawl.policies.grouped_arms import GroupedArms
from recrawl.policies.policy_spec import parse
from recrawl.report.progress import ProgressCallback
from recrawl.sim.replay import ReplayedCrawls, replay
from recrawl.sim.scenarios import DAY_S, Scenario, half_life_s
from recrawl.sim.scoring import Score, score
from recrawl.sim.traces import Trace

OURS = "learned_whittle"
PAGE_PEERS = ("lambda_crawl", "azar")
ITEM_PEERS = ("miniflux", "commafeed")
TIMER_PEERS = ("nutch_adaptive", "stormcrawler_adaptive", "news_crawl")
PEERS = (*TIMER_PEERS, *ITEM_PEERS, *PAGE_PEERS)
DEEP = ("fg_dqn", "thompson_then_dqn")
GROUPED = ("uniform", "thompson", "static", *DEEP)
"""The policies of icc2021, which choose among groups of pages."""
THROUGH_STORE = "through_store"
"""The option that plays an entry as the live program runs it."""
FULL_USE = 0.98
SCALE_RANGE, SCALE_STEPS = (2.0**-12, 4.0), 9
STORE_EFFORT = 20
"""About how many times as long a replay takes through the store."""
DEEP_EFFORT = 4
"""About how many times as long a replay takes where a network is trained at every tick."""


@dataclass(frozen=True)
class Contender:
    """A policy by name, with options; `through_store` if it is the live program's."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()
    through_store: bool = False

    @classmethod
    def parse(cls, text: str) -> Contender:
        """`NAME`, or `NAME:option,option=value`; an option without a value is switched on.

        >>> Contender.parse("azar:filled,floor=0.2").options
        (('filled', True), ('floor', 0.2))
        """
        name, options = parse(text)
        kept = tuple(option for option in options if option != (THROUGH_STORE, True))
        return cls(name, kept, through_store=kept != options)

    @property
    def written(self) -> str:
        """As one writes it."""
        parts = [key if value is True else f"{key}={value}" for key, value in self.options]
        return self.name + (f":{','.join(parts)}" if parts else "")

    @property
    def label(self) -> str:
        """As one writes it, and whether it is played through the store."""
        return f"{self.written} through the store" if self.through_store else self.written

    @property
    def scaled(self) -> bool:
        """Whether its intervals are to be scaled in hindsight."""
        return ("scaled", True) in self.options

    @property
    def grouped(self) -> bool:
        """Whether it is to choose among groups of pages instead of pages."""
        return ("grouped", True) in self.options

    def policy(self, scenario: Scenario, **more: Any) -> Policy:
        """The policy, told the scenario's objective where it takes one."""
        options = {key: value for key, value in self.options if key not in ("scaled", "grouped")} | more
        if self.grouped:
            return GroupedArms(self.name, **options)
        taken = inspect.signature(type(policies.make(self.name, **options)).__init__).parameters
        if "objective" in taken and "half_life" in taken:
            options = {"objective": scenario.objective, "half_life": half_life_s(scenario)} | options
        return policies.make(self.name, **options)

    def applies_to(self, scenario: Scenario) -> bool:
        """Feed rules need dated items, page rules pages."""
        if scenario.pages:
            return self.name not in ITEM_PEERS
        return self.name not in PAGE_PEERS


def default_entries(scaled: bool = False) -> list[Contender]:
    """Ours, round robin, and every peer as shipped and filled (and, on demand, scaled in hindsight)."""
    entries = [Contender(OURS), Contender("round_robin")]
    for name in PEERS:
        entries += [Contender(name), Contender(name, (("filled", True),))]
        if scaled and name not in PAGE_PEERS:
            entries.append(Contender(name, (("scaled", True),)))
    return entries


def grouped_entries(**options: Any) -> list[Contender]:
    """The policies of icc2021 on pages grouped by behaviour."""
    return [Contender(name, (("grouped", True), *options.items())) for name in GROUPED]


@dataclass(frozen=True)
class Job:
    """One replay to do."""

    scenario: Scenario
    budget: float
    entry: Contender
    keep_log: bool = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a replay came to; `seconds` is the processor time it took."""

    scenario: Scenario
    budget: float
    entry: Contender
    score: Score
    seconds: float
    log: ReplayedCrawls | None = None

    @property
    def column(self) -> str:
        """`scenario@budget`."""
        return f"{self.scenario.name}@{self.budget:g}"


Play = Callable[[Job, Trace], ReplayedCrawls]
"""Makes the crawls of a job."""


def jobs_for(
    scenarios: Sequence[Scenario], budgets: Sequence[float], entries: Sequence[Contender], keep_log: bool = False
) -> list[Job]:
    """Every entry on every column it applies to; each scenario's own budgets where none are given."""
    found = [
        Job(scenario, budget, entry, keep_log)
        for scenario in scenarios
        for budget in budgets or scenario.budgets_fetches_per_day
        for entry in entries
        if entry.applies_to(scenario)
    ]
    if not found:
        names = ", ".join(entry.label for entry in entries)
        raise ParameterError("--policy", f"one that suits {scenarios[0].kind} scenarios", names)
    for job in found:
        job.entry.policy(job.scenario)  # a mistake in an option is better said before the work than after
    return found


def in_memory(job: Job, trace: Trace) -> ReplayedCrawls:
    """The crawls of a policy by itself."""
    if job.entry.through_store:
        raise ContractError(f"{job.entry.label}: nobody was given to play it")
    return replay(job.scenario, trace, job.entry.policy(job.scenario), job.budget)


def run_job(job: Job, trace: Trace, stored: Play = in_memory) -> Outcome:
    """Do one replay; `stored` plays an entry that is to go through the store."""
    began = time.process_time()
    if job.entry.scaled:
        log, result = _scaled(job, trace)
    else:
        log = (stored if job.entry.through_store else in_memory)(job, trace)
        result = score(job.scenario, trace, log, job.budget)
    spent = time.process_time() - began
    return Outcome(job.scenario, job.budget, job.entry, result, spent, log if job.keep_log else None)


def _scaled(job: Job, trace: Trace) -> tuple[ReplayedCrawls, Score]:
    """The rule at the largest scale of its intervals that still uses the budget; bisected over powers of two."""

    def at(scale: float) -> tuple[ReplayedCrawls, Score]:
        log = replay(job.scenario, trace, job.entry.policy(job.scenario, scale=scale), job.budget)
        return log, score(job.scenario, trace, log, job.budget)

    low, high = SCALE_RANGE
    best = at(low)
    for _ in range(SCALE_STEPS):
        middle = (low * high) ** 0.5
        tried = at(middle)
        if tried[1].used_share >= FULL_USE:
            low, best = middle, tried
        else:
            high = middle
    return best


def run_jobs(
    jobs: Sequence[Job],
    traces: dict[str, Trace],
    progress: ProgressCallback,
    workers: int = 2,
    stored: Play = in_memory,
) -> list[Outcome]:
    """Do all replays, some at a time, the longest first; outcomes in the order of the jobs.

    `stored` plays the entries that are to go through the store.
    """
    total = Counter(job.scenario.name for job in jobs)
    done: Counter[str] = Counter()
    for name in total:
        progress(name, 0.0)
    order = sorted(range(len(jobs)), key=lambda place: -_effort(jobs[place]))
    outcomes: dict[int, Outcome] = {}
    for place, found in in_processes(
        partial(replay_job, stored=stored), [jobs[place] for place in order], traces, workers
    ):
        outcomes[order[place]] = found
        name = found.scenario.name
        done[name] += 1
        progress(name, done[name] / total[name])
    return [outcomes[place] for place in range(len(jobs))]


def replay_job(job: Job, traces: dict[str, Trace], stored: Play = in_memory) -> Outcome:
    """Do one replay on its scenario's trace."""
    return run_job(job, traces[job.scenario.name], stored)


def _effort(job: Job) -> float:
    """About how long a replay takes, so that the longest start first."""
    scenario = job.scenario
    crawls = job.budget * (scenario.ends_at - scenario.starts_at) / DAY_S
    times = SCALE_STEPS + 1 if job.entry.scaled else STORE_EFFORT if job.entry.through_store else 1
    times *= DEEP_EFFORT if job.entry.name in DEEP else 1
    return (scenario.ticks + crawls) * times


_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
_traces: dict[str, Trace] = {}


def _receive(traces: dict[str, Trace]) -> None:
    _traces.update(traces)


def _guarded(work: Callable[[_Task, dict[str, Trace]], _Result], task: _Task) -> _Result | str:
    """A task in a worker process; what went wrong on purpose comes back as text."""
    try:
        return work(task, _traces)
    except RecrawlError as error:
        return f"{task}: {error}"


def in_processes(
    work: Callable[[_Task, dict[str, Trace]], _Result], tasks: Sequence[_Task], traces: dict[str, Trace], workers: int
) -> Iterator[tuple[int, _Result]]:
    """Do tasks on traces in worker processes, which receive the traces once; (place, result) as each ends."""
    if workers <= 1 or len(tasks) <= 1:
        for place, task in enumerate(tasks):
            yield place, work(task, traces)
        return
    # Spawned, not forked: compiled code and readers of Parquet hold threads that do not survive a fork.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(tasks)), context, _receive, (traces,))
    try:
        futures = {pool.submit(_guarded, work, task): place for place, task in enumerate(tasks)}
        for future in as_completed(futures):
            found = future.result()
            if isinstance(found, str):
                raise RecrawlError(found)
            yield futures[future], found
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
