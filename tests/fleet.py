"""A whole fleet for tests: PostgreSQL, several Ray nodes, the synthetic web, and the command line that runs it.

Everything runs in processes of its own and ends with the block that started it. What the tests look at is what the
synthetic web saw, what the store holds, and the fleet's status in the store.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sockets
from postgres import Server, new_server
from processes import RECRAWL, witness
from recrawl.cluster.status import FleetStatus, ShardLine, read_status
from recrawl.store.postgres import PostgresStore
from recrawl.synthweb.ledger import (
    SeenRequest,
    budget_violations,
    by_host,
    delay_violations,
    hold_violations,
    overlaps,
    robots_violations,
)
from recrawl.synthweb.process import Served
from until import until

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("RECRAWL_", "RAY_"))},
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "of-the-tests-alone",
    "RAY_worker_niceness": "0",  # else whatever else the machine does comes first, and times say nothing
}
SETTINGS = """
half_life = "6s"
cold_start = 1.0
[fetch]
allow_private = true
timeout = "5s"
user_agent = "recrawl-{shard}/0"
[politeness]
delay = "DELAYs"
min_interval = "0s"
backoff = "200ms"
"""
SOON_S = 0.005
"""By which two requests may come closer together on their way."""


class Nodes:
    """Ray nodes on this machine: a head without room for shards, and `count` others.

    Parameters
        address: of this machine; loopback if none is given
    """

    def __init__(self, count: int, cpus: int = 8, address: str = "") -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("fleet_nodes.py")), str(count), str(cpus), address],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT, text=True,
        )  # fmt: skip
        self.pid = self._process.pid
        answer = self._answer()
        self.address: str = answer["address"]
        self.raylets: list[int] = answer["nodes"]

    def kill(self, place: int) -> None:
        """One node dies with all its processes."""
        self._ask({"kill": place})

    def add(self, there: str = "", namespace: str = "") -> None:
        """One more: here, or at an address in a network namespace."""
        self._ask({"add": {"there": there, "namespace": namespace}})

    def close(self) -> None:
        """All of them."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(30.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _ask(self, wish: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wish) + "\n")
        self._process.stdin.flush()
        self.raylets = self._answer()["nodes"]

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the Ray nodes did not start"
        answer: dict[str, Any] = json.loads(line)
        return answer


@dataclass
class Fleet:
    """Everything there is."""

    database: Server
    nodes: Nodes
    web: Served
    folder: Path
    url: str
    budget: float
    burst: float
    delay_s: float

    def command(self, *arguments: str, timeout_s: float = 240.0) -> subprocess.CompletedProcess[str]:
        """A `recrawl` command line to its end."""
        whole = [*RECRAWL, *arguments, "--config", str(self.folder / "recrawl.toml")]
        return subprocess.run(
            whole, cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout_s
        )

    def up(self, shards: int) -> None:
        """Start it; returns when every shard works."""
        done = self.command("cluster", "up", "--shards", str(shards), "--address", self.nodes.address)
        assert done.returncode == 0, done.stderr
        assert "not every shard" not in done.stderr, done.stderr

    def down(self) -> None:
        """End it; returns when everything is handed in."""
        done = self.command("cluster", "down")
        assert done.returncode == 0, done.stderr

    @contextmanager
    def store(self) -> Iterator[PostgresStore]:
        """A look into the store."""
        store = PostgresStore(self.url)
        try:
            yield store
        finally:
            store.close()

    def status(self) -> FleetStatus:
        """The fleet's status."""
        with self.store() as store:
            status = read_status(store)
        assert status is not None
        return status

    def shard(self, name: str) -> ShardLine:
        """One line of it."""
        return next(line for line in self.status().shards if line.name == name)

    def coordinator(self) -> int:
        """The coordinator's process."""
        return int(self.status().leader.split()[1])

    def node_of(self, pid: int) -> int:
        """The place among the nodes of the one that a process belongs to."""
        return self.nodes.raylets.index(_parent(pid))

    def until(self, holds: Callable[[FleetStatus], bool], at_most_s: float) -> float:
        """Wait for the status to say something; the seconds it took."""
        began = time.monotonic()

        def held() -> bool:
            status = read_status(store)
            return status is not None and holds(status)

        with self.store() as store:
            until(held, at_most_s, again_s=0.2)
        return time.monotonic() - began

    def spend(self, seconds: float) -> float:
        """Requests per second the web saw over the last seconds."""
        now = time.time()
        return sum(now - seconds <= each.start < now for each in self.web.log(now - seconds)) / seconds

    def until_spending(self, share: float, at_most_s: float, over_s: float = 5.0) -> float:
        """Wait until the web sees such a share of the budget; the seconds it took."""
        began = time.monotonic()
        until(lambda: self.spend(over_s) >= share * self.budget, at_most_s, again_s=0.5)
        return time.monotonic() - began

    def epochs(self) -> dict[str, int]:
        """The epoch of every bucket's lease."""
        with self.store() as store:
            return {lease.scope: lease.epoch for lease in store.leases("bucket/")}

    def broken_rules(self, log: list[SeenRequest] | None = None) -> dict[str, list[Any]]:
        """Every rule the web saw broken; nothing for a polite fleet."""
        seen = self.web.log() if log is None else log
        found: dict[str, list[Any]] = {
            "budget": budget_violations(seen, self.budget, self.burst, tolerance=5.0),
            "delay": delay_violations(seen, self.delay_s, tolerance_s=SOON_S),
            "overlap": overlaps(seen),
            "hold": hold_violations(seen, tolerance_s=SOON_S),
            "robots": robots_violations(seen, self.web.robots()),
        }
        return {name: broken for name, broken in found.items() if broken}

    def switches(self, log: list[SeenRequest] | None = None) -> dict[str, int]:
        """Per host, how often another shard than the time before came."""
        seen = by_host(self.web.log() if log is None else log)
        return {host: sum(a.agent != b.agent for a, b in pairwise(each)) for host, each in seen.items()}

    def miscounted(self) -> str:
        """Sources whose number of visits is not that of their crawls in the log: one was lost, or counted twice."""
        return self.database.sql(
            "SELECT p.source, p.visits, count(c.id) FROM fleet.progress p LEFT JOIN fleet.crawls c "
            "ON c.source = p.source AND c.outcome NOT IN ('failed', 'refused') "
            "GROUP BY p.source, p.visits HAVING p.visits <> count(c.id)"
        )

    def crawled(self) -> set[int]:
        """Every line of the crawl log, by number."""
        return set(map(int, self.database.sql("SELECT id FROM fleet.crawls").split()))


@dataclass(frozen=True)
class Ground:
    """Where a fleet stands.

    Parameters
        management: the address of Ray and the database
        clients: the network that the database lets in
        web: the address of the synthetic web
    """

    management: str = "127.0.0.1"
    clients: str = "127.0.0.1/32"
    web: str = "127.0.0.1"


LOOPBACK = Ground()


@contextmanager
def fleet(
    folder: Path,
    *,
    nodes: int = 2,
    sources: int = 240,
    hosts: int = 60,
    budget: float = 30.0,
    delay_s: float = 0.2,
    world: tuple[str | int | float, ...] = (),
    ground: Ground = LOOPBACK,
    settings: str = "",
) -> Iterator[Fleet]:
    """A fleet that has everything but shards: `up` starts those. `settings` are put first."""
    pytest.importorskip("ray", reason="Ray is not installed (pip install 'recrawl[cluster]')")
    database = new_server(ground.management, ground.clients)
    url = database.url(schema="fleet")
    text = f'store = "{url}"\nbudget = "{budget}/s"\n{settings}{SETTINGS.replace("DELAY", str(delay_s))}'
    (folder / "recrawl.toml").write_text(text)
    ray = Nodes(nodes, address="" if ground == LOOPBACK else ground.management)
    try:
        with witness("--sources", sources, "--hosts", hosts, "--speed", 3600, "--bind", ground.web, *world) as web:
            made = Fleet(database, ray, web, folder, url, budget, max(1.0, budget), delay_s)
            (folder / "urls.txt").write_text("\n".join(web.urls()))
            done = made.command("import", str(folder / "urls.txt"))
            assert done.returncode == 0, done.stderr
            yield made
    finally:
        ray.close()
        database.remove()


def _parent(pid: int) -> int:
    """Who started a process; its name may hold spaces and brackets."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def listening_places(folder: Path) -> set[str]:
    """Addresses on which a Ray of our own listens: its processes', not those of whatever else is on this machine.

    Ray gives its node half a minute to start, whatever the machine has to do; after that it is begun again.
    """
    code = """import sys
from recrawl.cluster import ray_actors
ray_actors.start_here(1)
print('up', flush=True)
sys.stdin.read()
"""
    for _ in range(4):
        mark = uuid.uuid4().hex
        with (folder / "ray.txt").open("w+") as said, subprocess.Popen(
            [sys.executable, "-c", code], cwd=folder, env={**ENVIRONMENT, sockets.MARK: mark}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said,
        ) as child:  # fmt: skip
            assert child.stdout is not None
            up = any(line.strip() == "up" for line in child.stdout)
            places = sockets.listening(mark)
            child.communicate()
        words = (folder / "ray.txt").read_text()
        if up or "timed out during startup" not in words:
            break
    assert up, words[-2000:]
    assert places, "it listens nowhere: nothing was looked at"
    return places
