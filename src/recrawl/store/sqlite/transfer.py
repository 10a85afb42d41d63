"""Export and import of a store in SQLite (`recrawl.store.transfer`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from recrawl.store.sqlite.database import Database
from recrawl.store.transfer import AT_ONCE, MARKS, TABLES, Row, listed

_WAIT_S = 30.0
_ORDERS = {"tags": "tag, source", "dropped": "source, key"}


@contextmanager
def exporting(path: Path) -> Iterator[SqliteExport]:
    """One moment of the store, on a connection of its own."""
    database = Database(path, read_only=True, timeout_s=_WAIT_S)
    try:
        with database.reading() as connection:
            connection.execute("BEGIN")
            try:
                yield SqliteExport(connection)
            finally:
                connection.execute("ROLLBACK")
    finally:
        database.close()


@contextmanager
def importing(path: Path) -> Iterator[SqliteImport]:
    """One transaction."""
    database = Database(path, read_only=False, timeout_s=_WAIT_S)
    try:
        with database.writing() as connection:
            yield SqliteImport(connection)
    finally:
        database.close()


class SqliteExport:
    """Reads a store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def count(self, table: str) -> int:
        """How many rows."""
        return int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        """All rows, some at a time."""
        order = _ORDERS.get(table, "rowid")
        cursor = self._connection.execute(f"SELECT {listed(table)} FROM {table} ORDER BY {order}")
        while rows := cursor.fetchmany(AT_ONCE):
            yield rows

    def marks(self) -> dict[str, int]:
        """The last numbers given."""
        given = dict(self._connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
        revision = self._connection.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()[0]
        return {name: int(given.get(name, 0)) for name in MARKS} | {"revision": int(revision)}

    def shared(self) -> bytes | None:
        """The learner's record."""
        row = self._connection.execute("SELECT value FROM meta WHERE name = 'shared'").fetchone()
        return row[0] if row else None


class SqliteImport:
    """Fills a store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def is_empty(self) -> bool:
        """Whether nothing was ever written to it."""
        revision = self._connection.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()[0]
        looks = (self._connection.execute(f"SELECT EXISTS (SELECT 1 FROM {table})").fetchone()[0] for table in TABLES)
        return not revision and not any(looks)

    def fill(self, table: str, rows: Sequence[Row]) -> None:
        """Take in rows."""
        statement = f"INSERT INTO {table} ({listed(table)}) VALUES ({', '.join('?' * len(TABLES[table]))})"
        self._connection.executemany(statement, rows)

    def finish(self, marks: Mapping[str, int], shared: bytes | None) -> None:
        """Go on counting where the other store was, and index the words."""
        self._connection.execute("UPDATE meta SET value = ? WHERE name = 'revision'", (marks["revision"],))
        if shared is not None:
            self._connection.execute("INSERT INTO meta VALUES ('shared', ?)", (shared,))
        for name in MARKS:
            if name != "revision":
                self._connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
                self._connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (name, marks[name]))
        self._connection.execute("INSERT INTO items_text (items_text) VALUES ('rebuild')")
