"""A plugin for Scrapy's own tests: our scheduler in the place of Scrapy's, and what became of each test, written down.

Run by `test_scrapy.py` in a process of its own. `CORPORA_SCHEDULER` is empty for a run with Scrapy's own scheduler,
`CORPORA_OUTCOMES` the file to write, `CORPORA_STORES` a folder for stores.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
import scrapy.settings.default_settings as defaults

_outcomes: dict[str, str] = {}


class FreshStore:
    """A store of its own for whoever asks: a spider of the same name runs many times in one process of tests."""

    def __str__(self) -> str:
        return str(Path(tempfile.mkdtemp(dir=os.environ["CORPORA_STORES"])) / "recrawl.db")


if os.environ.get("CORPORA_SCHEDULER"):
    defaults.SCHEDULER = os.environ["CORPORA_SCHEDULER"]
    defaults.RECRAWL_STORE = FreshStore()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """The worst of a test's three reports."""
    if report.failed:
        _outcomes[report.nodeid] = str(report.longrepr)[-300:]
    elif report.when == "call" or report.skipped:
        _outcomes.setdefault(report.nodeid, report.outcome)


def pytest_sessionfinish() -> None:
    """Written even where tests failed."""
    Path(os.environ["CORPORA_OUTCOMES"]).write_text(json.dumps(_outcomes))
