"""The coordinator: hears every shard once a second, answers with price and allowance, and keeps house.

Housekeeping, once a second: stay in office, look what people want, place new sources, start and end shards, write the
board and, now and then, the price history. Reports are answered by whichever thread they come in on, from memory alone:
a slow store delays no grant. Without the office nothing is granted.
"""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import msgspec
import structlog

from recrawl.cluster import board as boards
from recrawl.cluster.board import Board, ShardLine, Wish, finite
from recrawl.cluster.messages import Grant, Report, roll_of
from recrawl.cluster.office import Leases, Office
from recrawl.cluster.placing import BUCKETS, bucket_of
from recrawl.cluster.pooling import Pool, packed
from recrawl.cluster.roll import SILENT_S, Entry, Roll, shard_name
from recrawl.cluster.treasury import Treasury
from recrawl.errors import StoreError
from recrawl.store.base import Batch, Price

GRANT_S = 12.0
"""For how long a grant holds: how long shards go on without a coordinator."""
CALL_S = 0.5
"""Time between two calls of the roll."""
PLACE_AT_ONCE = 5000
PRICE_S = 10.0
"""Time between two lines of the price history."""
WIND_DOWN_S = 30.0
"""How long shards may take to hand in what they have when the fleet is ended."""


class Hands(Protocol):
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


class Ledger(boards.Notes, Leases, Protocol):
    """The part of the store that a coordinator needs."""

    def claimed(self) -> str | None:
        """Who crawls alone, in words."""
        ...

    def unplaced(self, limit: int) -> list[tuple[int, str]]:
        """Sources without a bucket."""
        ...

    def place(self, placed: Sequence[tuple[int, str, int]]) -> None:
        """Put sources into buckets: id, the URL it is for, bucket."""
        ...

    def commit(self, batch: Batch) -> None:
        """Write the price history."""
        ...


class Coordinator:
    """One candidate for the office, and its work while it holds it.

    Parameters
        now: Unix seconds, never running backwards
        cold_start: share of the budget kept for sources never crawled
        steady: seconds that nobody can set forwards, by which grants run out; by default `now`
    """

    def __init__(
        self,
        store: Ledger,
        hands: Hands,
        now: Callable[[], float],
        cold_start: float = 0.5,
        steady: Callable[[], float] | None = None,
    ) -> None:
        self._store, self._hands, self._now, self._cold_start = store, hands, now, cold_start
        self._steady = steady or now
        self.name = f"process {os.getpid()} on {socket.gethostname()}"
        self._office = Office(store, self.name, now)
        self._lock = threading.Lock()
        self._treasury: Treasury | None = None
        self._roll, self._pool = Roll((), now()), Pool()
        self._wish: Wish | None = None
        self._since = now()
        self._sums = [0, 0.0, 0]
        self._priced = (now(), 0, 0.0, 0)
        self._messages = self._bytes = 0
        self._ending: float | None = None
        self._call_at = now()
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
            now, treasury = self._now(), self._treasury
            if treasury is None or self._office.epoch != treasury.leader:
                return b""
            gained = self._roll.hear(report, now)
            self._sums = [
                self._sums[0] + gained.requests,
                self._sums[1] + gained.captured,
                self._sums[2] + gained.failed,
            ]
            members, roll = self._called(now)
            grant = treasury.hear(report, self._steady(), members)
            if members and report.roll == roll:
                grant.members = None
            self._exchange(report, grant, members, now)
            answer = msgspec.msgpack.encode(grant)
            self._messages += 2
            self._bytes += len(message) + len(answer)
            return answer

    def _exchange(self, report: Report, grant: Grant, members: tuple[str, ...], now: float) -> None:
        """Take down what a member knows in common with the others, and tell it what they know."""
        entry, pool = self._roll.entry(report.shard), self._pool
        if report.shard not in members or entry is None or entry.report.life != report.life:
            return
        pool.keep(members)
        if not report.summary:
            grant.asks = not pool.told(report.shard, report.life)
        elif not pool.hear(report.shard, report.life, report.summary):
            self._log.warning("a summary cannot be used: is it of another version?", shard=report.shard)
        elif pool.complete(members) or now - self._since >= SILENT_S:
            grant.others = packed(pool.others(report.shard))

    def _called(self, now: float) -> tuple[tuple[str, ...], int]:
        """The members, and the number of their roll; called anew now and then, not for every report of a thousand.

        Nobody shares the buckets of a fleet that is being ended.
        """
        if self._ending is not None:
            return (), 0
        if now >= self._call_at:
            members = self._roll.members(now)
            self._call_at, self._answered = now + CALL_S, (members, roll_of(members))
        return self._answered

    # -- keeping house

    def round(self) -> None:
        """Everything that is to be done once a second. What fails is done the next time."""
        try:
            self._trouble = self._refused_by()
            epoch = self._office.keep()
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
        self._heed_wish(epoch, now)
        if self._wish is None:
            return
        self._place()
        self._staff(now)
        self._write_down(now)

    def _heed_wish(self, epoch: int, now: float) -> None:
        wish = boards.read_wish(self._store)
        if wish is None:
            return
        names = [shard_name(number) for number in range(wish.shards)]
        with self._lock:
            if self._treasury is None or self._treasury.leader != epoch:
                self._take_office(epoch, names, wish, now)
            elif wish != self._wish:
                self._treasury.budget, self._treasury.burst = wish.budget, wish.burst
                self._roll.want(names, now)
            self._wish, self._call_at = wish, now
            if not wish.shards:
                self._ending = self._ending or now
            else:
                self._ending = None

    def _take_office(self, epoch: int, names: list[str], wish: Wish, now: float) -> None:
        self._log.info("coordinating", epoch=epoch, shards=wish.shards)
        self._treasury = Treasury(
            wish.budget,
            wish.burst,
            leader=epoch,
            now=self._steady(),
            seconds=GRANT_S,
            cold_start=self._cold_start,
            vacant_s=self._office.vacant_s,
        )
        self._roll, self._pool = Roll(names, now), Pool()
        self._since = now
        self._priced = (now, 0, 0.0, 0)
        self._sums = [0, 0.0, 0]
        self._messages = self._bytes = 0

    def _place(self) -> None:
        while found := self._store.unplaced(PLACE_AT_ONCE):
            self._store.place([(id, url, bucket_of(url)) for id, url in found])
            if len(found) < PLACE_AT_ONCE:
                break

    def _staff(self, now: float) -> None:
        """Start the shards that are missing, end those that are too many and have nothing left."""
        running = self._hands.running()
        if self._ending is None:
            for name in self._roll.wanted:
                if name not in running:
                    self._hands.start(name)
        with self._lock:
            done = self._roll.surplus(now)
            unheard = [name for name in running if name not in self._roll.wanted and self._roll.entry(name) is None]
        self._end({*done, *unheard})
        if self._ending is not None and (not running or now - self._ending > WIND_DOWN_S):
            self._end(running)
            self.finished = True

    def _end(self, names: set[str]) -> None:
        if not names:
            return
        self._hands.end(names)
        with self._lock:
            for name in names:
                self._roll.forget(name)

    @property
    def in_office(self) -> bool:
        """Whether it is the one that coordinates."""
        return bool(self._office.epoch) and not self._trouble

    def leave(self) -> None:
        """Let another have the office at once."""
        self._office.leave()

    # -- writing down

    def _write_down(self, now: float) -> None:
        board = self.board(now)
        boards.write_board(self._store, board)
        at, requests, captured, failed = self._priced
        if now - at < PRICE_S:
            return
        with self._lock:
            sums = (int(self._sums[0]), float(self._sums[1]), int(self._sums[2]))
        self._priced = (now, *sums)
        price = Price(
            at=now,
            price=math.nan if board.price is None else board.price,
            budget=board.budget,
            requests=sums[0] - requests,
            captured=sums[1] - captured,
            errors=sums[2] - failed,
        )
        self._store.commit(Batch(price=price))

    def board(self, now: float) -> Board:
        """The fleet as it is known here."""
        with self._lock:
            treasury, wish = self._treasury, self._wish
            assert treasury is not None
            assert wish is not None
            entries = [(name, self._roll.entry(name)) for name in self._roll.names()]
            lines = [self._line(name, entry, now) for name, entry in entries]
            return Board(
                at=now,
                since=self._since,
                leader=self.name,
                leader_epoch=treasury.leader,
                budget=treasury.budget,
                burst=treasury.burst,
                price=finite(treasury.price),
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

    def _line(self, name: str, entry: Entry | None, now: float) -> ShardLine:
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
            spend=entry.spend() if self._roll.present(name, now) else 0.0,
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

    def _state(self, name: str, entry: Entry, now: float) -> str:
        if not self._roll.present(name, now):
            return "silent"
        if name not in self._roll.wanted or self._ending is not None:
            return "leaving"
        if entry.report.trouble:
            return "waiting"
        return "working" if entry.report.buckets else "joining"
