"""The index against markovianbandit-pkg 0.4, an independent implementation for finite chains.

The package sets NumPy's error state for the whole process when imported, so it runs in a process of its own.
"""

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

from recrawl import Sources, whittle_index, whittle_index_after

SCRIPT = """
import json, sys
import numpy as np
import markovianbandit

answers = []
for alpha, ceiling, states in json.load(sys.stdin):
    worth = ceiling * (1 - alpha ** np.arange(1, states + 1))
    wait, crawl = np.zeros((states, states)), np.zeros((states, states))
    wait[np.arange(states), np.minimum(np.arange(states) + 1, states - 1)] = 1.0
    crawl[:, 0] = 1.0
    bandit = markovianbandit.restless_bandit_from_P0P1_R0R1(wait, crawl, np.zeros(states), worth)
    answers.append(bandit.whittle_indices().tolist())
json.dump(answers, sys.stdout)
"""
# A chain ends before its worths are indistinguishable: there the package finds ties and gives up.
CHAINS = [
    (0.2, 1.0, 9),
    (0.5, 2.0, 20),
    (0.8, 1.0, 60),
    (0.9, 3.0, 120),
    (0.98, 1.0, 500),
    (0.995, 1.0, 500),
    (0.4965853037914095, 357.14285714285717, 20),  # Table I source 1
]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("markovianbandit") is None, reason="markovianbandit-pkg is not installed"
)


@pytest.fixture(scope="module")
def reference():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=json.dumps(CHAINS), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def source(alpha, ceiling):
    return Sources.changing(change_probability=1 - alpha, importance=ceiling)


@pytest.mark.parametrize("chain", range(len(CHAINS)))
def test_the_index_on_the_orbit_equals_the_package(reference, chain):
    alpha, ceiling, states = CHAINS[chain]
    slots = np.arange(1, states)  # the last state of the truncated chain leads to itself and is not the model's
    ours = whittle_index_after(source(alpha, ceiling), slots[:, None])[:, 0]
    assert ours == pytest.approx(np.array(reference[chain][:-1]), abs=1e-9 * ceiling)


@pytest.mark.parametrize("chain", range(len(CHAINS)))
def test_theorem_1_on_the_orbit_equals_the_package(reference, chain):
    alpha, ceiling, states = CHAINS[chain]
    worth = ceiling * (1 - alpha ** np.arange(1, states))
    ours = whittle_index(source(alpha, ceiling), worth[:, None])[:, 0]
    assert ours == pytest.approx(np.array(reference[chain][:-1]), abs=1e-9 * ceiling)
