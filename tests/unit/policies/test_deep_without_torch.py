"""Without torch everything else works, and the deep policies say what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
sys.modules["torch"] = None
import recrawl
from recrawl import policies
assert {"fg_dqn", "thompson_then_dqn"} <= set(policies.NAMES)
world = recrawl.GroupedPages([2, 3], [0.5, 0.1], [1.0, 4.0])
recrawl.simulate(world, "thompson", steps=5, noise="change")
recrawl.simulate(world, "q_whittle", steps=5, noise="change")
policies.make(WANTED)
"""


@pytest.mark.parametrize("call", ['"fg_dqn"', '"thompson_then_dqn"', '"q_whittle", network=(8,)'])
def test_the_error_names_the_extra(call: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE.replace("WANTED", call)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "MissingExtraError" in done.stderr
    assert "pip install 'recrawl[deep]'" in done.stderr
