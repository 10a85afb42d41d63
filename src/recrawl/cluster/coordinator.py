"""The coordinator: hears every shard once a second and answers with price and allowance.

It also does a round of its own once a second: keep the lease, look what people want, place new sources, start and end
shards, write the status and, now and then, the price history. Reports are answered by whichever thread they come in
on, from memory alone: a slow store delays no grant. Without the lease nothing is granted.
"""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Callable, Collection
from typing import Protocol

import msgspec
import structlog

from recrawl.cluster.grants import Grants
from recrawl.cluster.leader_lease import LeaderLease
from recrawl.cluster.members import SILENT_S, Member, Members, shard_name
from recrawl.cluster.messages import Grant, Report, membership_of
from recrawl.cluster.placement import BUCKETS, bucket_of
from recrawl.cluster.shared_learning import Pool, packed
from recrawl.cluster.status import FleetStatus, ShardLine, Wish, finite, read_wish, write_status
from recrawl.errors import StoreError
from recrawl.store.records import Batch, Price
from recrawl.store.roles import Buckets, Leases, Notes

GRANT_S = 12.0
"""For how long a grant holds: how long shards go on without a coordinator."""
COUNT_S = 0.5
"""Time between two counts of the members."""
PLACE_AT_ONCE = 5000
PRICE_S = 10.0
"""Time between two lines of the price history."""
WIND_DOWN_S = 30.0
"""How long shards may take to hand in what they have when the fleet is ended."""


class ShardLauncher(Protocol):
    """Who starts and ends shards."""

    def running(self) -> set[str]:
        """Names of the shards that run, or are being started again."""
        ...

    def start(self, name: str) -> None:
        """Start one, and return before it runs."""
        ...

    def end(self, names: Collection[str]) -> None:
        """End some, which have nothing any more, in a time that does not grow with their number."""
        ...


class CoordinatorStore(Notes, Leases, Buckets, Protocol):
    """The part of the store that a coordinator needs."""

    def claimed(self) -> str | None:
        """Who crawls alone, in words."""
        ...

    def commit(self, batch: Batch) -> None:
        """Write the price history."""
        ...


class Coordinator:
    """One candidate for the lease, and its work while it holds it.

    Parameters
        now: Unix seconds, never running backwards
        cold_start: share of the budget kept for sources never crawled
        steady: seconds that nobody can set forwards, by which grants run out; by default `now`
    """

    def __init__(
        self,
        store: CoordinatorStore,
        launcher: ShardLauncher,
        now: Callable[[], float],
        cold_start: float = 0.5,
        steady: Callable[[], float] | None = None,
    ) -> None:
        self._store, self._launcher, self._now, self._cold_start = store, launcher, now, cold_start
        self._steady = steady or now
        self.name = f"process {os.getpid()} on {socket.gethostname()}"
        self._leader_lease = LeaderLease(store, self.name, now)
        self._lock = threading.Lock()
        self._grants: Grants | None = None
        self._members, self._pool = Members((), now()), Pool()
        self._wish: Wish | None = None
        self._since = now()
        self._sums = [0, 0.0, 0]
        self._priced = (now(), 0, 0.0, 0)
        self._messages = self._bytes = 0
        self._ending: float | None = None
        self._count_at = now()
        self._answered: tuple[tuple[str, ...], int] = ((), 0)
        self._trouble = ""
        self._log = structlog.get_logger("recrawl.fleet")
        self.finished = False
        """Whether the fleet was ended, and everything is handed in."""

    # -- answering

    def hear(self, message: bytes) -> bytes:
        """A shard's report; the grant, or nothing where this is not the one to give any."""
        report = msgspec.msgpack.decode(message, type=Report)
        with self._lock:
            now, grants = self._now(), self._grants
            if grants is None or self._leader_lease.epoch != grants.leader:
                return b""
            gained = self._members.hear(report, now)
            self._sums = [
                self._sums[0] + gained.requests,
                self._sums[1] + gained.captured,
                self._sums[2] + gained.failed,
            ]
            members, membership = self._members_now(now)
            grant = grants.hear(report, self._steady(), members)
            if members and report.membership == membership:
                grant.members = None
            self._exchange(report, grant, members, now)
            answer = msgspec.msgpack.encode(grant)
            self._messages += 2
            self._bytes += len(message) + len(answer)
            return answer

    def _exchange(self, report: Report, grant: Grant, members: tuple[str, ...], now: float) -> None:
        """Take down what a member knows in common with the others, and tell it what they know."""
        entry, pool = self._members.entry(report.shard), self._pool
        if report.shard not in members or entry is None or entry.report.incarnation != report.incarnation:
            return
        pool.keep(members)
        if not report.summary:
            grant.asks = not pool.told(report.shard, report.incarnation)
        elif not pool.hear(report.shard, report.incarnation, report.summary):
            self._log.warning("a summary cannot be used: is it of another version?", shard=report.shard)
        elif pool.complete(members) or now - self._since >= SILENT_S:
            grant.others = packed(pool.others(report.shard))

    def _members_now(self, now: float) -> tuple[tuple[str, ...], int]:
        """The members, and the number of their membership; counted anew now and then, not for every report.

        Nobody shares the buckets of a fleet that is being ended.
        """
        if self._ending is not None:
            return (), 0
        if now >= self._count_at:
            members = self._members.members(now)
            self._count_at, self._answered = now + COUNT_S, (members, membership_of(members))
        return self._answered

    # -- the round

    def round(self) -> None:
        """Everything that is to be done once a second. What fails is done the next time."""
        try:
            self._trouble = self._refused_by()
            epoch = self._leader_lease.keep()
            if epoch and not self._trouble:
                self._work(epoch)
        except StoreError as error:
            if not self._trouble:
                self._log.warning("the store does not answer", reason=str(error))
            self._trouble = str(error)

    def _refused_by(self) -> str:
        claimed = self._store.claimed()
        return f"the store is being crawled by {claimed}" if claimed else ""

    def _work(self, epoch: int) -> None:
        now = self._now()
        self._apply_wish(epoch, now)
        if self._wish is None:
            return
        self._place()
        self._start_and_end_shards(now)
        self._write_status(now)

    def _apply_wish(self, epoch: int, now: float) -> None:
        wish = read_wish(self._store)
        if wish is None:
            return
        names = [shard_name(number) for number in range(wish.shards)]
        with self._lock:
            if self._grants is None or self._grants.leader != epoch:
                self._begin_to_lead(epoch, names, wish, now)
            elif wish != self._wish:
                self._grants.budget, self._grants.burst = wish.budget, wish.burst
                self._members.want(names, now)
            self._wish, self._count_at = wish, now
            if not wish.shards:
                self._ending = self._ending or now
            else:
                self._ending = None

    def _begin_to_lead(self, epoch: int, names: list[str], wish: Wish, now: float) -> None:
        self._log.info("coordinating", epoch=epoch, shards=wish.shards)
        self._grants = Grants(
            wish.budget,
            wish.burst,
            leader=epoch,
            now=self._steady(),
            seconds=GRANT_S,
            cold_start=self._cold_start,
            vacant_s=self._leader_lease.vacant_s,
        )
        self._members, self._pool = Members(names, now), Pool()
        self._since = now
        self._priced = (now, 0, 0.0, 0)
        self._sums = [0, 0.0, 0]
        self._messages = self._bytes = 0

    def _place(self) -> None:
        while found := self._store.unplaced(PLACE_AT_ONCE):
            self._store.place([(id, url, bucket_of(url)) for id, url in found])
            if len(found) < PLACE_AT_ONCE:
                break

    def _start_and_end_shards(self, now: float) -> None:
        """Start the shards that are missing, end those that are too many and have nothing left."""
        running = self._launcher.running()
        if self._ending is None:
            for name in self._members.wanted:
                if name not in running:
                    self._launcher.start(name)
        with self._lock:
            done = self._members.surplus(now)
            unheard = [
                name for name in running if name not in self._members.wanted and self._members.entry(name) is None
            ]
        self._end({*done, *unheard})
        if self._ending is not None and (not running or now - self._ending > WIND_DOWN_S):
            self._end(running)
            self.finished = True

    def _end(self, names: set[str]) -> None:
        if not names:
            return
        self._launcher.end(names)
        with self._lock:
            for name in names:
                self._members.forget(name)

    @property
    def leading(self) -> bool:
        """Whether it is the one that coordinates."""
        return bool(self._leader_lease.epoch) and not self._trouble

    def leave(self) -> None:
        """Let another have the lease at once."""
        self._leader_lease.leave()

    # -- the status

    def _write_status(self, now: float) -> None:
        status = self.status(now)
        write_status(self._store, status)
        at, requests, captured, failed = self._priced
        if now - at < PRICE_S:
            return
        with self._lock:
            sums = (int(self._sums[0]), float(self._sums[1]), int(self._sums[2]))
        self._priced = (now, *sums)
        price = Price(
            at=now,
            price=math.nan if status.price is None else status.price,
            budget=status.budget,
            requests=sums[0] - requests,
            captured=sums[1] - captured,
            errors=sums[2] - failed,
        )
        self._store.commit(Batch(price=price))

    def status(self, now: float) -> FleetStatus:
        """The fleet as it is known here."""
        with self._lock:
            grants, wish = self._grants, self._wish
            assert grants is not None
            assert wish is not None
            entries = [(name, self._members.entry(name)) for name in self._members.names()]
            lines = [self._line(name, entry, now) for name, entry in entries]
            return FleetStatus(
                at=now,
                since=self._since,
                leader=self.name,
                leader_epoch=grants.leader,
                budget=grants.budget,
                burst=grants.burst,
                price=finite(grants.price),
                spend=sum(line.spend for line in lines),
                wanted=wish.shards,
                buckets=BUCKETS,
                held=sum(line.buckets for line in lines if line.state != "silent"),
                messages=self._messages,
                bytes=self._bytes,
                shards=lines,
                trouble=self._trouble,
                ended=self.finished,
            )

    def _line(self, name: str, entry: Member | None, now: float) -> ShardLine:
        if entry is None:
            return ShardLine(name=name, state="joining")
        report = entry.report
        return ShardLine(
            name=name,
            state=self._state(name, entry, now),
            node=report.node,
            pid=report.pid,
            heard_s=now - entry.heard,
            rate=report.rate,
            spend=entry.spend() if self._members.present(name, now) else 0.0,
            demand=report.demand,
            own_price=finite(report.own_price),
            lag_s=report.backlog / report.rate if report.rate > 0.0 else None,
            sources=report.sources,
            hosts=report.hosts,
            buckets=report.buckets,
            newcomers=report.newcomers,
            requests=report.requests,
            captured=report.captured,
            failed=report.failed,
            trouble=report.trouble,
        )

    def _state(self, name: str, entry: Member, now: float) -> str:
        if not self._members.present(name, now):
            return "silent"
        if name not in self._members.wanted or self._ending is not None:
            return "leaving"
        if entry.report.trouble:
            return "waiting"
        return "working" if entry.report.buckets else "joining"
