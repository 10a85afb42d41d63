"""What reproducing a paper yields, and how it is written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recrawl import __version__
from recrawl.papers.results import Result, results_table, stats, write_results
from recrawl.report import Document, Section, write_html

RULE = (
    "Verdicts: a number obtained by arithmetic is reproduced when ours rounds to it; a number obtained from one random "
    "run is reproduced when it lies within the 95 % range of a single such run around our mean, rounding allowed for. "
    "The intervals shown are those of the mean. What does not hold as printed is in docs/errata.md, with corrections."
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
    return Document(title, lead, sections, stats(every), f"recrawl {__version__}; {how}")


def write(found: Sequence[Reproduction], out: Path, how: str = "") -> Path:
    """Write report, results and figures into a prepared directory; returns the path of the report."""
    page = document(found, how)
    write_results([result for each in found for result in each.results], out / "results.json")
    for figure in page.figures():
        figure.save(out / "figures")
    return write_html(page, out / "report.html")
