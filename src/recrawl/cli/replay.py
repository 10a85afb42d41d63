"""`recrawl replay`: policies on real traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from recrawl.report.progress import ProgressCallback
    from recrawl.sim.comparison import Contender, Outcome
    from recrawl.sim.equal_result import EqualResult
    from recrawl.sim.traces import Trace

PIPED_WIDTH = 320


@click.command(name="replay")
@click.argument("scenarios", type=click.Path(path_type=Path))
@click.option("--data", type=click.Path(path_type=Path), help="Folder of traces; that of SCENARIOS if not given.")
@click.option("--scenario", "names", multiple=True, metavar="S", help="Only this scenario; may be repeated.")
@click.option("--budget", "budgets", multiple=True, type=click.FloatRange(min=0, min_open=True), metavar="B",
              help="Fetches per day instead of those listed; may be repeated.")  # fmt: skip
@click.option("--policy", "entries", multiple=True, metavar="P",
              help="NAME or NAME:option,option=value; may be repeated. Default: ours, round robin and all peers, as "
                   "shipped and filled.")  # fmt: skip
@click.option("--scaled", is_flag=True, help="Also run peers with all intervals scaled by the constant that is best in "
                                           "hindsight; with --policy, write NAME:scaled.")  # fmt: skip
@click.option("--through-store", "stored", is_flag=True,
              help="Ours, or each --policy, also as the live program runs it: recrawl.Scheduler over a store. By "
                   "itself: NAME:through_store.")  # fmt: skip
@click.option("--grouped", is_flag=True,
              help="Also the policies of icc2021 on pages grouped by behaviour (extra deep; minutes).")  # fmt: skip
@click.option("--equal-result", is_flag=True, help="Also find the budget each rule needs for our result (minutes).")
@click.option("--log", "log_file", type=click.Path(path_type=Path),
              help="Write the crawl log (Parquet) of the one scenario, budget and policy chosen.")  # fmt: skip
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all figures to this file.")
@click.option("--out", type=click.Path(path_type=Path), help="Directory for report.html and figures/.")
@click.option("--workers", type=click.IntRange(min=1), default=2, show_default=True, help="Processes to use.")
def command(
    scenarios: Path,
    data: Path | None,
    names: tuple[str, ...],
    budgets: tuple[float, ...],
    entries: tuple[str, ...],
    scaled: bool,
    stored: bool,
    grouped: bool,
    equal_result: bool,
    log_file: Path | None,
    json_file: Path | None,
    out: Path | None,
    workers: int,
) -> None:
    """Replay real traces: what would each policy have found, seeing only what its own crawls show?

    SCENARIOS is a TOML file of [[scenario]] tables.
    """
    from recrawl.cli import replay_through_store
    from recrawl.cli.console import console, progress_shown
    from recrawl.report.output_folder import prepare
    from recrawl.sim.comparison import OURS, Contender, jobs_for, run_jobs
    from recrawl.sim.scenarios import read_scenarios, select
    from recrawl.sim.traces import Folder

    chosen = _chosen(entries, scaled, stored, grouped)
    picked = select(read_scenarios(scenarios), names)
    if not all(budget < float("inf") for budget in budgets):
        raise click.UsageError("--budget is a finite number of fetches per day")
    jobs = jobs_for(picked, budgets, chosen, keep_log=log_file is not None)
    for scenario in picked if entries else []:
        for left_out in (entry.label for entry in chosen if not entry.applies_to(scenario)):
            click.echo(f"{left_out}: not for {scenario.kind} scenarios, left out of {scenario.name}", err=True)
    if log_file is not None and len(jobs) != 1:
        hint = "; for the one through the store alone, write --policy NAME:through_store" if stored else ""
        raise click.UsageError(
            f"--log needs one scenario, one budget and one policy; these are {len(jobs)} replays{hint}"
        )
    if equal_result and Contender(OURS) not in chosen:
        raise click.UsageError(f"--equal-result compares with {OURS}: add --policy {OURS}")
    _refuse_unwritable(log_file, json_file)
    if out is not None:
        prepare(out, others=None)
    folder = Folder(data if data is not None else scenarios.parent)
    traces = {scenario.name: folder.trace(scenario) for scenario in picked}
    with progress_shown() as progress:
        outcomes = run_jobs(jobs, traces, progress, workers, stored=replay_through_store.play)
        equal = _equal(outcomes, traces, progress, workers) if equal_result else []
    screen = console()
    _show(outcomes, screen)
    _show_equal(equal, screen)
    if log_file is not None:
        _write_log(log_file, outcomes[0], traces[picked[0].name])
        screen.print(f"crawl log: {log_file}", soft_wrap=True)
    _write_results(outcomes, equal, json_file, out, screen)


def _chosen(entries: tuple[str, ...], scaled: bool, stored: bool, grouped: bool) -> list[Contender]:
    """The policies to replay, none twice."""
    from recrawl.cli import replay_through_store
    from recrawl.cli.policy_arguments import entry_of
    from recrawl.sim.comparison import OURS, Contender, default_entries, grouped_entries

    if scaled and entries:
        raise click.UsageError("--scaled is for the default policies; with --policy, write NAME:scaled")
    chosen = [entry_of(text) for text in entries] or default_entries(scaled)
    chosen += replay_through_store.entries(chosen if entries else [Contender(OURS)]) if stored else []
    chosen += grouped_entries() if grouped else []
    chosen = list(dict.fromkeys(chosen))
    replay_through_store.check(chosen)
    return chosen


def _refuse_unwritable(*files: Path | None) -> None:
    for file in files:
        if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
            raise click.UsageError(f"cannot write {file}: its folder must exist, and it must not be one")


def _equal(
    outcomes: list[Outcome], traces: dict[str, Trace], progress: ProgressCallback, workers: int
) -> list[EqualResult]:
    from recrawl.sim.equal_result import compare_budgets

    return compare_budgets(outcomes, traces, progress, workers)


def _show(outcomes: list[Outcome], screen: Console) -> None:
    """One table, or as many side by side blocks of columns as the terminal needs."""
    from rich.table import Table
    from rich.text import Text

    from recrawl.sim.replay_report import best_of, columns_of, entries_of, shown

    if not screen.is_terminal:
        screen.width = PIPED_WIDTH
    best, rows = best_of(outcomes), entries_of(outcomes)
    found = {(outcome.entry, outcome.column): outcome for outcome in outcomes}
    texts_of = {outcome: shown(outcome, best[outcome.column]) for outcome in outcomes}
    first = max(len(entry.label) for entry in rows) + 4
    for block in _blocks(columns_of(outcomes), texts_of, screen.width - first):
        table = Table(header_style="bold")
        table.add_column("policy", no_wrap=True)
        for column in block:
            table.add_column(column, no_wrap=True)
        for entry in rows:
            cells = [found.get((entry, column)) for column in block]
            texts = [
                Text("") if cell is None else Text(texts_of[cell], style="bold" if cell is best[cell.column] else "")
                for cell in cells
            ]
            if any(cells):
                table.add_row(entry.label, *texts)
        screen.print(table)
    screen.print(
        "shares in %, higher is better; delays in h, lower is better; ± standard error of the difference to the best"
    )


def _blocks(columns: list[str], texts: dict[Outcome, str], width: int) -> list[list[str]]:
    """Columns split so that each block fits."""
    blocks: list[list[str]] = [[]]
    room = width
    for column in columns:
        needed = 3 + max(len(column), *(len(text) for each, text in texts.items() if each.column == column))
        if blocks[-1] and needed > room:
            blocks.append([])
            room = width
        blocks[-1].append(column)
        room -= needed
    return blocks


def _show_equal(equal: list[EqualResult], screen: Console) -> None:
    from rich.table import Table

    from recrawl.sim.replay_report import multiples_table

    if not equal:
        return
    table = multiples_table(equal)
    grid = Table(header_style="bold", title="fetches for the same result, as a multiple of ours", title_justify="left")
    for column in table.columns:
        grid.add_column(column.name, no_wrap=True)
    for row in table.texts():
        grid.add_row(*row)
    screen.print(grid)


def _write_log(file: Path, outcome: Outcome, trace: Trace) -> None:
    from recrawl.sim.traces import write_crawl_log

    assert outcome.log is not None
    write_crawl_log(file, trace, outcome.log.ids, outcome.log.times)


def _write_results(
    outcomes: list[Outcome], equal: list[EqualResult], json_file: Path | None, out: Path | None, screen: Console
) -> None:
    import json

    from recrawl import __version__
    from recrawl.sim.replay_report import as_json, document

    if json_file is not None:
        json_file.write_text(json.dumps(as_json(outcomes, equal), indent=1) + "\n", encoding="utf-8")
        screen.print(f"figures: {json_file}", soft_wrap=True)
    if out is not None:
        from recrawl.report import write_html

        page = document(outcomes, equal, f"recrawl {__version__}; recrawl replay")
        for figure in page.figures():
            figure.save(out / "figures")
        screen.print(f"report: {write_html(page, out / 'report.html')}", soft_wrap=True)
