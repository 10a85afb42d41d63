"""The units for systemd are hardened, and start what is there. No systemd runs where the tests do."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from shown_commands import unknown

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
ANALYZE = shutil.which("systemd-analyze")
AT_MOST = {"recrawl.service": 2.0, "recrawl-backup.service": 3.5}
"""How exposed a unit may be, from 0 to 10, as systemd counts."""


@pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("name", AT_MOST)
def test_a_unit_is_hardened(name: str) -> None:
    command = [ANALYZE, "security", "--offline=true", str(UNITS / name)]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    if found is None:
        pytest.skip(f"systemd-analyze cannot look at a file here: {done.stderr.strip()[:200]}")
    assert float(found[1]) <= AT_MOST[name]


@pytest.mark.parametrize("unit", sorted(UNITS.glob("*.service")), ids=lambda path: path.name)
def test_what_a_unit_starts_is_a_command_with_its_options(unit: Path) -> None:
    for line in re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.M):
        for call in re.findall(r"/opt/recrawl/bin/recrawl ([^&']*)", line):
            assert unknown(shlex.split(call)) == []


def test_what_limits_memory_of_readers_and_runs_compiled_code_is_allowed() -> None:
    """Readers of large documents limit themselves (`prlimit`), and numba writes code and then runs it."""
    text = (UNITS / "recrawl.service").read_text()
    assert not re.search(r"^SystemCallFilter=~.*@resources", text, re.M)
    assert not re.search(r"^MemoryDenyWriteExecute=(true|yes)", text, re.M)
