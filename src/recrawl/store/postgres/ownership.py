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
from typing import Any

import asyncpg
import msgspec

from recrawl.errors import StoreError, StoreTakenError
from recrawl.store.claimant import claimant
from recrawl.store.postgres.link import Link
from recrawl.store.postgres.rows import columns_of
from recrawl.store.postgres.trouble import is_away

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
SELECT scope, epoch, owner, until - {_NOW} FROM owners WHERE scope <> '' AND starts_with(scope, $1) ORDER BY scope
"""
# Whoever held a lease that has run out shall not renew it while the whole store is somebody's.
_END_ALL = "UPDATE owners SET epoch = epoch + 1 WHERE scope <> ''"


class Lease(msgspec.Struct):
    """Who owns a scope, or did last, under which epoch, and for how many seconds more; none or less: it has run out."""

    scope: str
    epoch: int
    owner: str
    left_s: float


async def check(connection: Any, epochs: Mapping[str, int]) -> None:
    """Refuse to go on unless every scope is still owned under the epoch named; they stay so until the commit."""
    if not epochs:
        return
    kept = {row[0] for row in await connection.fetch(_CHECK, *columns_of(list(epochs.items()), 2))}
    for scope in epochs:
        if scope not in kept:
            of = f"of {scope!r} " if scope else ""
            raise StoreTakenError(f"the ownership {of}passed to {await signed(connection, scope)}: nothing was written")


async def signed(connection: Any, scope: str = WHOLE) -> str:
    """Who signed last, in words."""
    row = await connection.fetchrow("SELECT owner, pid, host, since FROM owners WHERE scope = $1", scope)
    if row is None:
        return "another program"
    return claimant(row[0], row[1], row[2], row[3])


async def lease(connection: Any, scopes: Iterable[str], owner: str, seconds: float, lock: int) -> dict[str, int]:
    """Those of the scopes that were free, with their new epochs; none while the whole store (`lock`) is claimed."""
    if not await connection.fetchval("SELECT pg_try_advisory_xact_lock_shared($1)", lock):
        raise StoreError(f"the store is being crawled by {await signed(connection)}: stop that one first")
    given = (sorted(set(scopes)), owner, os.getpid(), socket.gethostname())
    await connection.execute(_NEW, *given)
    return {row[0]: row[1] for row in await connection.fetch(_LEASE, *given, seconds)}


async def renew(connection: Any, epochs: Mapping[str, int], seconds: float) -> set[str]:
    """Those of the scopes still owned, for so long from now."""
    return {row[0] for row in await connection.fetch(_RENEW, *columns_of(sorted(epochs.items()), 2), seconds)}


async def let_go(connection: Any, epochs: Mapping[str, int]) -> None:
    """Give up leases."""
    await connection.execute(_LET_GO, *columns_of(sorted(epochs.items()), 2))


async def leases(connection: Any, prefix: str) -> list[Lease]:
    """Of scopes that begin so, run out or not."""
    return [Lease(row[0], row[1], row[2], float(row[3])) for row in await connection.fetch(_LEASES, prefix)]


class Claim:
    """The claim on the whole store: an advisory lock on a connection of its own, and the epoch it was signed under."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = link.address.lock("claim")
        self._connection: Any = None
        self._epoch: int | None = None

    @property
    def epochs(self) -> dict[str, int]:
        """What a batch has to be checked for."""
        return {} if self._epoch is None else {WHOLE: self._epoch}

    async def take(self, owner: str, now: float) -> None:
        """Get the lock and sign; StoreError naming the other if one is alive."""
        if self._epoch is None or self._connection.is_closed():
            await self._take_lock()
        given = (WHOLE, owner, os.getpid(), socket.gethostname(), now)
        try:
            self._epoch = await self._connection.fetchval(_SIGN, *given)
        except BaseException:
            self._forget()
            raise

    async def _take_lock(self) -> None:
        connection = await self._link.connect()
        try:
            await connection.execute(_PATIENCE)
            try:
                await connection.execute("SELECT pg_advisory_lock($1)", self._lock)
            except asyncpg.LockNotAvailableError:
                who = await signed(connection)
                raise StoreError(f"{self._link.address.name} is being crawled by {who}: stop that one first") from None
            await self._refuse_a_fleet(connection)
        except BaseException:
            connection.terminate()
            raise
        self._connection = connection

    async def _refuse_a_fleet(self, connection: Any) -> None:
        """Nobody gets a lease from now on (`lease` asks for the lock); those that ended must stay so."""
        living = [lease for lease in await leases(connection, "") if lease.left_s > 0.0]
        if living:
            # The server notices the end of a connection a moment later: the fleet would get no lease meanwhile.
            await connection.execute("SELECT pg_advisory_unlock_all()")
            raise StoreError(
                f"{self._link.address.name} is being crawled by a fleet ({living[0].owner} has {living[0].scope}): "
                "recrawl cluster down first"
            )
        await connection.execute(_END_ALL)

    @property
    def lost(self) -> bool:
        """Whether the server or the network cut the connection that held the lock."""
        return self._epoch is not None and bool(self._connection.is_closed())

    async def keep(self) -> None:
        """Get a lost lock again; the epoch tells whether anybody was quicker."""
        if self.lost:
            await self._take_lock()

    async def held(self, connection: Any) -> str | None:
        """Who holds the lock now, in words."""
        return await signed(connection) if await connection.fetchval(_HELD, self._lock) else None

    async def release(self) -> None:
        """Let go of the lock; the epoch stays, so that the next owner has another."""
        if self._epoch is None:
            return
        connection, self._epoch = self._connection, None
        try:
            if not connection.is_closed():
                await connection.execute("SELECT pg_advisory_unlock_all()")
        except Exception as error:
            if not is_away(error):  # then the lock is gone with the connection
                raise
        finally:
            self._forget()

    def _forget(self) -> None:
        self._epoch = None
        if self._connection is not None:
            self._connection.terminate()
