"""Who may write: claims that die with a connection, leases that run out, and the epochs that fence off the past.

Every scope has an epoch that grows when its owner changes. A writer names the epochs it was given; the batch's own
transaction checks them and holds the rows until it commits. A change of owner waits for such a batch, and every batch
after it that comes with the old epoch is refused: nobody who was replaced, paused or cut off can write any more,
whatever it believes and whatever its clock says.

The scope of the whole store is the empty one. Its owner also holds an advisory lock on a connection of its own, which
the server lets go when the process or the connection dies.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping
from itertools import starmap

import psycopg

from recrawl.errors import StoreError, StoreTakenError
from recrawl.store.claimant import claimant
from recrawl.store.postgres.connection import PostgresConnection, PostgresPool
from recrawl.store.postgres.role import PostgresRole
from recrawl.store.postgres.rows import columns_of
from recrawl.store.records import Lease

WHOLE = ""
_PATIENCE = "SET lock_timeout = '500ms'"
_SIGN = """
INSERT INTO owners AS old (scope, epoch, owner, pid, host, since) VALUES ($1, 1, $2, $3, $4, $5)
ON CONFLICT (scope) DO UPDATE SET epoch = old.epoch + 1, owner = $2, pid = $3, host = $4, since = $5, until = NULL
RETURNING epoch
"""
_HELD = """
SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
AND mode = 'ExclusiveLock' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND classid::bigint = ($1::bigint >> 32) & 4294967295 AND objid::bigint = $1::bigint & 4294967295)
"""
# Scope and epoch are a key: only those who change an epoch wait for this lock, renewals do not. Rows are locked in one
# order by everybody.
_CHECK = """
SELECT owners.scope FROM owners JOIN unnest($1::varchar[], $2::bigint[]) AS mine (scope, epoch)
ON owners.scope = mine.scope AND owners.epoch = mine.epoch ORDER BY owners.scope FOR KEY SHARE OF owners
"""
_NOW = "extract(epoch FROM clock_timestamp())"
# Of two who bring the same new scope at one moment, one finds that it is there. Not "ON CONFLICT (scope)": that looks
# at one key only, and the loser of the race fails on the other.
_NEW = f"""
INSERT INTO owners (scope, epoch, owner, pid, host, since)
SELECT scope, 0, $2, $3, $4, {_NOW} FROM unnest($1::varchar[]) AS wanted (scope)
WHERE NOT EXISTS (SELECT 1 FROM owners WHERE owners.scope = wanted.scope) ORDER BY scope ON CONFLICT DO NOTHING
"""
# Those that are owned are not even touched: their owners' batches shall not wait for somebody who gets nothing.
_LEASE = f"""
WITH free AS (
    SELECT scope FROM owners WHERE scope = ANY($1::varchar[]) AND (until IS NULL OR until < {_NOW})
    ORDER BY scope FOR UPDATE
)
UPDATE owners SET
    epoch = owners.epoch + 1, owner = $2, pid = $3, host = $4, since = {_NOW}, until = {_NOW} + $5
FROM free WHERE owners.scope = free.scope RETURNING owners.scope, owners.epoch
"""
_RENEW = f"""
WITH mine AS (
    SELECT owners.scope FROM owners JOIN unnest($1::varchar[], $2::bigint[]) AS given (scope, epoch)
    ON owners.scope = given.scope AND owners.epoch = given.epoch ORDER BY owners.scope FOR NO KEY UPDATE OF owners
)
UPDATE owners SET until = {_NOW} + $3 FROM mine WHERE owners.scope = mine.scope RETURNING owners.scope
"""
# Not long ago: whoever follows may have to know since when it was nobody's.
_LET_GO = f"""
WITH mine AS (
    SELECT owners.scope FROM owners JOIN unnest($1::varchar[], $2::bigint[]) AS given (scope, epoch)
    ON owners.scope = given.scope AND owners.epoch = given.epoch ORDER BY owners.scope FOR NO KEY UPDATE OF owners
)
UPDATE owners SET until = least(until, {_NOW}) FROM mine WHERE owners.scope = mine.scope
"""
_LEASES = f"""
SELECT scope, epoch, owner, CAST(until - {_NOW} AS double precision)
FROM owners WHERE scope <> '' AND starts_with(scope, $1) ORDER BY scope
"""
# Whoever held a lease that has run out shall not renew it while the whole store is somebody's.
_END_ALL = "UPDATE owners SET epoch = epoch + 1 WHERE scope <> ''"


def check(connection: PostgresConnection, epochs: Mapping[str, int]) -> None:
    """Refuse to go on unless every scope is still owned under the epoch named; they stay so until the commit."""
    if not epochs:
        return
    kept = {row[0] for row in connection.fetch(_CHECK, *columns_of(list(epochs.items()), 2))}
    for scope in epochs:
        if scope not in kept:
            of = f"of {scope!r} " if scope else ""
            raise StoreTakenError(f"the ownership {of}passed to {signed(connection, scope)}: nothing was written")


def signed(connection: PostgresConnection, scope: str = WHOLE) -> str:
    """Who signed last, in words."""
    row = connection.fetchrow("SELECT owner, pid, host, since FROM owners WHERE scope = $1", scope)
    if row is None:
        return "another program"
    return claimant(row[0], row[1], row[2], row[3])


class PostgresLeases(PostgresRole):
    """Who owns parts of a store in PostgreSQL."""

    def lease(self, scopes: Iterable[str], owner: str, seconds: float) -> dict[str, int]:
        """Become the owner of those scopes nobody owns now, for a time by the server's clock: their epochs.

        StoreError while the whole store is claimed.
        """
        given = (sorted(set(scopes)), owner, os.getpid(), socket.gethostname())
        lock = self._connections.address.lock("claim")

        def leased(connection: PostgresConnection) -> dict[str, int]:
            if not connection.fetchval("SELECT pg_try_advisory_xact_lock_shared($1)", lock):
                raise StoreError(f"the store is being crawled by {signed(connection)}: stop that one first")
            connection.run(_NEW, *given)
            return {row[0]: row[1] for row in connection.fetch(_LEASE, *given, seconds)}

        return self._connections.writing(leased)

    def renew(self, epochs: Mapping[str, int], seconds: float) -> set[str]:
        """Stay the owner for so long from now: the scopes that did not pass to another meanwhile."""
        named = columns_of(sorted(epochs.items()), 2)
        rows = self._connections.writing(lambda connection: connection.fetch(_RENEW, *named, seconds))
        return {row[0] for row in rows}

    def let_go(self, epochs: Mapping[str, int]) -> None:
        """Give up leases before their time."""
        self._write(_LET_GO, *columns_of(sorted(epochs.items()), 2))

    def leases(self, prefix: str = "") -> list[Lease]:
        """Who owns scopes that begin so, or did last."""
        return [Lease(*row) for row in self._fetch(_LEASES, prefix)]

    def live_leases(self) -> int:
        """How many scopes are owned now."""
        return sum(lease.left_s > 0.0 for lease in self.leases())


class Claim:
    """The claim on the whole store: an advisory lock on a connection of its own, and the epoch it was signed under."""

    def __init__(self, connections: PostgresPool) -> None:
        self._connections = connections
        self._lock = connections.address.lock("claim")
        self._connection: PostgresConnection
        self._epoch: int | None = None

    @property
    def epochs(self) -> dict[str, int]:
        """What a batch has to be checked for."""
        return {} if self._epoch is None else {WHOLE: self._epoch}

    def take(self, owner: str, now: float) -> None:
        """Get the lock and sign; StoreError naming the other if one is alive."""
        if self._epoch is None or self._connection.lost:
            self._take_lock()
        given = (WHOLE, owner, os.getpid(), socket.gethostname(), now)
        try:
            self._epoch = self._connection.fetchval(_SIGN, *given)
        except BaseException:
            self._forget()
            raise

    def _take_lock(self) -> None:
        connection = self._connections.connect()
        try:
            connection.run(_PATIENCE)
            try:
                connection.run("SELECT pg_advisory_lock($1)", self._lock)
            except psycopg.errors.LockNotAvailable:
                who = signed(connection)
                raise StoreError(
                    f"{self._connections.address.name} is being crawled by {who}: stop that one first"
                ) from None
            self._refuse_a_fleet(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _refuse_a_fleet(self, connection: PostgresConnection) -> None:
        """Nobody gets a lease from now on (`lease` asks for the lock); those that ended must stay so."""
        living = [lease for lease in starmap(Lease, connection.fetch(_LEASES, "")) if lease.left_s > 0.0]
        if living:
            # The server notices the end of a connection a moment later: the fleet would get no lease meanwhile.
            connection.run("SELECT pg_advisory_unlock_all()")
            raise StoreError(
                f"{self._connections.address.name} is being crawled by a fleet "
                f"({living[0].owner} has {living[0].scope}): recrawl cluster down first"
            )
        connection.run(_END_ALL)

    def keep(self) -> None:
        """Get a lost lock again; the epoch tells whether anybody was quicker."""
        if self._epoch is not None and self._connection.lost:
            self._take_lock()

    def held(self, connection: PostgresConnection) -> str | None:
        """Who holds the lock now, in words."""
        return signed(connection) if connection.fetchval(_HELD, self._lock) else None

    def release(self) -> None:
        """Let go of the lock; the epoch stays, so that the next owner has another."""
        if self._epoch is None:
            return
        try:
            if not self._connection.lost:
                self._connection.run("SELECT pg_advisory_unlock_all()")
        except psycopg.OperationalError:
            pass  # then the lock is gone with the connection
        finally:
            self._forget()

    def _forget(self) -> None:
        self._epoch = None
        self._connection.close()
