"""The store for teams and fleets: a schema in a PostgreSQL database. `docs/postgres.md` describes it.

A module per role, as in the embedded store: `catalogue`, `commit` (the crawl log), `items`, `events`, `clicks`,
`push`, `readers`; and for fleets `leases`, `buckets` and `slice`, the part of one writer. Beside them is what the
server needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

from recrawl.errors import StoreError
from recrawl.store.postgres import transfer
from recrawl.store.postgres.address import parsed
from recrawl.store.postgres.buckets import PostgresBuckets
from recrawl.store.postgres.catalogue import PostgresCatalogue
from recrawl.store.postgres.clicks import PostgresClicks
from recrawl.store.postgres.commit import Part, PostgresCrawlLog
from recrawl.store.postgres.connection import PostgresPool
from recrawl.store.postgres.events import PostgresEvents
from recrawl.store.postgres.idempotent_commits import IdempotentCommits
from recrawl.store.postgres.items import PostgresItems
from recrawl.store.postgres.leases import Claim, PostgresLeases
from recrawl.store.postgres.migrations import migrate, refuse_older, taken
from recrawl.store.postgres.push import PostgresSignals, PostgresSubscriptions
from recrawl.store.postgres.readers import PostgresReaders
from recrawl.store.postgres.retention import PostgresRetention
from recrawl.store.records import Batch, Keep, Vacuumed
from recrawl.store.retention import never


@dataclass(frozen=True)
class PostgresAccess:
    """How the server is reached: the connections, who has the claim, and which commits may have been written."""

    connections: PostgresPool
    claim: Claim
    commits: IdempotentCommits


class PostgresRoles(
    PostgresCatalogue,
    PostgresCrawlLog,
    PostgresItems,
    PostgresEvents,
    PostgresClicks,
    PostgresSignals,
    PostgresSubscriptions,
    PostgresReaders,
):
    """What a whole store and the part of one writer have in common."""

    def __init__(self, access: PostgresAccess) -> None:
        self.access = access
        self._connections, self._claim, self._commits = access.connections, access.claim, access.commits

    def vacuum(self, keep: Keep, now: float, stop: Callable[[], bool] = never) -> Vacuumed:
        """Drop what is past its time, and give the space back. Items of the last listing of a source stay known."""
        return self._connections.alone(lambda connection: PostgresRetention(connection, stop).vacuum(keep, now))

    def close(self) -> None:
        """Give up the claim and close the connections."""
        try:
            with suppress(StoreError):  # closed already, or away: then the claim is gone as well
                self.release()
        finally:
            self._connections.close()


class PostgresStore(PostgresRoles, PostgresLeases, PostgresBuckets):
    """A :class:`recrawl.store.roles.Store` in a PostgreSQL database.

    A commit is durable when it returns, as far as the server's `synchronous_commit` says. A call that fails because the
    server went away raises StoreError; a later one connects anew.

    Parameters
        url: `postgresql://user@host:port/database?schema=recrawl`, without a password
        read_only: never write; a store that is not there is an error
        timeout_s: how long to wait for the server's answer before giving up with an error
    """

    def __init__(self, url: str, *, read_only: bool = False, timeout_s: float = 60.0) -> None:
        self.address = parsed(url)
        connections = PostgresPool(self.address, read_only=read_only, timeout_s=timeout_s)
        super().__init__(PostgresAccess(connections, Claim(connections), IdempotentCommits(connections)))
        try:
            self._prepare(read_only)
        except BaseException:
            self._connections.close()
            raise

    def _prepare(self, read_only: bool) -> None:
        name, schema = self.address.name, self.address.schema
        if read_only:
            refuse_older(self._connections.reading(lambda connection: taken(connection, name, schema)), name)
        else:
            lock = self.address.lock("migration")
            self._connections.alone(lambda connection: migrate(connection, name, schema, lock))

    def __enter__(self) -> PostgresStore:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PostgresStore({self.address.name!r})"

    def commit(self, batch: Batch, epochs: Mapping[str, int] | None = None) -> None:
        """Write it all, or nothing; durable when it returns.

        What a batch holds of a source that was removed meanwhile is left out. An edit of the catalogue made since the
        crawl read its line is kept: a crawl's own changes (kind, title, note, retirement, move) are applied to it.

        `epochs` names the scopes it writes for, as `lease` gave them: StoreError, and nothing is written, if one of
        them has passed to another. So has every commit of a store that was claimed and lost its claim to another.
        Where the server went away in the middle, the same batch may be given again: it is written once.
        """
        self._commit(batch, Part(batch, epochs or {}))

    def exporting(self) -> AbstractContextManager[transfer.PostgresExport]:
        """One moment of it, for `recrawl.store.transfer`."""
        return transfer.exporting(self._connections)

    def importing(self) -> AbstractContextManager[transfer.PostgresImport]:
        """A transaction that fills it, for `recrawl.store.transfer`."""
        return transfer.importing(self._connections)
