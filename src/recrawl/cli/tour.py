"""`recrawl demo --tour`: a walk through the commands, each run for real on a web of our own, with a word before it.

At a terminal it waits for Enter before each command; elsewhere it goes through without a stop. It never asks the web.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from recrawl.synthweb.process import Served

WEB = ("--sources", 40, "--hosts", 8, "--mix", "mixed", "--rate", 0.5)
SETTINGS = """# For the tour: its web is on this machine, which recrawl would not fetch from otherwise.
[fetch]
allow_private = true
[politeness]
delay = "100ms"
min_interval = "0s"
"""
PROGRAM = "from recrawl.cli import main; main()"


class Step(NamedTuple):
    """A command of the tour, and why one would run it."""

    words: str
    command: str


STEPS = (
    Step("A list of what to watch: OPML of another reader, CSV, or an address per line.", "import sources.csv"),
    Step(
        "They are feeds, sitemaps and pages; recrawl finds out which on the first fetch.",
        "sources --sort importance --limit 5",
    ),
    Step(
        "Now crawl, within a budget. First everything is fetched once; then what is worth it. Without --for it goes on "
        "until Ctrl-C.",
        "run --budget 10/s --for {seconds:g}s",
    ),
    Step("What it found, the latest first.", "items --limit 5"),
    Step("All words are searchable as soon as they are found.", "search opens --limit 3"),
    Step(
        "Why a source is fetched when it is: its pace as learned, its index now, and the price at which it is due.",
        "explain 1",
    ),
    Step("What another budget would bring. The price moves; nothing else has to be set.", "whatif --budget 20/s"),
    Step("How the crawl is doing, at a glance.", "status"),
    Step("A copy of everything at one moment, also while a crawler runs.", "backup copy.db"),
    Step("The copy is a store like any other, and it is sound.", "doctor --store copy.db"),
)
LAST = """That was it. Everything is in {folder}: go on there with `recrawl run --serve` and look at the page,
or begin with your own sources in another folder:

  recrawl add https://example.org/feed.xml
  recrawl run --budget 60/min
"""


def walk(folder: Path, seconds: float) -> None:
    """Take somebody through it; what is made is left in the folder."""
    from recrawl.errors import RecrawlError
    from recrawl.synthweb.process import running

    _empty(folder)
    click.echo("A web of 40 sources begins on this machine; an hour of theirs passes every second.")
    with running(*WEB) as web:
        _lay_out(folder, web)
        for number, step in enumerate(STEPS, 1):
            command = step.command.format(seconds=seconds)
            click.echo(f"\n{number}/{len(STEPS)}  {step.words}\n$ recrawl {command}")
            _wait()
            done = subprocess.run([sys.executable, "-c", PROGRAM, *command.split()], cwd=folder, env=_own())
            if done.returncode:
                raise RecrawlError(f"the tour ends here: recrawl {command} ended with {done.returncode}")
    click.echo("\n" + LAST.format(folder=folder), nl=False)


def _own() -> dict[str, str]:
    """The environment without what would lead a command to other settings and another store."""
    return {name: value for name, value in os.environ.items() if name not in ("RECRAWL_CONFIG", "RECRAWL_STORE")}


def text() -> Iterator[str]:
    """The tour to read, as Markdown, for the documentation."""
    for step in STEPS:
        yield f"{step.words}\n\n```sh\nrecrawl {step.command.format(seconds=20.0)}\n```\n"


def _empty(folder: Path) -> None:
    from recrawl.errors import OutputError

    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    except OSError as error:
        raise OutputError(f"{error.filename}: cannot write there ({error.strerror})") from error


def _lay_out(folder: Path, web: Served) -> None:
    (folder / "sources.csv").write_bytes(web.ask("csv"))
    (folder / "recrawl.toml").write_text(SETTINGS)


def _wait() -> None:
    sys.stdout.flush()
    if sys.stdin.isatty() and sys.stdout.isatty():
        click.prompt("", prompt_suffix="[Enter] ", default="", show_default=False)
