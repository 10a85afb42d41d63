"""A number from a paper beside the number measured here, and whether they agree.

The rule. A published number that comes from arithmetic is *reproduced* when the measured one rounds to it: they differ
by at most half a unit of the last printed digit, or by a stated tolerance. A published number that comes from one
random run is one draw, so it is compared with what one such run may give: it is *reproduced* when it lies within the
95 % range of a single run around the measured mean (or within the interval of the mean, where the range of a run is
not known), rounding allowed for. Otherwise it *differs*. What no paper states is *not published*.

A *fitted* number comes from a variant whose settings were searched for with the published number in view. That it
agrees shows that the number can come about this way, not that it did, so it is never counted among the reproduced.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Literal

import msgspec

from recrawl.papers.claims import Claim
from recrawl.records import FloatArray
from recrawl.report import Badge, Column, Table
from recrawl.report.tables import Cell, Tone
from recrawl.sim.metrics import interval95
from recrawl.sim.result import SimulationResult

Verdict = Literal["reproduced", "differs", "not published"]
VERDICTS: dict[Verdict, Tone] = {"reproduced": "good", "differs": "bad", "not published": "plain"}
FITTED = Badge("fitted", "fitted")


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of `results.json`.

    Parameters
        id: paper/setting/quantity
        published: the paper's number, None if it gives none
        measured: ours
        ci95: the 95 % interval of the measured mean, None where nothing is random
        verdict: by the rule of this module
        note: why they differ, what exactly was run, or which rule was applied
        fitted: whether settings were searched for with the published number in view; written only where true
    """

    id: str
    published: float | None
    measured: float
    ci95: tuple[float, float] | None
    verdict: Verdict
    note: str
    fitted: bool = False

    @property
    def badge(self) -> Badge:
        """The verdict as it is shown; a fitted number is never shown as reproduced."""
        return FITTED if self.fitted else Badge(self.verdict, VERDICTS[self.verdict])


class Results(msgspec.Struct, frozen=True):
    """The file `results.json`."""

    results: list[Result]
    claims: list[Claim] = []


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
    fitted: bool = False,
) -> Result:
    """Put a measured number beside the published one, given as printed, and judge.

    `run_sd` is the standard deviation of one run, where the published number is one random run; `tolerance` replaces
    half a unit of the last printed digit; `fitted` says that the settings were searched for.
    """
    measured = float(measured)
    if published is None:
        return Result(id, None, measured, ci95, "not published", note, fitted)
    value = float(published)
    slack = tolerance if tolerance is not None else 0.5 * last_digit(published)
    low, high = ci95 if ci95 is not None else (measured, measured)
    if run_sd is not None:
        spread = 1.96 * math.hypot(run_sd, (high - low) / (2 * 1.96))
        low, high = measured - spread, measured + spread
    # The last bits of a decimal number are not the paper's.
    agree = low - slack - 1e-12 * abs(value) <= value <= high + slack + 1e-12 * abs(value)
    return Result(id, value, measured, ci95, "reproduced" if agree else "differs", note, fitted)


def share_of(result: Result, bound: float) -> tuple[float, tuple[float, float] | None]:
    """A result and its interval in % of a bound: a share above 100 % is only ever shown with its noise."""
    ci95 = None if result.ci95 is None else (100 * result.ci95[0] / bound, 100 * result.ci95[1] / bound)
    return 100 * result.measured / bound, ci95


def interval_of_runs(values: FloatArray) -> tuple[float, float] | None:
    """The 95 % interval of a mean over runs; None for fewer than three, of which it would say nothing."""
    return interval95(values) if len(values) > 2 else None


def run_sd(run: SimulationResult) -> float:
    """The standard deviation of one run's mean reward."""
    return float(run.rewards.mean(axis=1).std(ddof=1))


def write_results(results: Iterable[Result], path: Path, claims: Iterable[Claim] = ()) -> Path:
    """Write `results.json`: every number, and every claim beside them."""
    text = msgspec.json.format(msgspec.json.encode(Results(list(results), list(claims))), indent=2)
    path.write_bytes(text + b"\n")
    return path


def results_table(results: Iterable[Result], caption: str = "", digits: int = 3) -> Table:
    """Results as a table for a report."""
    columns = [
        Column("quantity"),
        Column("verdict"),  # beside the quantity, where a phone shows it
        Column("published"),
        Column("measured", digits),
        Column("95 % interval", digits),
        Column("note", detail=True),
    ]
    rows = [(r.id, r.badge, r.published, r.measured, r.ci95, r.note) for r in results]
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
        rows.append((f"  {quantity}", r.published, r.measured, _half_width(r.ci95), r.badge))
    return Table(columns, rows, caption)


def _half_width(interval: tuple[float, float] | None) -> float | None:
    return None if interval is None else 0.5 * (interval[1] - interval[0])


def stats(results: Iterable[Result]) -> list[Badge]:
    """How many results got which verdict, as badges."""
    shown = [result.badge for result in results]
    kinds = [*(Badge(verdict, tone) for verdict, tone in VERDICTS.items()), FITTED]
    return [Badge(f"{shown.count(kind)} {kind.text}", kind.tone) for kind in kinds if kind in shown]
