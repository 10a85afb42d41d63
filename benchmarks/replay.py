"""Seconds to replay every scenario of a folder of traces, policy by policy, on two cores.

Reads the folder named by RECRAWL_DATA, or ../shared/data beside the repository; without either it replays made data.
Processor seconds are summed over replays; the run's own time is about half of their total.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from recrawl.sim.comparison import OURS, Contender, default_entries, jobs_for, run_jobs
from recrawl.sim.scenarios import DAY_S, Scenario, read_scenarios
from recrawl.sim.traces import Folder, Trace

DATA = Path(os.environ.get("RECRAWL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
PAGES, DAYS = 2000, 90


def made() -> tuple[list[Scenario], dict[str, Trace]]:
    """Pages whose change rates span orders of magnitude, an hour a tick."""
    random = np.random.default_rng(0)
    counts = random.poisson(random.lognormal(0, 2, PAGES))
    scenario = Scenario(
        "made", "freshness", ("made",), starts_at=0, scored_from=0, ends_at=DAYS * DAY_S, tick_s=3600,
        budgets_fetches_per_day=(24.0, 240.0),
    )  # fmt: skip
    times = random.integers(0, DAYS * DAY_S, counts.sum())
    trace = Trace.of(np.arange(PAGES), [str(i) for i in range(PAGES)], np.repeat(np.arange(PAGES), counts), times)
    return [scenario], {"made": trace}


def real() -> tuple[list[Scenario], dict[str, Trace]]:
    scenarios, folder = read_scenarios(DATA / "scenarios.toml"), Folder(DATA)
    return scenarios, {scenario.name: folder.trace(scenario) for scenario in scenarios}


def main() -> None:
    scenarios, traces = real() if (DATA / "scenarios.toml").is_file() else made()
    ticks = sum(each.ticks * len(each.budgets_fetches_per_day) for each in scenarios)
    print(f"{len(scenarios)} scenarios, {ticks:,} ticks")
    peers = [entry for entry in default_entries() if entry.name != OURS]
    for title, entries in ((OURS, [Contender(OURS)]), ("round robin and all peers", peers)):
        began = time.perf_counter()
        outcomes = run_jobs(jobs_for(scenarios, [], entries), traces, lambda *_: None)
        took = time.perf_counter() - began
        spent = sum(each.seconds for each in outcomes)
        print(f"{title:<34}{took:>8.1f} s on two cores, {spent:>8.1f} processor seconds, {len(outcomes)} replays")


if __name__ == "__main__":
    main()
