"""Which papers can be reproduced: key → module with ``reproduce(quick, seed, progress) -> Reproduction``.

Those that have policies to play on recorded pages take these too: ``reproduce(…, recordings)``.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from recrawl.errors import ParameterError
from recrawl.papers.recordings import Recordings
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
ON_RECORDED_PAGES = ("icc2021",)


def chosen(paper: str) -> tuple[str, ...]:
    """The papers meant by a name: one, or all."""
    if paper == EVERYTHING:
        return tuple(PAPERS)
    if paper not in PAPERS:
        raise ParameterError("paper", f"one of {', '.join(PAPERS)} or {EVERYTHING}", repr(paper))
    return (paper,)


def reproduce(
    paper: str,
    quick: bool = False,
    seed: int = 0,
    progress: ProgressCallback = silent,
    recordings: Recordings | None = None,
) -> Reproduction:
    """Reproduce one paper; `quick` does fewer runs, `recordings` are for those that play on recorded pages."""
    (name,) = chosen(paper)
    work = cast(Callable[..., Reproduction], import_module(PAPERS[name]).reproduce)
    more: dict[str, Any] = {"recordings": recordings} if name in ON_RECORDED_PAGES else {}
    return work(quick, seed, progress, **more)


def read_recordings(papers: tuple[str, ...], folder: Path) -> Recordings:
    """The recorded pages in a folder, if one of these papers plays on any."""
    if not set(papers) & set(ON_RECORDED_PAGES):
        raise ParameterError("--data", f"given for {', '.join(ON_RECORDED_PAGES)} or {EVERYTHING}", ", ".join(papers))
    return Recordings.read(folder)
