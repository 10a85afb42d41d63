"""Figure 4: two crawls per slot under Poisson arrivals, with Theorem 1 and with the ceiled formula side by side."""

from __future__ import annotations

import recrawl
from recrawl import policies
from recrawl.papers.results import Result, compare, run_sd
from recrawl.papers.tcns2018 import pictures
from recrawl.papers.tcns2018.setting import STOCHASTIC_STEPS
from recrawl.policies.contract import Policy
from recrawl.records import Sources
from recrawl.report import Column, Figures, Section, Table, Text
from recrawl.report.progress import ProgressCallback
from recrawl.sim.result import SimulationResult

WORK = "two crawls per slot"
CAUSE = (
    "One cause explains the published 253.1 at M = 1 and source 1 being crawled only “from time to time” at M = 2: the "
    "simplified formula with its ceiling, used off its orbit, where the ceiling takes up to u(1 − x/u*) too much off "
    "the index."
)
LABELS = {"whittle": "Theorem 1", "whittle-ceiled": "simplified formula with its ceiling", "greedy": "greedy"}


def findings(
    sources: Sources, runs: int, seed: int, progress: ProgressCallback
) -> tuple[list[Result], Section, dict[str, SimulationResult]]:
    """Rewards, the share of slots in which source 1 is crawled, and the figure twice."""
    found: dict[str, SimulationResult] = {}
    made: dict[str, Policy] = {
        "whittle": policies.make("whittle", index="theorem"),
        "whittle-ceiled": policies.make("whittle", index="ceiled"),
        "greedy": policies.make("greedy"),
        "round-robin": policies.make("round_robin"),
    }
    for done, (name, policy) in enumerate(made.items()):
        progress(WORK, done / len(made))
        found[name] = recrawl.simulate(sources, policy, 2, STOCHASTIC_STEPS, runs, seed, noise="poisson", observed=True)
    progress(WORK, 1.0)
    return [*_rewards(found), *_shares(found, runs)], _section(found), found


def _rewards(found: dict[str, SimulationResult]) -> list[Result]:
    out = []
    for name, run in found.items():
        note = "Poisson arrivals, observed states; published as a figure only."
        note += f" Standard deviation of one run: {run_sd(run):.2f}."
        out.append(compare(f"mas2016/stochastic-m2/{name}", run.mean_reward, ci95=run.ci95, note=note))
    return out


def _shares(found: dict[str, SimulationResult], runs: int) -> list[Result]:
    notes = {
        "whittle": "Source 1 is crawled in every slot. Figure 4 is said to show it crawled “from time to time”.",
        "whittle-ceiled": "From time to time, as the paper says. " + CAUSE,
    }
    return [
        compare(
            f"tcns2018/poisson-m2/source-1-share-{name}",
            100.0 * float(found[name].crawl_share[0]),
            note=f"% of {STOCHASTIC_STEPS:,} slots, {runs} runs. {note}",
        )
        for name, note in notes.items()
    ]


def _section(found: dict[str, SimulationResult]) -> Section:
    theorem, ceiled = (100.0 * float(found[name].crawl_share[0]) for name in ("whittle", "whittle-ceiled"))
    text = (
        f"{CAUSE} With Theorem 1 source 1 is crawled in {theorem:.1f} % of the slots, with the ceiled formula in "
        f"{ceiled:.1f} %."
    )
    pair = [
        pictures.evolution("tcns2018-figure-4", "Figure 4. M = 2", found["whittle"], "Poisson, Theorem 1"),
        pictures.evolution("tcns2018-figure-4-ceiled", "Figure 4. M = 2", found["whittle-ceiled"], "Poisson, ceiled"),
    ]
    columns = [Column("index"), Column("reward per slot", 2), Column("95 % interval", 2)]
    columns += [Column(f"source {i + 1}, %", 1) for i in range(4)]
    rows = [
        (label, found[name].mean_reward, found[name].ci95, *(100.0 * found[name].crawl_share).tolist())
        for name, label in LABELS.items()
    ]
    caption = (
        "Share of slots in which each source is crawled, M = 2, Poisson arrivals, observed states, the same worlds."
    )
    return Section("Figure 4: two crawls per slot", [Text(text), Figures(pair), Table(columns, rows, caption)])
