"""Replays as a table, as JSON and as a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from recrawl.report import Badge, Column, Document, Figure, Section, Table, Text, draw
from recrawl.report.figures import PALETTE
from recrawl.report.tables import Cell
from recrawl.sim.comparison import OURS, Contender, Outcome
from recrawl.sim.equal_result import MOST, EqualResult
from recrawl.sim.scenarios import Scenario
from recrawl.sim.scoring import difference

FULLY_USED = 0.985
"""A rule that uses less of the budget than this has it said beside its score."""
LINES = ("-", "--", ":", "-.")


def lower_is_better(scenario: Scenario) -> bool:
    """Delays are to be short, shares large."""
    return scenario.kind == "discovery"


def columns_of(outcomes: Sequence[Outcome]) -> list[str]:
    """`scenario@budget` of all columns, in order."""
    return list(dict.fromkeys(outcome.column for outcome in outcomes))


def entries_of(outcomes: Sequence[Outcome]) -> list[Contender]:
    """The policies, in order."""
    return list(dict.fromkeys(outcome.entry for outcome in outcomes))


def best_of(outcomes: Sequence[Outcome]) -> dict[str, Outcome]:
    """The best outcome of every column."""
    best: dict[str, Outcome] = {}
    for outcome in outcomes:
        held = best.get(outcome.column)
        if held is None or goodness(outcome) > goodness(held):
            best[outcome.column] = outcome
    return best


def goodness(outcome: Outcome) -> float:
    """The score, turned so that more is better."""
    value = outcome.score.value
    return -math.inf if math.isnan(value) else -value if lower_is_better(outcome.scenario) else value


def shown(outcome: Outcome, best: Outcome) -> str:
    """A score as people read it: per cent or hours, and what goes with it.

    Behind ± stands the standard error of its difference to the best of the column: what tells a gap from chance.
    """
    score, delay = outcome.score, lower_is_better(outcome.scenario)
    unit = 1.0 if delay else 100.0
    text = f"{score.value * unit:.2f}{' h' if delay else ''}"
    doubt = difference(best.score, score)[1]
    if outcome is not best and math.isfinite(doubt):
        text += f" ±{doubt * unit:.2f}"
    if score.used_share < FULLY_USED:
        text += f" ({score.used_share:.0%} used)"
    if score.never_visited > 0:
        text += f" ({score.never_visited:.0%} never visited)"
    return text


def as_json(outcomes: Sequence[Outcome], equal: Sequence[EqualResult]) -> dict[str, Any]:
    """Every figure, scores as a share of 1 or in hours."""
    ours = {each.column: each for each in outcomes if each.entry.name == OURS and not each.entry.through_store}
    return {
        "results": [_record(outcome, ours.get(outcome.column)) for outcome in outcomes],
        "best": {column: best.entry.label for column, best in best_of(outcomes).items()},
        "equal_result": [
            {
                "scenario": each.scenario.name,
                "budget_fetches_per_day": each.budget,
                "score": each.score,
                "policy": each.entry.label,
                "budget_multiple": each.multiple if math.isfinite(each.multiple) else None,
                "curve": [list(point) for point in each.curve],
            }
            for each in equal
        ],
    }


def _record(outcome: Outcome, ours: Outcome | None) -> dict[str, Any]:
    score = outcome.score
    record: dict[str, Any] = {
        "scenario": outcome.scenario.name,
        "kind": outcome.scenario.kind,
        "budget_fetches_per_day": outcome.budget,
        "policy": outcome.entry.label,
        "through_store": outcome.entry.through_store,
        "score": _plain(score.value),
        "score_is": "mean delay in hours, lower is better" if lower_is_better(outcome.scenario) else "share of 1",
        "standard_error": _plain(score.standard_error),
        "used_share": score.used_share,
        "never_visited": score.never_visited,
        **score.details,
        "seconds": round(outcome.seconds, 3),
    }
    if ours is not None and ours is not outcome:
        ahead, doubt = difference(ours.score, score)
        record |= {f"{OURS}_minus_this": _plain(ahead), "its_standard_error": _plain(doubt)}
    return record


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def document(outcomes: Sequence[Outcome], equal: Sequence[EqualResult], how: str) -> Document:
    """The page: scores, curves of score against budget, and fetches for equal result."""
    best = best_of(outcomes)
    ours = sum(outcome.entry.name == OURS for outcome in best.values())
    columns, entries = columns_of(outcomes), entries_of(outcomes)
    lead = f"{len(entries)} policies on {len(columns)} columns of real traces; {OURS} is best on {ours}."
    scenarios = list(dict.fromkeys(outcome.scenario for outcome in outcomes))
    sections = [Section("Scores", [Text(SCORES), *(_scores(scenario, outcomes, best) for scenario in scenarios)])]
    if equal:
        sections.append(Section("Fetches for the same result", [Text(EQUAL), multiples_table(equal)]))
    figures = [_curves(scenario, outcomes, equal) for scenario in scenarios]
    sections.append(Section("Score against budget", figures))
    return Document("Policies on real traces", lead, sections, footer=how)


SCORES = (
    "Freshness and ephemeral scores are in per cent, higher is better; discovery is a mean delay in hours, lower is "
    "better. The best of each column stands out; ± is one standard error of the difference to it, over 20 groups of "
    "targets. Rules with timers of their own may leave budget unused; “filled” makes them use all of it."
)
EQUAL = (
    f"The budget each rule needs to reach the score of {OURS} at the budget in the heading, as a multiple of it. "
    f"“never”: its own timers leave more budget unused; “> {MOST:g}”: not with {MOST:g} times the budget."
)


def _scores(scenario: Scenario, outcomes: Sequence[Outcome], best: dict[str, Outcome]) -> Table:
    mine = [outcome for outcome in outcomes if outcome.scenario == scenario]
    columns = columns_of(mine)
    rows: list[list[Cell]] = []
    for entry in entries_of(mine):
        found = {outcome.column: outcome for outcome in mine if outcome.entry == entry}
        rows.append([entry.label, *(_cell(found.get(column), best[column]) for column in columns)])
    return Table([Column("policy"), *map(Column, columns)], rows, scenario.description)


def _cell(outcome: Outcome | None, best: Outcome) -> Cell:
    if outcome is None:
        return None
    text = shown(outcome, best)
    return Badge(text, "good") if outcome is best else text


def multiples_table(equal: Sequence[EqualResult]) -> Table:
    """Rules down, columns across: the multiple of the budget each needs."""
    columns = list(dict.fromkeys((each.scenario.name, each.budget) for each in equal))
    found = {(each.entry, each.scenario.name, each.budget): each for each in equal}
    rows: list[list[Cell]] = [
        [entry.label, *(_multiple(found.get((entry, *column))) for column in columns)]
        for entry in dict.fromkeys(each.entry for each in equal)
    ]
    return Table([Column("policy"), *(Column(f"{name}@{budget:g}") for name, budget in columns)], rows)


def _multiple(each: EqualResult | None) -> Cell:
    if each is None:
        return None
    if each.multiple == 0:
        return "any"
    return multiple_shown(each)


def multiple_shown(each: EqualResult) -> str:
    """A multiple as people read it."""
    if math.isinf(each.multiple):
        return f"> {MOST:g}×" if each.curve and each.curve[-1][0] * 2 > MOST * each.budget else "never"
    return f"{each.multiple:.2f}×"


def _curves(scenario: Scenario, outcomes: Sequence[Outcome], equal: Sequence[EqualResult]) -> Figure:
    """Score against budget: of each rule the better of its variants, at all budgets known."""
    delay = lower_is_better(scenario)
    points = _points(scenario, outcomes, equal)

    def paint(axes: Any) -> None:
        for place, (label, known) in enumerate(points.items()):
            budgets = sorted(known)
            axes.plot(
                budgets, [known[budget] * (1 if delay else 100) for budget in budgets],
                marker="o", markersize=3, color=PALETTE[place % len(PALETTE)], label=label,
                linestyle=LINES[place // len(PALETTE) % len(LINES)], linewidth=2.6 if label == OURS else 1.1,
                zorder=5 if label == OURS else 2,
            )  # fmt: skip
        axes.set(xscale="log", xlabel="fetches per day", ylabel="mean delay, h" if delay else "score, %")
        if delay:
            _by_powers(axes)
        ticks = sorted({budget for known in points.values() for budget in known})
        axes.set_xticks(ticks, [f"{budget:g}" for budget in ticks])
        axes.xaxis.minorticks_off()
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))

    return draw(f"budget-{scenario.name}", f"{scenario.name}: {scenario.description}", paint, height=3.8)


def _by_powers(axes: Any) -> None:
    """A logarithmic upright axis whose numbers can be read however little of it is seen, less than a decade too."""
    from matplotlib import ticker

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.minorticks_off()


def _points(
    scenario: Scenario, outcomes: Sequence[Outcome], equal: Sequence[EqualResult]
) -> dict[str, dict[float, float]]:
    """Budget to score, of each rule's variant that does best over the scenario's columns."""
    mine = [outcome for outcome in outcomes if outcome.scenario == scenario]
    variants: dict[tuple[str, bool], dict[Contender, float]] = {}
    for outcome in mine:
        total = variants.setdefault((outcome.entry.name, outcome.entry.through_store), {})
        total[outcome.entry] = total.get(outcome.entry, 0.0) + goodness(outcome)
    found: dict[str, dict[float, float]] = {}
    for totals in variants.values():
        entry = max(totals, key=lambda each: totals[each])
        found[entry.label] = {outcome.budget: outcome.score.value for outcome in mine if outcome.entry == entry}
        for each in equal:
            if each.scenario == scenario and each.entry == entry:
                found[entry.label] |= dict(each.curve)
    return found
