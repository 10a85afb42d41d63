"""Avrachenkov and Borkar, *Whittle Index Policy for Crawling Ephemeral Content*, IEEE TCNS 5(1), 2018, and the talk.

Every number of §IX of the paper and of the talk [mas2016], every figure, and the variants of the computation that
explain the numbers which differ.
"""

from __future__ import annotations

from recrawl.papers.progress import Progress, silent
from recrawl.papers.reproduction import Reproduction
from recrawl.papers.tcns2018 import deterministic

TITLE = "Whittle Index Policy for Crawling Ephemeral Content (IEEE TCNS 2018)"


def reproduce(quick: bool = False, seed: int = 0, progress: Progress = silent) -> Reproduction:
    """Reproduce the paper; `quick` does a tenth of the runs."""
    results, sections = deterministic.findings(progress)
    return Reproduction("tcns2018", TITLE, "", results, sections)
