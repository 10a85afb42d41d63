"""A number from a paper beside the number measured here, and whether they agree.

The rule. A published number that comes from arithmetic is *reproduced* when the measured one rounds to it: they differ
by at most half a unit of the last printed digit, or by a stated tolerance. A published number that comes from one
random run is one draw, so it is compared with what one such run may give: it is *reproduced* when it lies within the
95 % range of a single run around the measured mean (or within the interval of the mean, where the range of a run is
not known), rounding allowed for. Otherwise it *differs*. What no paper states is *not published*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Literal

import msgspec

from recrawl.report import Badge, Column, Table
from recrawl.report.tables import Cell, Tone

Verdict = Literal["reproduced", "differs", "not published"]
VERDICTS: dict[Verdict, Tone] = {"reproduced": "good", "differs": "bad", "not published": "plain"}


class Result(msgspec.Struct, frozen=True):
    """One line of `results.json`.

    Parameters
        id: paper/setting/quantity
        published: the paper's number, None if it gives none
        measured: ours
        ci95: the 95 % interval of the measured mean, None where nothing is random
        verdict: by the rule of this module
        note: why they differ, what exactly was run, or which rule was applied
    """

    id: str
    published: float | None
    measured: float
    ci95: tuple[float, float] | None
    verdict: Verdict
    note: str


class Results(msgspec.Struct, frozen=True):
    """The file `results.json`."""

    results: list[Result]


def last_digit(printed: str) -> float:
    """One unit of the last digit of a number as printed.

    >>> last_digit("260.30"), last_digit("208")
    (0.01, 1.0)
    """
    return float(Decimal(1).scaleb(int(Decimal(printed).as_tuple().exponent)))


def compare(
    id: str,
    measured: float,
    published: str | None = None,
    *,
    ci95: tuple[float, float] | None = None,
    run_sd: float | None = None,
    tolerance: float | None = None,
    note: str = "",
) -> Result:
    """Put a measured number beside the published one, given as printed, and judge.

    `run_sd` is the standard deviation of one run, where the published number is one random run; `tolerance` replaces
    half a unit of the last printed digit.
    """
    if published is None:
        return Result(id, None, measured, ci95, "not published", note)
    value = float(published)
    slack = tolerance if tolerance is not None else 0.5 * last_digit(published)
    low, high = ci95 if ci95 is not None else (measured, measured)
    if run_sd is not None:
        spread = 1.96 * math.hypot(run_sd, (high - low) / (2 * 1.96))
        low, high = measured - spread, measured + spread
    # The last bits of a decimal number are not the paper's.
    agree = low - slack - 1e-12 * abs(value) <= value <= high + slack + 1e-12 * abs(value)
    return Result(id, value, measured, ci95, "reproduced" if agree else "differs", note)


def write_results(results: Iterable[Result], path: Path) -> Path:
    """Write `results.json`."""
    text = msgspec.json.format(msgspec.json.encode(Results(list(results))), indent=2)
    path.write_bytes(text + b"\n")
    return path


def results_table(results: Iterable[Result], caption: str = "", digits: int = 3) -> Table:
    """Results as a table for a report."""
    columns = [
        Column("quantity"),
        Column("published"),
        Column("measured", digits),
        Column("95 % interval", digits),
        Column("verdict"),
        Column("note", detail=True),
    ]
    rows = [(r.id, r.published, r.measured, r.ci95, Badge(r.verdict, VERDICTS[r.verdict]), r.note) for r in results]
    return Table(columns, rows, caption)


def brief_table(results: Iterable[Result], caption: str = "") -> Table:
    """Results as a table for a terminal: under their settings, half-widths for intervals, no notes."""
    columns = [Column("quantity"), Column("published"), Column("measured", 3), Column("±", 3), Column("verdict")]
    rows: list[tuple[Cell, ...]] = []
    setting = None
    for r in results:
        above, _, quantity = r.id.rpartition("/")
        if above != setting:
            setting = above
            rows.append((setting, "", "", "", ""))
        verdict = Badge(r.verdict, VERDICTS[r.verdict])
        rows.append((f"  {quantity}", r.published, r.measured, _half_width(r.ci95), verdict))
    return Table(columns, rows, caption)


def _half_width(interval: tuple[float, float] | None) -> float | None:
    return None if interval is None else 0.5 * (interval[1] - interval[0])


def stats(results: Iterable[Result]) -> list[Badge]:
    """How many results got which verdict, as badges."""
    verdicts = [result.verdict for result in results]
    return [Badge(f"{verdicts.count(v)} {v}", tone) for v, tone in VERDICTS.items() if v in verdicts]
