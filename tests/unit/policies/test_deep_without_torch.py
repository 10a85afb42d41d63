"""Without torch everything else works, and the deep policies say what to install."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CALLS = ('"fg_dqn"', '"thompson_then_dqn"', '"q_whittle", network=(8,)')
CODE = f"""
import json, sys
sys.modules["torch"] = None
import recrawl
from recrawl import policies
from recrawl.errors import MissingExtraError
assert {{"fg_dqn", "thompson_then_dqn"}} <= set(policies.NAMES)
world = recrawl.GroupedPages([2, 3], [0.5, 0.1], [1.0, 4.0])
recrawl.simulate(world, "thompson", steps=5, noise="change")
recrawl.simulate(world, "q_whittle", steps=5, noise="change")
said = {{}}
for call in {CALLS}:
    try:
        eval(f"policies.make({{call}})")
    except MissingExtraError as missing:
        said[call] = str(missing)
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What is said of each, by one process where there is no torch."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("call", CALLS)
def test_the_error_names_the_extra(said: dict[str, str], call: str) -> None:
    assert "pip install 'recrawl[deep]'" in said[call]
