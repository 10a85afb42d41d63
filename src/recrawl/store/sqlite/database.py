"""One SQLite file: how it is opened, read by many and written by one.

Write-ahead logging lets readers go on while a writer writes. There is one writing connection, behind a lock; readers
take a connection each from a pool, so that threads never share one. With `synchronous = NORMAL` a commit has been
handed to the operating system when it returns: it survives the death of the process (kill -9), while the last few
commits before a power cut may be undone, whole, without harm to the file.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import msgspec

from recrawl.errors import StoreError
from recrawl.store import upgrading
from recrawl.store.sqlite import permissions, wal
from recrawl.store.sqlite.checkpoints import Checkpoints
from recrawl.store.sqlite.error_messages import store_error
from recrawl.store.sqlite.migrations import migrate, steps
from recrawl.store.sqlite.turns import Turns

APPLICATION_ID = 0x7263726C
"""In the file's header, so that a store is told from other databases."""

_SETTINGS = "PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;"
_WRITER_SETTINGS = "PRAGMA synchronous = NORMAL; PRAGMA secure_delete = OFF; PRAGMA cache_size = -65536;"
_PACED_EVERY = 64
"""Writes, after which the length of the log is looked at again."""


class Database:
    """The connections to one store file.

    Parameters
        path: the file; made if it is not there, unless `read_only`
        read_only: never write, not even to bring the schema up to date
        timeout_s: how long to wait for another program's write to end before giving up
    """

    def __init__(self, path: Path, *, read_only: bool, timeout_s: float) -> None:
        self.path = path
        self.read_only = read_only
        self._timeout_s = timeout_s
        self._closed = False
        self._idle: list[sqlite3.Connection] = []
        self._pool = threading.Lock()
        self._writing = Turns()
        self._writes = self._longest_log = 0
        self._is_log_looked_at = True
        self._shares = True
        self._suffix = "?mode=rwc"
        self._checkpoints = Checkpoints(self._connect, self._writing)
        with translated(path):
            self._writer = self._opened()

    def _opened(self) -> sqlite3.Connection:
        _refuse_what_cannot_be_a_store(self.path, self.read_only)
        if self.read_only:
            self._suffix = for_reading(self.path)
        if not self.read_only:
            permissions.create(self.path)
            permissions.shut_out_others(self.path)
        try:
            return self._made_ready(self._connect())
        except sqlite3.Error as error:
            if self.read_only or not wal.no_room_to_share(error, self.path):
                raise
        return self._opened_without_room()

    def _opened_without_room(self) -> sqlite3.Connection:
        """On a full disk: give the log's space back if it fits into the store, else keep others out and be read."""
        alone = wal.connect_alone(self.path, self._timeout_s)
        if wal.empty(alone):
            alone.close()
            return self._made_ready(self._connect())
        self._shares = False
        return self._made_ready(alone)

    def _made_ready(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        try:
            self._recognise(connection)
            connection.executescript(_SETTINGS)
            if not self.read_only:
                self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            f"file:{quote(str(self.path))}{self._suffix}",
            uri=True,
            timeout=self._timeout_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )

    def _recognise(self, connection: sqlite3.Connection) -> None:
        """Look before touching: a file that is not ours, or from the future, is left as it is."""
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        schema = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != APPLICATION_ID and (application or schema or tables or self.read_only):
            raise StoreError(f"{self.path} is a database of another program, not a recrawl store")
        if schema > len(steps()):
            raise StoreError(
                f"{self.path} was written by a newer recrawl (schema {schema}, this one knows {len(steps())}): "
                "upgrade recrawl to open it"
            )
        if self.read_only and schema < len(steps()):
            raise StoreError(
                f"{self.path} was written by an older recrawl (schema {schema}, this one needs {len(steps())}): "
                "open it for writing once to bring it up to date"
            )

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Settings and schema; a store that has them already is opened without waiting for anybody's write."""
        schema = connection.execute("PRAGMA user_version").fetchone()[0]
        if not schema:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(_WRITER_SETTINGS)
        if schema < len(steps()):
            self._upgrade(connection)
        self._longest_log = wal.pace(connection, alone=not self._shares)
        if wal.length(self.path) > 2 * self._longest_log:
            wal.empty(connection)

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        """All steps that are pending in one transaction; another program may have taken them while this one waited."""
        connection.execute("BEGIN IMMEDIATE")
        schema, size = connection.execute("PRAGMA user_version").fetchone()[0], self._size()
        try:
            with _ending(connection):
                upgrading.tell(str(self.path), schema, len(steps()), size)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                migrate(connection)
        except sqlite3.Error as error:
            if not schema or not wal.is_out_of_room(error, self.path):
                raise
            way_out = (
                f"free it, or move {self.path}, with {self.path.name}-wal if there is one, to a larger disk. "
                "The older recrawl can still open it, and make it smaller by `recrawl vacuum`"
            )
            raise upgrading.no_room(str(self.path), schema, len(steps()), size, way_out) from error

    def _size(self) -> int:
        return self.path.stat().st_size + wal.length(self.path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection nobody else is using. It sees everything committed before its statement began."""
        if not self._shares:
            with self.alone() as connection:
                yield connection
            return
        with translated(self.path):
            connection = self._taken()
            try:
                yield connection
            finally:
                self._given_back(connection)

    def _taken(self) -> sqlite3.Connection:
        with self._pool:
            if self._closed:
                raise StoreError(f"{self.path} is closed")
            if self._idle:
                return self._idle.pop()
        connection = self._connect()
        connection.executescript(_SETTINGS + "PRAGMA query_only = ON; PRAGMA cache_size = -16384;")
        return connection

    def _given_back(self, connection: sqlite3.Connection) -> None:
        with self._pool:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    @contextmanager
    def writing(self, *, referring: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction: committed whole at the end of the block, undone whole if an error leaves it.

        Parameters
            referring: whether SQLite looks after references. Not to be left to whoever writes unless that deletes
                nothing and makes sure itself, within the transaction, that all it refers to is there
        """
        with self.alone() as connection:
            try:
                with _referring(connection, referring):
                    connection.execute("BEGIN IMMEDIATE")
                    with _ending(connection):
                        yield connection
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
                    wal.empty(connection)  # which may make room for the next try
                raise
            self._keep_short(connection)

    def _keep_short(self, connection: sqlite3.Connection) -> None:
        """Let the log follow the size of the store; SQLite empties it when it can, and sometimes it never can."""
        self._writes += 1
        if self._writes % _PACED_EVERY == 0:
            self._longest_log = wal.pace(connection, alone=not self._shares)
            self._is_log_looked_at = False
        if not self._is_log_looked_at and not self._checkpoints.are_made:
            self._is_log_looked_at = True
            if wal.length(self.path) > wal.FAR_TOO_LONG * self._longest_log:
                wal.empty(connection)
        if self._shares:
            self._checkpoints.begin(wal.used(self.path), self._longest_log // 2)

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """The writing connection, outside any transaction."""
        with translated(self.path), self._writing:
            if self._closed:
                raise StoreError(f"{self.path} is closed")
            if self.read_only:
                raise StoreError(f"{self.path} was opened for reading only")
            yield self._writer

    def shorten_log(self) -> None:
        """Bring the log into the store while others go on, as far as they allow.

        It is cut to nothing only where that matters, as a commit may wait a second for it: where it is too long, or
        longer than what is left of the disk.
        """
        if self._shares:
            with translated(self.path), suppress(sqlite3.Error), closing(self._connect()) as connection:
                self._checkpoints.make(connection)
        if wal.length(self.path) > min(self._longest_log, wal.room(self.path)):
            with self.alone() as connection:
                wal.empty(connection)

    def close(self) -> None:
        """Close every connection; those in use are closed when they are given back."""
        self._checkpoints.close()
        with self._writing, self._pool:
            if self._closed:
                return
            self._closed = True
            for connection in self._idle:
                connection.close()
            self._idle.clear()
            self._writer.close()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of the database and the file system into ours."""
    try:
        yield
    except (sqlite3.Error, OverflowError, OSError) as error:
        raise store_error(path, error) from error


@contextmanager
def _referring(connection: sqlite3.Connection, wanted: bool) -> Iterator[None]:
    """Only between transactions can it be switched, and all prepared statements are prepared anew then."""
    if wanted:
        yield
        return
    connection.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        connection.execute("PRAGMA foreign_keys = ON")


@contextmanager
def _ending(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk or a failed write may have rolled back already.
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        raise


def _refuse_what_cannot_be_a_store(path: Path, must_exist: bool) -> None:
    if str(path) == ":memory:":
        raise StoreError("a store is a file: give a path")
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a store")
    if not path.exists():
        if must_exist:
            raise StoreError(f"there is no store at {path}")
        if not path.absolute().parent.is_dir():
            raise StoreError(f"there is no folder {path.absolute().parent} to keep a store in")
        return
    if not _is_database(path):
        raise StoreError(
            f"{path} is not a recrawl store, or its beginning is damaged: `recrawl doctor` says what can be saved"
        )


def _is_database(path: Path) -> bool:
    """Whether a file begins as SQLite's do, or is empty.

    SQLite is asked: when a process closes a file, it loses all locks it has on it, and SQLite alone knows of those.
    """
    address = f"file:{quote(str(path))}{for_reading(path)}"
    with closing(sqlite3.connect(address, uri=True, timeout=0.0)) as connection:
        try:
            connection.execute("PRAGMA application_id")
        except sqlite3.Error as error:  # whoever opens it says what else is wrong
            return error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_NOTADB
    return True


def numbers(values: Sequence[int]) -> str:
    """Any amount of integers as one JSON parameter, for `json_each`: no limit on variables applies."""
    return msgspec.json.encode([int(value) for value in values]).decode()


def for_reading(path: Path) -> str:
    """How a store is opened that is only read: as it stands, where the files beside it are not and cannot be made."""
    import os

    possible = Path(f"{path}-wal").exists() or os.access(path.absolute().parent, os.W_OK)
    return "?mode=ro" if possible else "?mode=ro&immutable=1"
