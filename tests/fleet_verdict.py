"""What became of a fleet in trouble, by three witnesses: the web's log, the store, and triggers inside the database.

The triggers write down when a bucket changed hands and when a crawl was written, with the time
of the very statement. All clocks are this machine's.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any

from fleet import Fleet
from recrawl.cluster.placement import bucket_of_host, scope
from recrawl.cluster.status import FleetStatus
from recrawl.synthweb.faults.rules import Rule
from recrawl.synthweb.ledger import SeenRequest

CLERK = """
CREATE TABLE fleet.tenures (at double precision, scope text, epoch bigint, owner text);
CREATE TABLE fleet.writings (at double precision, bucket integer, fetched double precision);
CREATE FUNCTION fleet.note_tenure() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO fleet.tenures VALUES (extract(epoch FROM clock_timestamp()), NEW.scope, NEW.epoch, NEW.owner);
    RETURN NULL; END $$;
CREATE FUNCTION fleet.note_writing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO fleet.writings SELECT extract(epoch FROM clock_timestamp()), bucket, NEW.at
    FROM fleet.sources WHERE id = NEW.source;
    RETURN NULL; END $$;
CREATE TRIGGER begun AFTER INSERT ON fleet.owners FOR EACH ROW EXECUTE FUNCTION fleet.note_tenure();
CREATE TRIGGER passed AFTER UPDATE ON fleet.owners FOR EACH ROW WHEN (NEW.epoch <> OLD.epoch)
EXECUTE FUNCTION fleet.note_tenure();
CREATE TRIGGER written AFTER INSERT ON fleet.crawls FOR EACH ROW EXECUTE FUNCTION fleet.note_writing();
"""
WORLD = ("--rate-spread", 0.3, "--forbidden", 0.02)
SETTINGS = 'max_age = "20s"'
"""Every source is visited again soon, also those that are not worth it at the price."""
WINDOW_S, BACK = 10.0, 0.9
"""Spend is back when every later window of this length has at least this part of the budget."""
CALM_S = 10.0
"""It has to stay so for this long to be believed."""
HOLDS = [Rule(name="429_seconds", share=0.003, seconds=20.0)]
"""Now and then a host asks to be left alone, for longer than it takes another shard to have it."""
WRITTEN_S = 3.0
"""By then the store has what was learned: who is killed sooner takes its knowledge along."""
LATE_S = 0.25
"""By how much later than it was sent the web may read a request on a busy machine."""


def add_triggers(crowd: Fleet) -> None:
    """Before the shards start."""
    crowd.database.sql(CLERK)
    crowd.web.set_faults(HOLDS)


@dataclass(frozen=True)
class Tenure:
    """A bucket's time with one owner, from `at` until the next."""

    at: float
    epoch: int
    owner: str

    @property
    def shard(self) -> str:
        """The name of the owner."""
        return self.owner.partition(" ")[0]

    @property
    def pid(self) -> int:
        """The owner's process."""
        return int(self.owner.partition("process ")[2].split()[0])


class Tenures:
    """Who had which bucket when."""

    def __init__(self, crowd: Fleet) -> None:
        self.of: dict[str, list[Tenure]] = {}
        for line in crowd.database.sql("SELECT at, scope, epoch, owner FROM fleet.tenures ORDER BY at").splitlines():
            at, place, epoch, owner = line.split("|")
            self.of.setdefault(place, []).append(Tenure(float(at), int(epoch), owner))

    def at(self, bucket: int, moment: float) -> Tenure | None:
        """The tenure a moment lies in; None before the first."""
        tenures = self.of.get(scope(bucket), [])
        place = bisect_right(tenures, moment, key=lambda tenure: tenure.at)
        return tenures[place - 1] if place else None

    def of_host(self, host: str, moment: float) -> Tenure:
        """Of a host that somebody had."""
        tenure = self.at(bucket_of_host(host), moment)
        assert tenure is not None
        return tenure

    def left(self, shards: set[str], hosts: list[str], before: float, after: float) -> list[str]:
        """Hosts that were with these shards and have not changed hands since."""
        were = [host for host in hosts if self.of_host(host, before).shard in shards]
        assert were, "they had nothing"
        return [host for host in were if self.of_host(host, after) == self.of_host(host, before)]

    def strangers(self, log: list[SeenRequest]) -> list[tuple[SeenRequest, Tenure | None]]:
        """Requests to hosts that were another shard's at the time."""
        found = []
        for access in log:
            owners = [self.at(bucket_of_host(access.host), access.start - late) for late in (LATE_S, 0.0)]
            if not any(owner is not None and access.agent == f"recrawl-{owner.shard}/0" for owner in owners):
                found.append((access, owners[-1]))
        return found

    def wrong_lives(self, log: list[SeenRequest], there: str, pids: set[int]) -> list[tuple[SeenRequest, Tenure]]:
        """Requests from an address that is not where the owner's process was: `pids` are those at the address."""
        found = []
        for access in log:
            owners = [self.at(bucket_of_host(access.host), access.start - late) for late in (LATE_S, 0.0)]
            told = [owner for owner in owners if owner is not None]
            if all((owner.pid in pids) != (access.client == there) for owner in told):
                found.append((access, told[-1]))
        return found

    def late_writings(self, crowd: Fleet) -> list[tuple[float, int, float]]:
        """Crawls that were made in one tenure of their bucket and written in another: when, bucket, when made."""
        found = []
        for line in crowd.database.sql("SELECT at, bucket, fetched FROM fleet.writings").splitlines():
            at, bucket, fetched = line.split("|")
            if self.at(int(bucket), float(at)) != self.at(int(bucket), float(fetched)):
                found.append((float(at), int(bucket), float(fetched)))
        return found


def all_work(status: FleetStatus) -> bool:
    """Everything wanted is there, and every bucket has somebody."""
    shards = status.shards
    return (
        len(shards) == status.wanted
        and all(shard.state == "working" for shard in shards)
        and sum(shard.buckets for shard in shards) == status.buckets
        and time.time() - status.at < 3.0
    )


class Incident:
    """One fault, from just before it strikes until everything is as it was. Hosts ask for nothing new meanwhile."""

    def __init__(self, crowd: Fleet) -> None:
        self.crowd = crowd
        crowd.web.set_faults([])
        time.sleep(WRITTEN_S)  # what is under way is written down
        self.crawls, self.epochs = crowd.crawled(), crowd.epochs()
        self.visited = {access.source for access in crowd.web.log()} - {None}
        self.began = time.time()
        self.ended = self.began
        self.pulse = Pulse(crowd)

    def over(self) -> None:
        """The cause is gone."""
        self.ended = time.time()

    def recovery_s(self, at_most_s: float) -> float:
        """Wait until the fleet is as before; the seconds from the beginning until spend was back for good."""
        while True:
            now = time.time()
            log = self.crowd.web.log(self.began - WINDOW_S)
            low = last_low(log, self.began, now, BACK * self.crowd.budget)
            unseen = self.visited - {a.source for a in log if a.start > self.ended}
            works = all_work(self.crowd.status())
            if works and not unseen and now - max(low, self.ended) > CALM_S:
                self.crowd.web.set_faults(HOLDS)
                self.pulse.over.set()
                return max(low - self.began, 0.0)
            assert now - self.began < at_most_s, (
                f"not as before {at_most_s:g} s after: {len(unseen)} sources not visited again, spend was low "
                f"{now - low:.1f} s ago, {self.crowd.spend(WINDOW_S):g}/s now, {self.crowd.status()}"
            )
            time.sleep(1.0)  # between two looks: spend is judged over seconds

    def wrongs(self) -> dict[str, Any]:
        """Everything that must not have happened; empty for a fleet that kept its promises."""
        crowd = self.crowd
        log, tenures, epochs = crowd.web.log(), Tenures(crowd), crowd.epochs()
        since = [access for access in log if access.start >= self.began]
        switches = crowd.switches(since)
        grown = {host: epochs[_scope_of(host)] - self.epochs[_scope_of(host)] for host in switches}
        found: dict[str, Any] = {
            "lost": sorted(self.crawls - crowd.crawled()),
            "miscounted": crowd.miscounted(),
            "rules": self.broken_rules(log),
            "strangers": tenures.strangers(since),
            "late writings": tenures.late_writings(crowd),
            "unexplained switches": {host: n for host, n in switches.items() if n > grown[host]},
        }
        return {name: what for name, what in found.items() if what}

    def broken_rules(self, log: list[SeenRequest]) -> dict[str, list[Any]]:
        """Since the beginning; what the web read after a standstill of its own is no evidence against the budget."""
        found = {
            name: [each for each in broken if _when(each) >= self.began]
            for name, broken in self.crowd.broken_rules(log).items()
        }
        found["budget"] = [each for each in found.get("budget", []) if not self.pulse.stood_still(each.start)]
        return {name: broken for name, broken in found.items() if broken}


class Pulse(threading.Thread):
    """Asks the web something small all the time: it reads requests as late as it answers this."""

    def __init__(self, crowd: Fleet) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self._web, self._late = crowd.web, list[tuple[float, float]]()
        self.start()

    def run(self) -> None:
        """Until told that it is over."""
        while not self.over.wait(0.2):
            asked = time.time()
            try:
                self._web.ask("faults")
            except OSError:  # it is gone
                return
            answered = time.time()
            if answered - asked > LATE_S:
                self._late.append((asked, answered))

    def stood_still(self, moment: float) -> bool:
        """Whether the web had just not been reading for a while."""
        return any(asked <= moment <= answered + LATE_S for asked, answered in self._late)


def last_low(log: list[SeenRequest], since: float, until: float, rate: float) -> float:
    """The end of the last window in which fewer requests per second came; `since` if there was none."""
    starts = sorted(access.start for access in log)
    end = until
    while end > since:
        seen = bisect_left(starts, end) - bisect_left(starts, end - WINDOW_S)
        if seen < rate * WINDOW_S:
            return end
        end -= 0.1
    return since


def as_before(incident: Incident, within_s: float) -> None:
    """Wait until the fleet is as it was; see that it was in time, and that nothing wrong happened meanwhile."""
    took = incident.recovery_s(at_most_s=within_s + 120.0)
    lasted = incident.ended - incident.began
    print(f"\nspend was back {took:.1f} s after the fault began, which lasted {lasted:.1f} s")
    wrongs = incident.wrongs()
    assert not wrongs, f"{sorted(wrongs)}: {wrongs}"[:10_000]
    assert took <= within_s, f"spend was back after {took:.1f} s only"


def _when(broken: Any) -> float:
    """When a rule was broken: by a request, the second of a pair, or a request with a reason."""
    last = broken if isinstance(broken, SeenRequest) else [each for each in broken if isinstance(each, SeenRequest)][-1]
    return float(last.start)


def _scope_of(host: str) -> str:
    return scope(bucket_of_host(host))
