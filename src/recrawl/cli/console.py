"""What commands show while they work and when they are done: bars in a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recrawl.report.progress import ProgressCallback

if TYPE_CHECKING:
    from rich.console import Console

    from recrawl.report.tables import Table

# The first column may be folded down to this many characters.
FOLDED = 12


def console() -> Console:
    """Where results go."""
    from rich.console import Console

    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, width=100 if piped else None)


def note() -> Console:
    """Where progress goes: standard error, so that results can be piped."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


@contextmanager
def progress_shown() -> Iterator[ProgressCallback]:
    """A progress function that draws one bar per piece of work, or prints a line as each ends."""
    out = note()
    if out.is_terminal:
        with _bars(out) as progress:
            yield progress
    else:
        yield _Lines()


@contextmanager
def _bars(out: Console) -> Iterator[ProgressCallback]:
    from rich import progress as rich_progress

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(bar_width=28),
        rich_progress.TaskProgressColumn(),
        rich_progress.TimeElapsedColumn(),
    )
    with rich_progress.Progress(*columns, console=out) as bars:
        tasks: dict[str, rich_progress.TaskID] = {}

        def progress(what: str, share: float) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=1.0)
            bars.update(tasks[what], completed=share)

        yield progress


class _Lines:
    """One plain line when a piece of work ends."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}

    def __call__(self, what: str, share: float) -> None:
        began = self.began.setdefault(what, time.monotonic())
        if share >= 1:
            import click

            click.echo(f"{what}: {time.monotonic() - began:.1f} s", err=True)


def show_table(table: Table, out: Console | None = None) -> None:
    """Print a table whose numbers line up; running text is left to the report.

    The first column is folded where the terminal is narrow.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    from recrawl.report.tables import Badge

    tones = {"good": "green", "part": "cyan", "bad": "dark_orange", "fitted": "magenta", "plain": "dim"}
    grid = RichTable(title=table.caption or None, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    shown = [place for place, column in enumerate(table.columns) if not (column.wide or column.detail)]
    columns = [_column_of_text(table, place) for place in shown]
    for place, (head, _) in zip(shown, columns, strict=True):
        grid.add_column(
            Text(head, style="bold"), no_wrap=place > 0, min_width=FOLDED if place == 0 else None, overflow="fold"
        )
    for number, row in enumerate(table.rows):
        cells = [row[place] for place in shown]
        styles = [tones[cell.tone] if isinstance(cell, Badge) else "" for cell in cells]
        grid.add_row(*(Text(body[number], style) for (_, body), style in zip(columns, styles, strict=True)))
    (out or console()).print(grid)


def _column_of_text(table: Table, place: int) -> tuple[str, list[str]]:
    """The heading and the cells of a column, numbers aligned here: rich would drop the spaces that align them."""
    name, body = table.columns[place].name, [row[place] for row in table.texts()]
    if not table.numeric()[place]:
        return name, body
    width = max(map(len, [*name.split(), *body]))
    head = "\n".join(line.rjust(width) for line in textwrap.wrap(name, width))
    return head, [text.rjust(width) for text in body]
