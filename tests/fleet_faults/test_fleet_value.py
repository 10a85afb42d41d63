"""A fleet is worth what one process with the same budget is, by the account of the webs they crawl."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet import Nodes
from fleet_value import ALONE, FLEET, Terms, compared
from postgres import Server, new_server

pytestmark = pytest.mark.cluster
SEEDS = (0, 1)
LEAST = 0.975
"""Of one process. Seven worlds showed 0.992 on average, and two equal processes differ by half a hundredth in one
world: this is some four standard errors of two worlds below."""


@pytest.fixture(scope="module")
def database() -> Iterator[Server]:
    made = new_server()
    yield made
    made.remove()


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    pytest.importorskip("ray", reason="Ray is not installed (pip install 'recrawl[cluster]')")
    made = Nodes(2)
    yield made
    made.close()


def test_four_shards_capture_what_one_process_does(tmp_path: Path, database: Server, nodes: Nodes) -> None:
    ratios = []
    for seed in SEEDS:
        gains = compared(tmp_path, database, nodes, Terms(seed=seed))
        if gains[ALONE].spent < 0.98:
            pytest.skip(f"the machine is too busy: one process spent {gains[ALONE].spent:.1%} of its budget")
        assert gains[FLEET].spent > 0.98, gains
        ratios.append(gains[FLEET].captured / gains[ALONE].captured)
    assert sum(ratios) / len(ratios) > LEAST, ratios
