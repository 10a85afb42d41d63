"""Export and import of a store in PostgreSQL (`recrawl.store.transfer`). Rows go in by COPY."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

from recrawl.store.postgres.connection import PostgresConnection, PostgresPool
from recrawl.store.postgres.rows import Table, columns_of, digest
from recrawl.store.postgres.search_words import vector
from recrawl.store.records import Item
from recrawl.store.transfer import AT_ONCE, MARKS, TABLES, Row, listed

_ITEMS = Table(Item, more={"words": "varchar"})
_INSERT_ITEMS = f"INSERT INTO items ({_ITEMS.names}) " + _ITEMS.given.replace(
    '"words" FROM', '"words"::text::tsvector FROM'
)
# The text of each table whose digest stands beside it.
_NAMED = {"sources": "url", "tags": "tag", "holds": "host", "robots": "origin", "outlets": "name"}
_ORDERS = {
    "tags": "tag, source",
    "removed": "source",
    "progress": "source",
    "contents": "item",
    "articles": "item",
    "dropped": "source, key",
    "restless": "source",
    "numbers": "source",
    "reader_sources": "reader, source",
    "reader_items": "reader, item",
    "reader_labels": "reader, label, item",
    "brought": "source",
    "subscriptions": "token",
    "holds": "host",
    "robots": "origin",
    "events": "seq",
    "outlets": "name",
    "notes": "name",
}
_COUNTED = ("revision", "clicks", "signals", "events")


@contextmanager
def exporting(connections: PostgresPool) -> Iterator[PostgresExport]:
    """One moment of the store, on a connection of its own."""
    with _connected(connections) as connection:
        connection.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield PostgresExport(connection)


@contextmanager
def importing(connections: PostgresPool) -> Iterator[PostgresImport]:
    """One transaction; the server learns about its new tables afterwards."""
    with _connected(connections) as connection:
        yield PostgresImport(connection)
    connections.alone(lambda connection: connection.run("ANALYZE"))


@contextmanager
def _connected(connections: PostgresPool) -> Iterator[PostgresConnection]:
    with connections.open(), closing(connections.connect()) as connection, connection.transaction():
        yield connection


class PostgresExport:
    """Reads a store."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    def count(self, table: str) -> int:
        """How many rows."""
        return int(self._connection.fetchval(f"SELECT count(*) FROM {table}"))

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        """All rows, some at a time."""
        statement = f"SELECT {listed(table)} FROM {table} ORDER BY {_ORDERS.get(table, 'id')}"
        with self._connection.cursor(table, binary=True) as cursor:
            cursor.execute(statement)
            while rows := cursor.fetchmany(AT_ONCE):
                yield rows

    def marks(self) -> dict[str, int]:
        """The last numbers given."""
        counted: dict[str, int] = dict(self._connection.fetch("SELECT name, value FROM counters"))
        for name in MARKS:
            if name not in _COUNTED:
                last, called = self._connection.fetchrow(f"SELECT last_value, is_called FROM {name}_id_seq")
                counted[name] = last if called else 0
        return counted

    def shared(self) -> bytes | None:
        """The learner's record."""
        return self._connection.fetchval("SELECT value FROM meta WHERE name = 'shared'")


class PostgresImport:
    """Fills a store."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    def is_empty(self) -> bool:
        """Whether nothing was ever written to it."""
        looks = " OR ".join(f"EXISTS (SELECT 1 FROM {table})" for table in TABLES)
        statement = f"SELECT {looks} OR EXISTS (SELECT 1 FROM counters WHERE value > 0)"
        return not self._connection.fetchval(statement)

    def fill(self, table: str, rows: Sequence[Row]) -> None:
        """Take in rows."""
        columns = TABLES[table]
        if table == "items":
            title, summary = columns.index("title"), columns.index("summary")
            words = [vector(row[title], row[summary]) for row in rows]
            self._connection.run(_INSERT_ITEMS, *columns_of(rows, 0), words)
            return
        if table == "crawls":
            place = columns.index("censored")
            rows = [(*row[:place], bool(row[place]), *row[place + 1 :]) for row in rows]
        if table in _NAMED:
            place = columns.index(_NAMED[table])
            rows = [(*row, digest(row[place])) for row in rows]
            columns = (*columns, "digest")
        self._copy(table, ", ".join(f'"{name}"' for name in columns), rows)

    def _copy(self, table: str, columns: str, rows: Iterable[Row]) -> None:
        looked = self._connection.execute(f"SELECT {columns} FROM {table} LIMIT 0").description or ()
        with self._connection.cursor().copy(f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types([column.type_code for column in looked])
            for row in rows:
                copy.write_row(row)

    def finish(self, marks: Mapping[str, int], shared: bytes | None) -> None:
        """Go on counting where the other store was."""
        if shared is not None:
            self._connection.run("INSERT INTO meta VALUES ('shared', $1)", shared)
        for name in _COUNTED:
            self._connection.run("UPDATE counters SET value = $2 WHERE name = $1", name, marks[name])
        for table in ("sources", "crawls", "items", "versions", "prices", "readers"):
            statement = f"SELECT setval('{table}_id_seq', greatest($1, (SELECT max(id) FROM {table}), 1))"
            if marks.get(table) or self._connection.fetchval(f"SELECT EXISTS (SELECT 1 FROM {table})"):
                self._connection.run(statement, marks.get(table, 0))
