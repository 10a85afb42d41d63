"""Which papers can be reproduced: key → module with ``reproduce(quick, seed, progress) -> Reproduction``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from recrawl.errors import ParameterError
from recrawl.papers.reproduction import Reproduction
from recrawl.report.progress import ProgressCallback, silent

PAPERS = {
    "tcns2018": "recrawl.papers.tcns2018",
    "allerton2019": "recrawl.papers.allerton2019",
    "icc2021": "recrawl.papers.icc2021",
    "separating": "recrawl.papers.separating",
    "indexing_engine": "recrawl.papers.indexing_engine",
    "q_learning": "recrawl.papers.q_learning",
}
EVERYTHING = "all"


def chosen(paper: str) -> tuple[str, ...]:
    """The papers meant by a name: one, or all."""
    if paper == EVERYTHING:
        return tuple(PAPERS)
    if paper not in PAPERS:
        raise ParameterError("paper", f"one of {', '.join(PAPERS)} or {EVERYTHING}", repr(paper))
    return (paper,)


def reproduce(paper: str, quick: bool = False, seed: int = 0, progress: ProgressCallback = silent) -> Reproduction:
    """Reproduce one paper; `quick` does fewer runs."""
    (name,) = chosen(paper)
    work = cast(Callable[[bool, int, ProgressCallback], Reproduction], import_module(PAPERS[name]).reproduce)
    return work(quick, seed, progress)
