"""What the report says of the recorded pages: what to remember, both scores of every policy, and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recrawl.papers.icc2021.pictures import COLOURS
from recrawl.papers.icc2021.recorded import FORGIVEN, MEASURES, ON_PAGES, ROUND_ROBIN, Played, against
from recrawl.report import Badge, Column, Figure, Section, Table, Text, draw
from recrawl.report.figures import GRID, INK
from recrawl.report.tables import Cell, number

FRESH, FOUND = MEASURES.values()
LINEAR_TO = 2
POINTS = (-80, -40, -20, -10, -5, -2, -1, 0, 1, 2, 5, 10)
"""What is marked on the scale of freshness, on which Thompson sampling falls far behind and others are close."""
INTRODUCTION = (
    "The paper leaves tests on real data to the future. Here its policies crawl pages whose changes were recorded, "
    "told only what their own crawls show, within a budget of fetches per day; a column is a scenario at a budget. "
    "The paper is given groups of pages that behave alike. Here four equally large groups are formed once a day by "
    "the change rates that crawls have shown so far; a chosen group spends the tick on those of its pages crawled "
    "longest ago. The traces do not say how important a page is, so that all count alike, and Thompson sampling with "
    "importance is that without. Ours and round robin choose single pages."
)
MEASURED = (
    "Static optimisation maximises the share of time pages are fresh; Thompson sampling and the deep learners are "
    "rewarded for every crawl that finds a page changed. Both are shown for all. Ours is played twice, told to keep "
    "pages fresh and told to find changes."
)
DOUBT = (
    "± is one standard error over 20 groups of pages, of the difference to the best of the column, which stands out. "
    "For policies that draw lots, means over seeds; the 95 % intervals over seeds stand with the numbers above."
)


def remember(played: Sequence[Played]) -> str:
    """What to take home, as far as these columns bear it out."""
    columns = list(_columns(played).values())
    lead = [min(against(of["ours"], each, found=False)[0] for each in _of_paper(of)) for of in columns]
    best = [max(each.found.value for each in _of_paper(of)) for of in columns]
    times = [of["ours-changes"].found.value / value for of, value in zip(columns, best, strict=True) if value > 0]
    won = f"{sum(points > 0 for points in lead)} of {len(columns)} columns ({_range(lead, '+.1f')} points to the best)"
    first = (
        "On recorded pages, where nobody gives the groups, the learned index keeps more pages fresh than every policy "
        f"of the paper in {won}"
    )
    if not times:
        return f"{first}."
    return f"{first}; told to find changes, as they are, it finds {_range(times, '.2f')} times as many as the best."


def _range(values: Sequence[float], shape: str) -> str:
    """From the smallest to the largest."""
    low, high = (format(value, shape).replace("-", "−") for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _beside_round_robin(played: Sequence[Played]) -> str:
    """How often each policy of the paper is behind round robin."""
    columns = list(_columns(played).values())
    behind = {
        each.label: sum(against(of[each.policy], of[ROUND_ROBIN], found=False)[0] < 0 for of in columns)
        for each in _of_paper(columns[0])
    }
    counts = ", ".join(f"{label} in {count}" for label, count in behind.items())
    return (
        f"Columns of {len(columns)} in which round robin, which learns nothing, keeps more pages fresh: than {counts}. "
        "The belief of Thompson sampling ignores how long pages have been left alone, so that it stays with one group. "
        "It is shown as published and with first copies aside: the first crawl of a page has nothing to compare with, "
        "and counted as one that found no change it speaks against groups of new pages."
    )


def section(played: Sequence[Played]) -> Section:
    """The part of the report on recorded pages."""
    said = [Text(remember(played)), Text(INTRODUCTION), Text(MEASURED), Text(_beside_round_robin(played))]
    tables = [_table(played, found) for found in (False, True)]
    return Section("On recorded pages", [*said, figure(played), *tables])


def figure(played: Sequence[Played]) -> Figure:
    """Both scores against round robin, column by column."""
    columns = _columns(played)
    shown = [name for name in next(iter(columns.values())) if name != ROUND_ROBIN]

    def paint(axes: Any) -> None:
        for panel, (measure, found) in zip(axes, ((FRESH, False), (FOUND, True)), strict=True):
            for place, name in enumerate(shown):
                _paint_policy(panel, [of[name] for of in columns.values()], columns, place, len(shown), found)
            panel.axhline(0.0, color=INK, linewidth=1.0)
            for border in range(1, len(columns)):
                panel.axvline(border - 0.5, color=GRID, linewidth=0.8)
            panel.grid(axis="x", visible=False)
            panel.set(ylabel=f"{measure}:\npoints above round robin", xlim=(-0.5, len(columns) - 0.5))
        axes[0].set_yscale("symlog", linthresh=LINEAR_TO)
        axes[0].set_yticks(POINTS, [number(points, 0) for points in POINTS])
        axes[0].minorticks_off()
        axes[1].set_xticks(range(len(columns)), [name.replace("@", "\n") + " a day" for name in columns])
        axes[0].legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)

    caption = (
        "Recorded pages, by scenario and fetches per day: share of time pages are fresh (above) and share of changes "
        "found (below), in percentage points against round robin, the line at 0. Circles choose groups of pages, "
        "squares single pages; hollow is a variant. Bars are one standard error of the difference over 20 groups of "
        f"pages, means over seeds. The upper scale is linear up to {LINEAR_TO} points and logarithmic beyond."
    )
    return draw("icc2021-recorded", caption, paint, rows=2, height=6.4, share_x=True)


def _paint_policy(
    panel: Any, of_policy: Sequence[Played], columns: dict[str, dict[str, Played]], place: int, many: int, found: bool
) -> None:
    """One policy in all columns, beside the others of the same column."""
    ahead, doubt = np.array([against(each, columns[each.column][ROUND_ROBIN], found) for each in of_policy]).T
    at = np.arange(len(of_policy)) + (place - (many - 1) / 2) * 0.8 / many
    name, label = of_policy[0].policy, of_policy[0].label
    colour = COLOURS["ours" if name in ON_PAGES else "thompson" if name == FORGIVEN else name]
    filled = colour if name not in ("hybrid", "ours-changes", FORGIVEN) else "none"
    panel.errorbar(
        at, ahead, doubt, fmt="s" if name in ON_PAGES else "o", color=colour, markersize=5, markerfacecolor=filled,
        elinewidth=1.2, capsize=2, label=label,
    )  # fmt: skip


def _table(played: Sequence[Played], found: bool) -> Table:
    """Policies down, columns across, the best of each column standing out."""
    columns = _columns(played)
    best = {name: max(of.values(), key=lambda each: _value(each, found)) for name, of in columns.items()}
    rows: list[list[Cell]] = [
        [each.label, *(_cell(of[policy], best[name], found) for name, of in columns.items())]
        for policy, each in next(iter(columns.values())).items()
    ]
    measure = FOUND if found else FRESH
    heads = [Column("policy"), *(Column(f"{name}, {measure}") for name in columns)]
    return Table(heads, rows, f"{measure.replace('% ', 'Share ', 1)}, in per cent. {DOUBT}")


def _cell(each: Played, best: Played, found: bool) -> Cell:
    text = f"{100 * _value(each, found):.2f}"
    if each is best:
        return Badge(text, "good")
    return f"{text} ±{against(each, best, found)[1]:.2f}"


def _value(each: Played, found: bool) -> float:
    return each.found.value if found else each.fresh.value


def _columns(played: Sequence[Played]) -> dict[str, dict[str, Played]]:
    """What was played by column and policy."""
    out: dict[str, dict[str, Played]] = {}
    for each in played:
        out.setdefault(each.column, {})[each.policy] = each
    return out


def _of_paper(of_column: dict[str, Played]) -> list[Played]:
    """The policies of the paper, chance among groups not counted."""
    return [each for name, each in of_column.items() if name not in (*ON_PAGES, "uniform")]
