"""The embedded store: one SQLite file, and nothing to set up. `docs/store.md` describes its tables.

A module per role: `catalogue`, `commit` (the crawl log), `items`, `events`, `clicks`, `push`, `readers`, `claim`.
Beside them is what the file needs: `database` (its connections), `wal`, `migrations`, `retention`, `repair`, `backup`,
`permissions`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from recrawl.store.records import Keep, Vacuumed
from recrawl.store.retention import never
from recrawl.store.sqlite import backup, repair, transfer
from recrawl.store.sqlite.catalogue import SqliteCatalogue
from recrawl.store.sqlite.claim import Lock, SqliteClaim
from recrawl.store.sqlite.clicks import SqliteClicks
from recrawl.store.sqlite.commit import SqliteCrawlLog
from recrawl.store.sqlite.database import Database
from recrawl.store.sqlite.events import SqliteEvents
from recrawl.store.sqlite.items import SqliteItems
from recrawl.store.sqlite.push import SqliteSignals, SqliteSubscriptions
from recrawl.store.sqlite.readers import SqliteReaders
from recrawl.store.sqlite.retention import SqliteRetention


class SqliteStore(
    SqliteCatalogue,
    SqliteClaim,
    SqliteCrawlLog,
    SqliteItems,
    SqliteEvents,
    SqliteClicks,
    SqliteSignals,
    SqliteSubscriptions,
    SqliteReaders,
):
    """A :class:`recrawl.store.roles.Store` in one file.

    A commit is durable against the death of the process (kill -9) when it returns. After a power cut the last commits
    may be missing, whole; the file stays sound.

    Parameters
        path: the file, made if it is not there; `path-wal`, `path-shm` and `path.lock` appear beside it
        read_only: never write; a store that is not there is an error
        timeout_s: how long to wait for another program's write before giving up with an error
    """

    def __init__(self, path: str | Path, *, read_only: bool = False, timeout_s: float = 10.0) -> None:
        self.path = Path(path)
        self._database = Database(self.path, read_only=read_only, timeout_s=timeout_s)
        self._lock = Lock(self.path)

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"SqliteStore({str(self.path)!r})"

    def vacuum(self, keep: Keep, now: float, stop: Callable[[], bool] = never) -> Vacuumed:
        """Drop what is past its time, and give the space back. Items of the last listing of a source stay known."""
        return SqliteRetention(self._database, stop).vacuum(keep, now)

    def check(self) -> list[str]:
        """What is wrong with the file; empty if it is sound."""
        return repair.check(self.path)

    def salvage(self, to: str | Path) -> dict[str, int]:
        """Copy what can be read into a new store; how many rows of each table that was."""
        return repair.salvage(self.path, to)

    def backup(self, to: str | Path) -> int:
        """A whole copy of the store as it is now, made while others go on; its size in bytes."""
        return backup.copy(self._database, Path(to))

    def live_leases(self) -> int:
        """How many parts of it are owned by shards of a fleet now: a fleet has no store in a file."""
        return 0

    def exporting(self) -> AbstractContextManager[transfer.SqliteExport]:
        """One moment of it, for `recrawl.store.transfer`."""
        return transfer.exporting(self.path)

    def importing(self) -> AbstractContextManager[transfer.SqliteImport]:
        """A transaction that fills it, for `recrawl.store.transfer`."""
        return transfer.importing(self.path)

    def close(self) -> None:
        """Give up the claim and close the file."""
        try:
            self.release()
        finally:
            self._database.close()
