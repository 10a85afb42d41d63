"""What is collected, and what tests may be asked for.

Examples in docstrings are looked for only in files that have any, so that the others are not imported for them.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of our own."""
    parser.addoption("--pictures", action="store_true", help="keep pictures of the web pages in out/screenshots")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, Any, list[pytest.Collector]]:
    """Only what there is to be found."""
    found: list[pytest.Collector] = yield
    if file_path.suffix != ".py" or b">>>" in file_path.read_bytes():
        return found
    return [each for each in found if not isinstance(each, DoctestModule)]
