"""Against the true optimum and against static policies: how good the index is on Table I, exactly."""

from __future__ import annotations

import recrawl
from recrawl.papers.results import Result, compare
from recrawl.papers.tcns2018.optimal import AGES, Optimum, index_cycle, joint_optimum
from recrawl.papers.tcns2018.setting import DETERMINISTIC_STEPS
from recrawl.records import Sources
from recrawl.report import Column, Section, Table, Text
from recrawl.report.progress import ProgressCallback
from recrawl.report.tables import Cell

BUDGETS = (1, 2, 3)
WORK = "exact optimum"
LEVEL = 1e-6  # what counts as the same reward: value iteration stops at a hundredth of it
OTHERS = {
    "periodic": "The best fixed periods at the price of the bound, as static policies have them.",
    "greedy": "The source worth most now.",
    "round_robin": "All sources in turn.",
}


def findings(sources: Sources, progress: ProgressCallback) -> tuple[list[Result], Section]:
    """The optimum by dynamic programming, the index policy's cycle and the other policies, for each budget."""
    results: list[Result] = []
    rows: list[list[Cell]] = []
    optima: dict[int, Optimum] = {}
    for done, budget in enumerate(BUDGETS):
        progress(WORK, done / len(BUDGETS))
        best, (settled, length) = joint_optimum(sources, budget), index_cycle(sources, budget)
        bound, optima[budget] = recrawl.relaxed_bound(sources, budget).value, best
        results += _rows(budget, best, settled, length)
        row: list[Cell] = [budget, best.low, settled, length, bound, 100.0 * (1.0 - best.low / bound)]
        for name, note in OTHERS.items():
            run = recrawl.simulate(sources, name, budget, DETERMINISTIC_STEPS)
            identity = f"tcns2018/deterministic-m{budget}/{name.replace('_', '-')}"
            results.append(
                compare(identity, run.mean_reward, note=f"{note} {DETERMINISTIC_STEPS} slots from X(0) = u.")
            )
            row.append(run.mean_reward)
        rows.append(row)
    progress(WORK, 1.0)
    return results, _section(rows, optima)


def _rows(budget: int, best: Optimum, settled: float, length: int) -> list[Result]:
    setting = f"tcns2018/deterministic-m{budget}"
    note = (
        f"Value iteration over the slots since every source's last crawl, {AGES} per source; holding older sources at "
        f"their ceilings instead gives {best.high:.6f}, and the optimum lies between."
    )
    cycle = f"What the index policy earns over the cycle of {length} slots that it settles into."
    return [
        compare(f"{setting}/optimal", best.low, note=note),
        compare(f"{setting}/whittle-settled", settled, note=cycle),
        compare(f"{setting}/whittle-cycle", float(length), note="Slots of that cycle."),
    ]


def _section(rows: list[list[Cell]], optima: dict[int, Optimum]) -> Section:
    settled = {int(str(row[0])): float(str(row[2])) for row in rows}
    attained = [budget for budget in optima if abs(settled[budget] - optima[budget].low) < LEVEL]
    loose = [row for row in rows if float(str(row[5])) > 1e-6]
    slack = "; ".join(f"at M = {row[0]} the bound is {float(str(row[5])):.3f} % above the optimum" for row in loose)
    text = (
        f"Four sources are few enough to solve the joint problem exactly. Of the budgets {', '.join(map(str, optima))} "
        f"the index policy attains the optimum at {', '.join(map(str, attained)) or 'none'}: what separates it from "
        f"the dual bound is the bound's looseness ({slack or 'the bound is tight'}), not a loss of the policy. "
        "The best fixed periods collide where they fall due together, which costs most at M = 2."
    )
    columns = [
        Column("M"),
        Column("optimum", 5),
        Column("index, settled", 5),
        Column("cycle, slots"),
        Column("dual bound", 5),
        Column("above optimum, %", 3),
        Column("fixed periods", 2),
        Column("greedy", 2),
        Column("round robin", 2),
    ]
    caption = f"Reward per slot on Table I; the last three over {DETERMINISTIC_STEPS} slots from X(0) = u."
    return Section("Exact optimality", [Text(text), Table(columns, rows, caption)])
