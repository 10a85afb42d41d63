"""The public interface is what `__all__` says, no more and no less."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import recrawl


def test_every_public_name_exists_and_is_listed() -> None:
    for name in recrawl.__all__:
        assert getattr(recrawl, name) is not None
    assert set(recrawl.__all__) | {"__version__"} == set(dir(recrawl))


def test_promised_names_are_there() -> None:
    promised = {
        "Calendar",
        "GroupedPages",
        "Sources",
        "Visits",
        "continuous_index",
        "crossing_age",
        "policies",
        "relaxed_bound",
        "simulate",
        "stochastic_index",
        "whittle_index",
        "whittle_index_after",
    }
    assert promised <= set(recrawl.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(recrawl, "unknown_name")


def test_importing_recrawl_imports_nothing_heavy() -> None:
    code = "import sys, recrawl; print(sorted({'numpy', 'numba', 'scipy', 'torch', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_scipy_is_wanted_by_papers_alone() -> None:
    """It is large, and not part of a plain installation."""
    package = Path(recrawl.__file__).parent
    wanting = [
        file.relative_to(package).parts[0]
        for file in package.rglob("*.py")
        if re.search(r"^ *(from|import) scipy\b", file.read_text(encoding="utf-8"), re.M)
    ]
    assert {*wanting} == {"papers"}
