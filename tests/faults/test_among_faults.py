"""A long crawl with every fault on: nobody else suffers, and no rule is broken by the web's own account."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
@pytest.mark.alone
def test_a_hundred_thousand_fetches_among_all_faults_break_no_rule_and_cost_healthy_sources_nothing() -> None:
    """Budget, delay, holds and robots.txt; at least 95 % of the value of the same crawl without faults."""
    command = [sys.executable, "-m", "benchmarks.faults", "--fetches", "105000", "--budget", "250"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert "rules broken: budget 0, delay 0, hold 0, robots 0" in ended.stdout
