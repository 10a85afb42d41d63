"""The books of all corpora, printed at the end of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from corpora.judging import Corpus, Figures, accepted_in, table

collect_ignore = ["recording.py", "scrapys_tests.py"]
"""Plugins for other processes: to import them is to change Scrapy and Protego."""
SHOWN = 200
_figures: list[Figures] = []


@pytest.fixture
def judged() -> Callable[[str], AbstractContextManager[Corpus]]:
    """`with judged("name") as corpus:` fails at its end if a case of the corpus is wrong."""
    return _judged


@contextmanager
def _judged(name: str) -> Iterator[Corpus]:
    corpus = Corpus(name, accepted_in(name))
    yield corpus
    figures, complaints = corpus.settle()
    _figures.append(figures)
    if complaints:
        shown = "\n".join(complaints[:SHOWN])
        more = f"\n… and {len(complaints) - SHOWN} more" if len(complaints) > SHOWN else ""
        pytest.fail(f"{name}: {len(complaints)} complaints\n{shown}{more}", pytrace=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table."""
    if _figures:
        terminalreporter.section("corpora")
        terminalreporter.write_line(table(_figures))
