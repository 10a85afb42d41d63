"""A fleet in trouble: every fault on a real one, judged by the web's own log, the store, and the leases given.

The tests share a fleet and follow one another: each begins when the one before has seen the fleet as it was. After
every fault nothing committed is lost or counted twice, no rule of politeness and no budget was broken, every request
came from the shard that had the domain at that time, no crawl was written under another tenure than it was made in, and
spend is back within 10 % of the budget. How soon that was aimed at, what it is held to on a machine that may be busy,
and what was measured (docs/design/012-fleet.md) is said at each.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fleet import Fleet, fleet
from fleet_verdict import SETTINGS, WORLD, Incident, Tenures, add_triggers, as_before

pytestmark = pytest.mark.cluster
SHARDS = 3
PAUSE_S = 25.0
"""Longer than any lease."""
AWAY_S = 30.0


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("faults"), nodes=2, world=WORLD, settings=SETTINGS) as made:
        add_triggers(made)
        made.up(SHARDS)
        made.until(lambda status: all(shard.newcomers == 0 for shard in status.shards), at_most_s=90.0)
        made.until_spending(0.9, at_most_s=90.0)
        yield made
        made.down()


def test_a_shard_is_killed(crowd: Fleet) -> None:
    """Aimed at 60 s, held to 90 s; measured 20 s on two idle cores, 18 to 21 s at loads of 4 to 28."""
    incident = Incident(crowd)
    os.kill(crowd.shard("shard-1").pid, signal.SIGKILL)
    as_before(incident, within_s=90.0)


def test_the_coordinator_is_killed(crowd: Fleet) -> None:
    """Aimed at 60 s, held to 90 s; measured without a gap on two idle cores, up to 30 s at loads of 4 to 28."""
    incident = Incident(crowd)
    os.kill(crowd.coordinator(), signal.SIGKILL)
    as_before(incident, within_s=90.0)


def test_a_shard_and_the_coordinator_are_killed_at_once(crowd: Fleet) -> None:
    """Aimed at 60 s, held to 90 s; measured 26 s on two idle cores, 22 to 47 s at loads of 4 to 28."""
    incident = Incident(crowd)
    os.kill(crowd.shard("shard-2").pid, signal.SIGKILL)
    os.kill(crowd.coordinator(), signal.SIGKILL)
    as_before(incident, within_s=90.0)


def test_a_shard_sleeps_past_its_leases_and_wakes(crowd: Fleet) -> None:
    """Aimed at 60 s, held to 90 s; measured 18 s on two idle cores, 17 to 36 s at loads of 4 to 28."""
    incident, sleeper = Incident(crowd), crowd.shard("shard-0").pid
    with _paused(sleeper):
        time.sleep(PAUSE_S)  # how long it is stopped
        incident.over()
        assert Tenures(crowd).left({"shard-0"}, crowd.web.hosts, incident.began, incident.ended) == []
    as_before(incident, within_s=90.0)


def test_the_coordinator_sleeps_and_wakes(crowd: Fleet) -> None:
    """Aimed at 45 s after it wakes, held to 60 s; measured 12 s on two idle cores, 11 to 14 s at loads of 4 to 28."""
    incident = Incident(crowd)
    with _paused(crowd.coordinator()):
        time.sleep(PAUSE_S)  # how long it is stopped
    incident.over()
    as_before(incident, within_s=PAUSE_S + 60.0)


def test_the_database_is_away(crowd: Fleet) -> None:
    """Held to 60 s after it is back, as aimed at; measured 15 s on two idle cores, 13 to 25 s at loads of 4 to 28."""
    incident = Incident(crowd)
    crowd.database.stop()
    time.sleep(AWAY_S)  # how long it is away
    crowd.database.start()
    incident.over()
    as_before(incident, within_s=AWAY_S + 60.0)


def test_a_node_is_killed(crowd: Fleet) -> None:
    """Aimed at 90 s, held to 120 s; measured 32 s on two idle cores, 21 to 46 s at loads of 4 to 28."""
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
