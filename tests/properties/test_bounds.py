"""Compiled code writes where numba lets it: these runs are compiled to check every index, and must find none outside.

Bounds are checked only by code compiled for that, so each run is a process of its own.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROKEN = """
import numpy as np
from recrawl.scheduling import capacity
from recrawl.scheduling.calendar import Calendar

capacity.chains_for = lambda *counted, honest=capacity.chains_for: honest(*counted)._replace(ceilings=np.empty(0))
Calendar(value=np.ones(10), rate=0.1)
"""


def checked(*command: str, examples: int = 0) -> subprocess.CompletedProcess[str]:
    """Run Python with bounds checked."""
    chosen = {"NUMBA_BOUNDSCHECK": "1", "CALENDAR_EXAMPLES": str(examples)}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=os.environ | chosen, capture_output=True, text=True, timeout=3600
    )


def run_tests(*paths: str, examples: int) -> str:
    command = (
        "-m",
        "pytest",
        "-q",
        "-s",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        "-o",
        "faulthandler_timeout=1800",
    )
    run = checked(*command, *paths, examples=examples)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]
    return run.stdout


def examples_in(output: str) -> int:
    told = re.search(r"calendar: (\d+) examples, (\d+) sources, (\d+) of one group", output)
    assert told is not None
    print(told.group())
    return int(told[1])


def test_the_calendar_stays_within_its_arrays():
    output = run_tests("tests/properties/test_calendar.py", "-k", "exactly_the_top", examples=60)
    assert examples_in(output) >= 60


def test_a_write_outside_would_be_seen():
    run = checked("-c", BROKEN)
    assert run.returncode == 1
    assert "IndexError: index is out of bounds" in run.stderr


@pytest.mark.long
def test_all_compiled_code_stays_within_its_arrays():
    folders = ("scheduling", "kernels", "learning", "policies", "sim")
    units = [f"tests/unit/{folder}" for folder in folders]
    properties = ["calendar", "kernels", "learned_live", "learning", "static_allocation", "theory"]
    output = run_tests(*units, *(f"tests/properties/test_{name}.py" for name in properties), examples=1000)
    assert examples_in(output) >= 1000
