"""A fleet in trouble: every fault on a real one, judged by the web's own log, the store, and the leases given.

The tests share a fleet and follow one another: each begins when the one before has seen the fleet as it was. After
every fault nothing committed is lost or counted twice, no rule of politeness and no budget was broken, every request
came from the shard that had the domain at that time, no crawl was written under another tenure than it was made in, and
spend is back within 10 % of the budget in the time stated in docs/design/012-fleet.md.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fleet import Fleet, fleet
from fleet_verdict import SETTINGS, WORLD, Incident, Tenures, as_before, employ_clerk

pytestmark = pytest.mark.cluster
SHARDS = 3
PAUSE_S = 25.0
"""Longer than any lease."""
AWAY_S = 30.0


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("faults"), nodes=2, world=WORLD, settings=SETTINGS) as made:
        employ_clerk(made)
        made.up(SHARDS)
        made.until(lambda board: all(shard.newcomers == 0 for shard in board.shards), at_most_s=90.0)
        made.until_spending(0.9, at_most_s=90.0)
        yield made
        made.down()


def test_a_shard_is_killed(crowd: Fleet) -> None:
    incident = Incident(crowd)
    os.kill(crowd.shard("shard-1").pid, signal.SIGKILL)
    as_before(incident, within_s=90.0)


def test_the_coordinator_is_killed(crowd: Fleet) -> None:
    incident = Incident(crowd)
    os.kill(crowd.coordinator(), signal.SIGKILL)
    as_before(incident, within_s=90.0)


def test_a_shard_and_the_coordinator_are_killed_at_once(crowd: Fleet) -> None:
    incident = Incident(crowd)
    os.kill(crowd.shard("shard-2").pid, signal.SIGKILL)
    os.kill(crowd.coordinator(), signal.SIGKILL)
    as_before(incident, within_s=90.0)


def test_a_shard_sleeps_past_its_leases_and_wakes(crowd: Fleet) -> None:
    incident, sleeper = Incident(crowd), crowd.shard("shard-0").pid
    with _paused(sleeper):
        time.sleep(PAUSE_S)
        incident.over()
        assert Tenures(crowd).left({"shard-0"}, crowd.web.hosts, incident.began, incident.ended) == []
    as_before(incident, within_s=90.0)


def test_the_coordinator_sleeps_and_wakes(crowd: Fleet) -> None:
    incident = Incident(crowd)
    with _paused(crowd.coordinator()):
        time.sleep(PAUSE_S)
    incident.over()
    as_before(incident, within_s=PAUSE_S + 60.0)


def test_the_database_is_away(crowd: Fleet) -> None:
    incident = Incident(crowd)
    crowd.database.stop()
    time.sleep(AWAY_S)
    crowd.database.start()
    incident.over()
    as_before(incident, within_s=AWAY_S + 60.0)


def test_a_node_is_killed(crowd: Fleet) -> None:
    incident = Incident(crowd)
    crowd.nodes.kill(crowd.node_of(crowd.shard("shard-0").pid))
    as_before(incident, within_s=120.0)
    crowd.nodes.add()


@contextmanager
def _paused(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
