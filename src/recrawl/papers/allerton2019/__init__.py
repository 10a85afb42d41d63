"""Avrachenkov and Borkar, *A learning algorithm for the Whittle index policy for scheduling web crawlers*, 2019.

The learner of §IV on the example of §V: what is published, where it comes from, and what else the same text allows.
The departures from the printed equations are in :mod:`recrawl.learning.lspe` and :mod:`recrawl.kernels.soft_threshold`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recrawl.papers.allerton2019 import sweeps
from recrawl.papers.allerton2019.claims import all_claims
from recrawl.papers.allerton2019.lab import Lab, bound_at, interval
from recrawl.papers.reproduction import Reproduction
from recrawl.papers.results import Result, compare, share_of
from recrawl.report import Column, Section, Table
from recrawl.report.progress import ProgressCallback, silent
from recrawl.report.tables import Cell
from recrawl.sim.metrics import interval95

TITLE = "A learning algorithm for the Whittle index policy for scheduling web crawlers (Allerton 2019)"
FIRST_SLOTS = 1000
REMEMBER = (
    "The published 160 is what thresholds at their upper end earn, by arithmetic: the printed reward teaches the "
    "learner not to crawl."
)


def reproduce(quick: bool = False, seed: int = 0, progress: ProgressCallback = silent) -> Reproduction:
    """Reproduce the paper; `quick` does fewer and shorter runs."""
    lab = Lab(quick, seed, progress)
    best, second = _arms_by_inflow(lab)
    lines = {"index": lab.index_reward(), "best arm": lab.arm_reward(best), "second-best arm": lab.arm_reward(second)}
    results = _results(lab, lines)
    work: dict[str, Callable[[], Section]] = {
        "units of worth": lambda: sweeps.units(lab),
        "distribution over seeds": lambda: sweeps.readings(lab, lines),
        "sharpness": lambda: sweeps.sharpness(lab),
        "initial thresholds": lambda: sweeps.starts(lab),
        "learning curves": lambda: sweeps.curves(lab, lines),
        "safeguards": lambda: sweeps.safeguards(lab),
        "step sizes": lambda: sweeps.steps(lab),
        "finite lifetimes": lambda: sweeps.lifetimes(lab),
    }
    sections = [_references(results, lab)]
    for done, section in enumerate(work.values()):
        progress("allerton2019, the learner", done / len(work))
        sections.append(section())
    progress("allerton2019, the learner", 1.0)
    return Reproduction("allerton2019", TITLE, _lead(results), results, sections, all_claims(results, lab), REMEMBER)


def _arms_by_inflow(lab: Lab) -> tuple[int, int]:
    order = np.argsort(-lab.sources.inflow)
    return int(order[0]), int(order[1])


def _results(lab: Lab, lines: dict[str, float]) -> list[Result]:
    """The numbers with ids."""
    printed = lab.learn(unit=lab.whole_unit, reward="printed")
    collected = lab.learn(unit=lab.whole_unit, reward="collected")
    engaged, how = printed.engaged_per_run, f"{lab.runs} seeds, {lab.steps:,} slots, worth in units of the largest u*"
    results = [
        compare(
            "allerton2019/lspe",
            float(printed.reward_per_run.mean()),
            "160",
            ci95=interval(printed),
            tolerance=5.0,
            note=f"published as “around 160”; reward as printed, Σ X_i; the unit was searched for; {how}",
            fitted=True,
        ),
        compare(
            "allerton2019/engaged-arms",
            float(engaged.mean()),
            "1",
            ci95=interval95(engaged),
            note="published as “on average one arm”; the same runs",
            fitted=True,
        ),
        compare(
            "allerton2019/lspe-collected",
            float(collected.reward_per_run.mean()),
            ci95=interval(collected),
            note=f"reward as collected, Σ ν_i X_i; {collected.engaged_per_run.mean():.2f} arms; {how}",
        ),
        compare(
            "allerton2019/whittle",
            lines["index"],
            "283",
            note="283 is quoted from [tcns2018], where it belongs to random content values (283.8); the model here is "
            f"the deterministic one, in which no policy earns more than {bound_at(lab.sources, 1.0):.2f}",
        ),
        compare("allerton2019/best-arm", lines["best arm"], note="always source 1"),
        compare("allerton2019/second-best-arm", lines["second-best arm"], note="always source 2"),
    ]
    return [*results, *_ours(lab)]


def _ours(lab: Lab) -> list[Result]:
    note, rewards = (
        "learned_whittle from no knowledge, one crawl per slot, worth seen only when crawled",
        sweeps.ours(lab),
    )
    spans = {
        "ours": (rewards, note),
        f"ours-first-{FIRST_SLOTS}": (rewards[:, :FIRST_SLOTS], f"first {FIRST_SLOTS} slots"),
    }
    return [
        compare(f"allerton2019/{name}", float(part.mean()), ci95=interval95(part.mean(axis=1)), note=said)
        for name, (part, said) in spans.items()
    ]


def _references(results: list[Result], lab: Lab) -> Section:
    """The learner against everything it can be held against."""
    bound = bound_at(lab.sources, 1.0)
    names = {
        "whittle": "index, parameters known",
        "ours": "our learner, no knowledge",
        f"ours-first-{FIRST_SLOTS}": f"our learner, its first {FIRST_SLOTS} slots",
        "best-arm": "best arm alone",
        "lspe-collected": "LSPE(0), reward as collected",
        "lspe": "LSPE(0), reward as printed",
        "second-best-arm": "second-best arm alone",
    }
    found = {result.id.partition("/")[2]: result for result in results}
    rows: list[list[Cell]] = [["dual bound at one crawl per slot", bound, 100.0, None]]
    rows += [[label, found[key].measured, *share_of(found[key], bound)] for key, label in names.items() if key in found]
    columns = [Column("policy"), Column("reward", 2), Column("% of bound", 1), Column("95 % interval, %", 1)]
    return Section("Side by side", [Table(columns, rows)])


def _lead(results: list[Result]) -> str:
    value = {result.id.partition("/")[2]: result.measured for result in results}
    return (
        f"The published 160 with about one arm comes out ({value['lspe']:.1f} with {value['engaged-arms']:.2f}) once "
        "worth is measured so that it lies in [0, 1], a unit searched for with the 160 in view. "
        "It is what a policy earns whose thresholds are at their upper end: the printed reward teaches the learner "
        f"not to crawl. With raw worths the outcome is a lottery. Read as what is collected, the reward leads to "
        f"{value['lspe-collected']:.1f}; the index earns {value['whittle']:.1f}."
    )
