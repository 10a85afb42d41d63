"""The deterministic model: the index policy, relaxed control, one source alone, and the dual bound [tcns2018, §IX]."""

from __future__ import annotations

import numpy as np

import recrawl
from recrawl import policies
from recrawl.papers.results import Result, compare
from recrawl.papers.tcns2018 import multiplier, optimality, pictures
from recrawl.papers.tcns2018.setting import DETERMINISTIC_STEPS, table_one
from recrawl.papers.tcns2018.walk import relaxed_by_index, rewards_from
from recrawl.records import Sources
from recrawl.report import Column, Section, Table, Text
from recrawl.report.progress import ProgressCallback
from recrawl.sim.result import SimulationResult

PUBLISHED_WHITTLE = {1: "260.30", 2: None, 3: None}
TALK_SLOTS = 61
RELAXED_STEPS = (0.01, 0.1, 1.0)
WORK = "deterministic model"
FITTED = (
    "A variant that yields the published number. Its settings were searched for with that number in view, so agreement "
    "shows that it can come about this way, not that it did."
)


def findings(progress: ProgressCallback) -> tuple[list[Result], list[Section]]:
    """Every deterministic number and the sections that show them."""
    progress(WORK, 0.0)
    sources = table_one()
    runs = {budget: recrawl.simulate(sources, "whittle", budget, DETERMINISTIC_STEPS) for budget in PUBLISHED_WHITTLE}
    results = [*_index_and_bounds(sources, runs), *_one_source(sources)]
    progress(WORK, 0.5)
    relaxed_results, relaxed_section = _relaxed(sources)
    price_results, price_section = multiplier.findings(sources)
    progress(WORK, 1.0)
    exact_results, exact_section = optimality.findings(sources, progress)
    sections = [_figures(sources, runs), exact_section, relaxed_section, price_section]
    return [*results, *exact_results, *relaxed_results, *price_results, *_talk(sources)], sections


def _index_and_bounds(sources: Sources, runs: dict[int, SimulationResult]) -> list[Result]:
    out = []
    for budget, run in runs.items():
        setting, published = f"tcns2018/deterministic-m{budget}", PUBLISHED_WHITTLE[budget]
        shares = ", ".join(f"{share:.3g}" for share in run.crawl_share)
        note = f"{DETERMINISTIC_STEPS} slots from X(0) = u; share of slots in which each source is crawled: {shares}."
        out.append(compare(f"{setting}/whittle", run.mean_reward, published, note=note))
        note = f"% of {DETERMINISTIC_STEPS} slots in which the index policy crawls it."
        for source, share in enumerate(run.crawl_share, start=1):
            out.append(compare(f"{setting}/source-{source}-share", 100.0 * float(share), note=note))
        bound = recrawl.relaxed_bound(sources, budget)
        note = f"Minimum of the dual function: no policy earns more per slot. Price {bound.price:.3f}"
        out.append(compare(f"{setting}/bound", bound.value, note=note + ", the upper end of the minimising interval."))
    return out


def _one_source(sources: Sources) -> list[Result]:
    run = recrawl.simulate(sources, policies.make("single", source=0), 1, DETERMINISTIC_STEPS)
    return [
        compare("tcns2018/deterministic-m1/source-1-only", run.mean_reward, "179.8", note="Its inflow u, each slot."),
        compare("mas2016/deterministic-m1/source-1-only", run.mean_reward, "179.79", note="Its inflow u, each slot."),
    ]


def _talk(sources: Sources) -> list[Result]:
    """The talk's 254.66: the same policy over a short run started empty."""
    long = recrawl.simulate(sources, "whittle", 1, DETERMINISTIC_STEPS).mean_reward
    short = rewards_from(sources, np.zeros(len(sources)), recrawl.whittle_index, steps=TALK_SLOTS).mean()
    note = (
        f"The paper's own setting gives 260.30. The talk states neither the start nor the length of its run. Averaged "
        f"over {TALK_SLOTS} slots from X(0) = 0 the same policy gives {short:.2f}; the length was searched for, and "
        f"105 "
        "slots give 254.66 as well, so a start-up effect is a possible explanation, not an established one."
    )
    identity = "mas2016/deterministic-m1"
    return [
        compare(f"{identity}/whittle", long, "254.66", note=note),
        compare(f"{identity}/whittle-61-slots", float(short), "254.66", note=FITTED, fitted=True),
    ]


def _relaxed(sources: Sources) -> tuple[list[Result], Section]:
    """Relaxed control by (21) and (22), over step sizes, and the variant that gives the published number."""
    rows, chosen = [], None
    for step in RELAXED_STEPS:
        run = recrawl.simulate(sources, policies.make("relaxed", step=step), 1, DETERMINISTIC_STEPS)
        over = float((run.actions.sum(axis=1) > 1).mean())
        rows.append((f"(21) and (22), first step {step:g} of the mean ceiling", run.mean_reward, run.spend, 100 * over))
        if step == policies.make("relaxed").step:  # type: ignore[attr-defined]
            chosen = run, over
    assert chosen is not None
    run, over = chosen
    reward, spend = relaxed_by_index(sources, np.array([1.0, 2.0, 1.0, 1.0]), price=95.0, step=9.0)
    variant, variant_spend, variant_over = float(reward.mean()), float(spend.mean()), float((spend > 1).mean())
    rows.append(("index ≥ price, sources out of step at the start", variant, variant_spend, 100 * variant_over))
    bound = recrawl.relaxed_bound(sources, 1).value
    note = (
        f"Spends {run.spend:.3f} per slot, above 1 in {100 * over:.0f} % of the slots: (21) thinks in continuous time, "
        "so near its price sources 1 and 2 ripen together and are crawled in the same slots. Steps of (22) are not "
        "published. Crawling where the index itself reaches the price, with sources 1 and 2 one slot apart at the "
        f"start, gives {variant:.2f} with {100 * variant_over:.1f} % of the slots above budget, at a first price and "
        f"step searched for; it exceeds the exact bound {bound:.3f} only by overspending."
    )
    identity = "tcns2018/deterministic-m1"
    results = [
        compare(f"{identity}/relaxed", run.mean_reward, "260.96", note=note),
        compare(f"{identity}/relaxed-spend", run.spend, note="Per slot, to be read beside the reward; budget 1."),
        compare(f"{identity}/relaxed-over-budget", 100 * over, note="% of the slots; published: less than 1 %."),
        compare(f"{identity}/relaxed-by-index", variant, "260.96", note=FITTED, fitted=True),
        compare(
            f"{identity}/relaxed-by-index-spend",
            variant_spend,
            note=f"Above budget in {100 * variant_over:.1f} % of the slots; published: in less than 1 %.",
        ),
    ]
    columns = [
        Column("relaxed control"),
        Column("reward per slot", 3),
        Column("spend per slot", 3),
        Column("slots above budget, %", 1),
    ]
    text = (
        "Relaxed control keeps the budget on average only, so its reward says nothing without its spend. Published: "
        f"260.96 with violations in less than 1 % of the slots, which is above the exact bound {bound:.3f}. Six "
        "crawls too many in a thousand slots would account for both. The last row does that; its rule, start, price "
        "and "
        "step were searched for among tens of thousands of settings, of which none with (21) came near."
    )
    return results, Section(
        "Relaxed control", [Text(text), Table(columns, rows, f"{DETERMINISTIC_STEPS} slots, M = 1.")]
    )


def _figures(sources: Sources, runs: dict[int, SimulationResult]) -> Section:
    text = (
        "With one crawl per slot, sources 1 and 2 alternate and sources 3 and 4 are never crawled. With two, source 1 "
        "is always crawled, sources 2 and 3 follow a longer pattern, and source 4 has a long period."
    )
    return Section(
        "The four sources, and the index policy",
        [
            pictures.content_value(sources),
            pictures.indices(sources, recrawl.relaxed_bound(sources, 1).price),
            Text(text),
            pictures.evolution("tcns2018-figure-2", "Figure 2. M = 1", runs[1], "deterministic model"),
            pictures.evolution("tcns2018-figure-3", "Figure 3. M = 2", runs[2], "deterministic model"),
        ],
    )
