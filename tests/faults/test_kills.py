"""`kill -9` at any instant: nothing committed is lost, nothing is told before it is committed, no rule is broken.

The web and the store testify: the web's own log says when which host was visited, across all the crawler's lives; the
store says after each death what was committed; the events file and the webhook say what was told.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import pytest

from processes import Nursery, nursery, witness
from recrawl.store.records import Hold
from recrawl.store.sqlite import SqliteStore
from recrawl.store.sqlite.repair import check
from recrawl.synthweb.faults.rules import Rule
from recrawl.synthweb.ledger import (
    SeenRequest,
    budget_violations,
    by_host,
    delay_violations,
    overlaps,
    robots_violations,
)
from recrawl.synthweb.process import Served
from until import until

DELAY_S, INTERVAL_S, BUDGET, BURST, HOLD_S = 0.3, 1.0, 12.0, 10.0, 2.0
LATE_S, STALL_S = 0.12, 0.3
"""How much later than it was sent a request may be read by the web, and than it was paid for be sent, on a busy
machine."""
LONGEST_LIFE_S, STILLBORN, CHILDLESS = 0.8, 0.2, 0.55
"""How long a crawler lives at most: some from their start, some from their first request, the others from the first
crawl they committed, so that a slow machine does not kill all before they have done anything."""
SETTINGS = f"""
store = "recrawl.db"
budget = "{BUDGET:g}/s"
burst = "{BURST:g}"
half_life = "6s"
[fetch]
allow_private = true
[politeness]
delay = "{DELAY_S}s"
min_interval = "{INTERVAL_S}s"
backoff = "1s"
max_backoff = "4s"
"""
WORLD = ("--sources", 72, "--hosts", 24, "--speed", 3600, "--rate", 0.5, "--mix", "mixed", "--forbidden", 0.05)
FAULTS = (
    Rule(name="429_seconds", share=0.03, seconds=HOLD_S),
    Rule(name="reset_in_body", share=0.03),
    Rule(name="500", share=0.03),
)


@dataclass
class Seen:
    """What the store held at one moment: crawls, items and versions by their ids, and the holds that stood."""

    crawls: dict[int, tuple[object, ...]]
    items: dict[int, tuple[object, ...]]
    versions: dict[int, tuple[object, ...]]
    holds: list[Hold]
    at: float

    @property
    def event_ids(self) -> set[str]:
        """Of everything found."""
        return {f"item:{source}:{int(key) & 0xFFFF_FFFF_FFFF_FFFF:016x}" for source, key, *_ in self.items.values()}


@dataclass
class Hook:
    """A webhook that remembers what it was told."""

    url: str
    ids: list[str] = field(default_factory=list)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "recrawl.toml").write_text(SETTINGS)
    return tmp_path


@contextmanager
def listening() -> Iterator[Hook]:
    """A webhook on loopback."""
    hook = Hook("")

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if len(body) == int(self.headers["Content-Length"]):
                hook.ids += [event["id"] for event in json.loads(body)["events"]]
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    hook.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def look(store: Path) -> Seen:
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:

        def rows(statement: str) -> dict[int, tuple[object, ...]]:
            return {row[0]: row[1:] for row in connection.execute(statement)}

        crawls = rows("SELECT id, source, at, outcome FROM crawls")
        items = rows("SELECT id, source, key, link, first_seen FROM items WHERE kind = 'item'")
        versions = rows("SELECT id, source, at, digest FROM versions")
    now = time.time()
    with SqliteStore(store, read_only=True) as opened:
        assert opened.claimed() is None, "a dead crawler holds its store"
        holds = opened.holds(now)
    return Seen(crawls, items, versions, holds, now)


def _committed(store: Path) -> int:
    """How many crawls are in the store of a crawler that lives."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30.0)) as connection:
        return int(connection.execute("SELECT count(*) FROM crawls").fetchone()[0])


def told(events: Path) -> list[str]:
    """Ids of the events in a file; a line torn by a death is nobody's."""
    ids = []
    for line in events.read_bytes().splitlines() if events.exists() else ():
        try:
            ids.append(json.loads(line)["id"])
        except ValueError:
            continue
    return ids


def nothing_lost(before: Seen, after: Seen) -> None:
    for name in ("crawls", "items", "versions"):
        old, new = getattr(before, name), getattr(after, name)
        assert old.items() <= new.items(), f"{name} that were committed are gone"


def stored_once(seen: Seen) -> None:
    keys = [(source, key) for source, key, *_ in seen.items.values()]
    assert len(keys) == len(set(keys))
    links = [(source, link) for source, _, link, _ in seen.items.values()]
    assert len(links) == len(set(links))


def holds_kept(log: list[SeenRequest], sights: list[Seen]) -> int:
    """No host was visited during a hold that was in the store when the crawler died; how many holds that were."""
    hosts, kept = by_host(log), 0
    for seen in sights:
        for hold in seen.holds:
            visits = [a for a in hosts.get(hold.host, []) if seen.at + LATE_S < a.start < hold.until - LATE_S]
            assert not visits, f"{hold.host} was visited during its hold"
            kept += 1
    return kept


def intervals_kept(seen: Seen) -> None:
    """No source was fetched again within the least interval of a fetch that was committed."""
    times: dict[object, list[float]] = {}
    for source, at, outcome in seen.crawls.values():
        if outcome not in ("failed", "refused"):
            times.setdefault(source, []).append(float(str(at)))
    for source, moments in times.items():
        close = [(a, b) for a, b in pairwise(sorted(moments)) if b - a < INTERVAL_S - 1e-3]
        assert not close, f"source {source} was fetched too early"


def polite(web: Served, log: list[SeenRequest]) -> None:
    assert not delay_violations(log, DELAY_S, LATE_S)
    assert not overlaps(log)
    assert not budget_violations(log, BUDGET, BURST, tolerance=1.0 + BUDGET * STALL_S)
    assert not robots_violations(log, web.robots())


@dataclass
class Lives:
    """Of one crawler: it is started, killed at a random moment, looked at, and started again."""

    web: Served
    parent: Nursery
    place: Path
    hook: Hook
    chance: random.Random

    @property
    def store(self) -> Path:
        return self.place / "recrawl.db"

    def arguments(self) -> tuple[str, ...]:
        return ("run", "--events", "events.jsonl", "--webhook", self.hook.url, "--json")

    def warm(self) -> None:
        """Let the nursery see a run once, on a store of its own."""
        self.fill("warm.db")
        warmed = ("run", "--store", "warm.db", "--for", "2s", "--json")
        assert self.parent.run(*warmed, output=self.place / "warm.txt") == 0

    def fill(self, store: str) -> None:
        (self.place / "urls.txt").write_text("\n".join(self.web.urls()))
        arguments = ("import", "urls.txt", "--store", store)
        assert self.parent.run(*arguments, output=self.place / "import.txt") == 0

    def one(self) -> Seen:
        """A life that ends at a random moment."""
        born, destiny, known = time.time(), self.chance.random(), _committed(self.store)
        pid = self.parent.start(*self.arguments(), output=self.place / "output.txt")
        if destiny > CHILDLESS:
            until(lambda: _committed(self.store) > known)
        elif destiny > STILLBORN:
            until(lambda: bool(self.web.log(born)))
        time.sleep(self.chance.uniform(0.0, LONGEST_LIFE_S))  # the moment is what is tested
        os.kill(pid, signal.SIGKILL)
        assert self.parent.wait(pid) == -signal.SIGKILL, (self.place / "output.txt").read_text()[-2000:]
        for _ in range(2):  # what the dead one sent has been read when the web answers somebody else
            self.web.log(time.time())
        assert check(self.store) == []
        return look(self.store)

    def last(self) -> Seen:
        """A life that ends as it should."""
        pid = self.parent.start(*self.arguments(), output=self.place / "output.txt")
        known = len(told(self.place / "events.jsonl"))
        until(lambda: len(told(self.place / "events.jsonl")) > known)
        os.kill(pid, signal.SIGTERM)
        assert self.parent.wait(pid) == 0
        return look(self.store)


def killed(place: Path, times: int, seed: int) -> None:
    with witness(*WORLD) as web, nursery(place) as parent, listening() as hook:
        lives = Lives(web, parent, place, hook, random.Random(seed))
        lives.warm()
        web.set_faults(FAULTS)
        lives.fill("recrawl.db")
        began = time.time() + DELAY_S
        until(lambda: time.time() > began)
        sights = [look(place / "recrawl.db")]
        for _ in range(times):
            sights.append(lives.one())
            nothing_lost(sights[-2], sights[-1])
            assert {id for id in told(place / "events.jsonl") if id.startswith("item:")} <= sights[-1].event_ids
            assert {id for id in hook.ids if id.startswith("item:")} <= sights[-1].event_ids
        sights.append(lives.last())
        nothing_lost(sights[-2], sights[-1])
        log = web.log(began)
        stored_once(sights[-1])
        assert sights[-1].event_ids <= set(told(place / "events.jsonl"))
        assert sights[-1].event_ids <= set(hook.ids)
        intervals_kept(sights[-1])
        holds = holds_kept(log, sights[:-1])
        polite(web, log)
        _report(times, log, sights, holds, told(place / "events.jsonl"))


def _report(times: int, log: list[SeenRequest], sights: list[Seen], holds: int, events: list[str]) -> None:
    last = sights[-1]
    lived = sum(len(b.crawls) > len(a.crawls) for a, b in pairwise(sights))
    print(
        f"{times} kills, {lived} of them after crawls were committed: {len(log)} requests, {len(last.crawls)} crawls, "
        f"{len(last.items)} items, {len(events)} events told, {len(events) - len(set(events))} of them again, "
        f"{holds} holds kept"
    )
    assert lived > times // 3, "most were killed before they had done anything"


def test_ten_deaths_cost_nothing_that_was_committed(place: Path) -> None:
    """`killed` compares the store after every death with what its commits had said."""
    killed(place, 10, seed=1)


@pytest.mark.long
def test_two_hundred_deaths_cost_nothing_that_was_committed(place: Path) -> None:
    """The same, at moments nobody would have chosen."""
    killed(place, 200, seed=2)
