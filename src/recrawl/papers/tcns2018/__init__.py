"""Avrachenkov and Borkar, *Whittle Index Policy for Crawling Ephemeral Content*, IEEE TCNS 5(1), 2018, and the talk.

Every number of §IX of the paper and of the talk [mas2016], every figure, and the variants of the computation that
explain the numbers which differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from recrawl.papers.reproduction import Reproduction
from recrawl.papers.results import Result
from recrawl.papers.tcns2018 import deterministic, stochastic, structure, theory
from recrawl.papers.tcns2018.claims import all_claims
from recrawl.papers.tcns2018.setting import table_one
from recrawl.report.progress import ProgressCallback, silent

TITLE = "Whittle Index Policy for Crawling Ephemeral Content (IEEE TCNS 2018)"
LEAD = (
    "The deterministic numbers of the index policy are reproduced to the last digit, and it is exactly optimal on "
    "Table I. Its published loss against greedy "
    "under Poisson arrivals nearly vanishes with Theorem 1 and nearly returns with the simplified formula off its "
    "orbit. "
    "Variants that yield published numbers stand beside the right ones; three were fitted, and say so."
)

REMEMBER = (
    "The index is exactly optimal on Table I, at M = 1, 2 and 3; its published loss against greedy under Poisson "
    "arrivals comes from a formula used off its orbit, and so does source 1 being crawled only from time to time."
)


def reproduce(quick: bool = False, seed: int = 0, progress: ProgressCallback = silent) -> Reproduction:
    """Reproduce the paper; `quick` does a tenth of the runs."""
    fixed, fixed_sections = deterministic.findings(progress)
    random, random_sections = stochastic.findings(quick, seed, progress)
    trapped, trap_section = theory.traps(seed)
    indices, three_ways = theory.three_ways(quick, seed, progress)
    limits, asymptotics = theory.asymptotics(quick, seed, progress)
    proved, lemmas = structure.findings(table_one(), seed)
    sections = [*fixed_sections, *random_sections, three_ways, asymptotics, lemmas, trap_section]
    results = _by_setting([*fixed, *random, *indices, *limits, *proved, *trapped])
    return Reproduction("tcns2018", TITLE, LEAD, results, sections, all_claims(results), REMEMBER)


def _by_setting(results: Sequence[Result]) -> list[Result]:
    """The paper's results before the talk's, those of a setting together, otherwise in order."""
    settings = list(dict.fromkeys(result.id.rpartition("/")[0] for result in results))
    settings.sort(key=lambda setting: setting.startswith("mas2016"))
    return sorted(results, key=lambda result: settings.index(result.id.rpartition("/")[0]))
