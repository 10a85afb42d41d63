"""What reproducing a paper yields, and how it is written down."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from recrawl import __version__
from recrawl.errors import OutputError
from recrawl.papers.results import Result, read_results, results_table, tally, write_results
from recrawl.report import Document, Section, write_html

RULE = (
    "Verdicts: a number obtained by arithmetic is reproduced when ours rounds to it; a number obtained from one random "
    "run is reproduced when it lies within the 95 % range of a single such run around our mean, rounding allowed for. "
    "The intervals shown are those of the mean."
)


@dataclass(frozen=True)
class Reproduction:
    """The findings of one paper.

    Parameters
        paper: its key
        title: its title
        lead: the outcome in a sentence or two
        results: every number, published beside measured
        sections: text, tables and figures of the report; the table of all results is added when it is written
    """

    paper: str
    title: str
    lead: str
    results: Sequence[Result]
    sections: Sequence[Section]


def prepare(out: Path, others: Collection[str] = ()) -> Path:
    """Make the output directory, or say before any long work why it cannot be used; returns it.

    Results of the papers `others` must not be there: one report would replace the other, among the figures of both.
    """
    if out.exists() and not out.is_dir():
        raise OutputError(f"--out {out}: there is a file of that name; a directory is needed")
    for name in ("report.html", "results.json"):
        if (out / name).is_dir():
            raise OutputError(f"--out {out}: {name} in it is a directory; choose another place")
    there = _papers_in(out) if others else set()
    held = [paper for paper in others if paper in there]
    if held:
        raise OutputError(f"--out {out}: the results of {', '.join(held)} are there; choose another place")
    try:
        (out / "figures").mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out / "figures").close()
    except OSError as error:
        raise OutputError(f"--out {out}: cannot write there ({error.strerror})") from error
    return out


def _papers_in(out: Path) -> set[str]:
    """The first words of the ids in a directory's `results.json`, if it has one."""
    try:
        return {result.id.partition("/")[0] for result in read_results(out / "results.json")}
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except (OSError, msgspec.MsgspecError) as error:
        raise OutputError(f"--out {out}: results.json in it cannot be read; choose another place") from error


def document(found: Sequence[Reproduction], how: str) -> Document:
    """The report on one paper or on several."""
    every = [result for each in found for result in each.results]
    if len(found) == 1:
        title, lead, level = found[0].title, found[0].lead, 2
    else:
        title, level = "The papers, published beside measured", 3
        lead = f"{len(every)} numbers from {len(found)} papers."
    sections: list[Section] = []
    for each in found:
        sections += [
            Section(
                "Every number" if level == 2 else each.title,
                [results_table(each.results, caption=(each.lead + " " if level == 3 else "") + RULE)],
            )
        ]
        sections += [Section(part.title, part.blocks, max(level, part.level)) for part in each.sections]
    return Document(title, lead, sections, tally(every), f"recrawl {__version__}; {how}")


def write(found: Sequence[Reproduction], out: Path, how: str = "") -> Path:
    """Write report, results and figures into a prepared directory; returns the path of the report."""
    page = document(found, how)
    write_results([result for each in found for result in each.results], out / "results.json")
    for figure in page.figures():
        figure.save(out / "figures")
    return write_html(page, out / "report.html")
