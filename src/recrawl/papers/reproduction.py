"""What reproducing a paper yields, and how it is written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recrawl import __version__
from recrawl.papers.claims import Claim, claim_counts, claims_table
from recrawl.papers.results import Result, results_table, stats, write_results
from recrawl.report import Document, Section, Text, write_html

RULE = (
    "Verdicts: a number obtained by arithmetic is reproduced when ours rounds to it; a number obtained from one random "
    "run is reproduced when it lies within the 95 % range of a single such run around our mean, rounding allowed for. "
    "The intervals shown are those of the mean. A fitted number comes from a variant whose settings were searched for "
    "with the published number in view: it shows that the number can come about this way, not that it did. What does "
    "not hold as printed is in docs/errata.md, with corrections."
)
CLAIMS_RULE = (
    "What the paper says in words, in ours. Verdicts are worked out from the numbers of this report, and a few are "
    "argued. “Holds under” names a condition that the paper does not state, or does not meet."
)


@dataclass(frozen=True)
class Reproduction:
    """The findings of one paper.

    Parameters
        paper: its key
        title: its title
        lead: the outcome in a sentence or two
        results: every number, published beside measured
        sections: text, tables and figures of the report; the tables of results and claims are added when it is written
        claims: every qualitative sentence, with a verdict
        remember: the one sentence to take home
    """

    paper: str
    title: str
    lead: str
    results: Sequence[Result]
    sections: Sequence[Section]
    claims: Sequence[Claim] = field(default=())
    remember: str = ""


def document(found: Sequence[Reproduction], how: str) -> Document:
    """The report on one paper or on several."""
    every = [result for each in found for result in each.results]
    if len(found) == 1:
        title, lead, level = found[0].title, found[0].lead, 2
    else:
        title, level = "The papers, published beside measured", 3
        lead = f"{len(every)} numbers from {len(found)} papers."
    sections: list[Section] = []
    for place, each in enumerate(found):
        numbers = results_table(each.results, caption=RULE if place == 0 else "")
        if level == 2:
            sections += [Section("Every number", [numbers])]
        else:
            sections += [Section(each.title, [Text(each.lead), numbers])]
        if each.claims:
            sections.append(
                Section("Every claim", [claims_table(each.claims, CLAIMS_RULE if place == 0 else "")], level)
            )
        sections += [Section(part.title, part.blocks, max(level, part.level)) for part in each.sections]
    badges = [*stats(every), *claim_counts(said for each in found for said in each.claims)]
    remember = [("" if level == 2 else each.paper, each.remember) for each in found if each.remember]
    return Document(title, lead, sections, badges, f"recrawl {__version__}; {how}", remember)


def write(found: Sequence[Reproduction], out: Path, how: str = "") -> Path:
    """Write report, results and figures into a prepared directory; returns the path of the report."""
    page = document(found, how)
    results = [result for each in found for result in each.results]
    write_results(results, out / "results.json", [said for each in found for said in each.claims])
    for figure in page.figures():
        figure.save(out / "figures")
    return write_html(page, out / "report.html")
