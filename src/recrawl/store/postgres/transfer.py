"""The way out of a store in PostgreSQL, and the way in (`recrawl.store.transfer`). Rows go in by COPY."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from recrawl.store.base import Item
from recrawl.store.postgres.link import Link
from recrawl.store.postgres.rows import Table, digest
from recrawl.store.postgres.words import vector
from recrawl.store.transfer import AT_ONCE, MARKS, TABLES, Row

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
    "dropped": "source, key",
    "holds": "host",
    "robots": "origin",
    "events": "seq",
    "outlets": "name",
    "notes": "name",
}
_COUNTED = ("revision", "clicks", "events")


@contextmanager
def outgoing(link: Link) -> Iterator[Leaving]:
    """One moment of the store, on a connection of its own."""
    with _connected(link, isolation="repeatable_read", readonly=True) as connection:
        yield Leaving(link, connection)


@contextmanager
def incoming(link: Link) -> Iterator[Arriving]:
    """One transaction; the server learns about its new tables afterwards."""
    with _connected(link) as connection:
        yield Arriving(link, connection)
    link.alone(lambda connection: connection.execute("ANALYZE"))


@contextmanager
def _connected(link: Link, **kind: Any) -> Iterator[Any]:
    connection = link.run(link.connect())
    try:
        transaction = connection.transaction(**kind)
        link.run(transaction.start())
        yield connection
        link.run(transaction.commit())
    finally:
        link.run(_cut(connection))


async def _cut(connection: Any) -> None:
    connection.terminate()


class Leaving:
    """Reads a store."""

    def __init__(self, link: Link, connection: Any) -> None:
        self._link = link
        self._connection = connection

    def _fetch(self, statement: str) -> list[Any]:
        rows: list[Any] = self._link.run(self._connection.fetch(statement))
        return rows

    def count(self, table: str) -> int:
        """How many rows."""
        return int(self._fetch(f"SELECT count(*) FROM {table}")[0][0])

    def rows(self, table: str) -> Iterator[list[Row]]:
        """All rows, some at a time."""
        statement = f"SELECT {_listed(table)} FROM {table} ORDER BY {_ORDERS.get(table, 'id')}"
        cursor = self._link.run(self._cursor(statement))
        while rows := self._link.run(cursor.fetch(AT_ONCE)):
            yield [tuple(row) for row in rows]

    async def _cursor(self, statement: str) -> Any:
        return await self._connection.cursor(statement)

    def marks(self) -> dict[str, int]:
        """The last numbers given."""
        counted = {row[0]: int(row[1]) for row in self._fetch("SELECT name, value FROM counters")}
        for name in MARKS:
            if name not in _COUNTED:
                row = self._fetch(f"SELECT last_value, is_called FROM {name}_id_seq")[0]
                counted[name] = int(row[0]) if row[1] else 0
        return counted

    def shared(self) -> bytes | None:
        """The learner's record."""
        rows = self._fetch("SELECT value FROM meta WHERE name = 'shared'")
        return rows[0][0] if rows else None


class Arriving:
    """Fills a store."""

    def __init__(self, link: Link, connection: Any) -> None:
        self._link = link
        self._connection = connection

    def is_empty(self) -> bool:
        """Whether nothing was ever written to it."""
        looks = " OR ".join(f"EXISTS (SELECT 1 FROM {table})" for table in TABLES)
        statement = f"SELECT {looks} OR EXISTS (SELECT 1 FROM counters WHERE value > 0)"
        return not self._link.run(self._connection.fetchval(statement))

    def fill(self, table: str, rows: list[Row]) -> None:
        """Take in rows."""
        self._link.run(self._fill(table, rows))

    async def _fill(self, table: str, rows: list[Row]) -> None:
        columns = TABLES[table]
        if table == "items":
            title, summary = columns.index("title"), columns.index("summary")
            words = [vector(row[title], row[summary]) for row in rows]
            await self._connection.execute(_INSERT_ITEMS, *map(list, zip(*rows, strict=True)), words)
            return
        if table == "crawls":
            place = columns.index("censored")
            rows = [(*row[:place], bool(row[place]), *row[place + 1 :]) for row in rows]
        if table in _NAMED:
            place = columns.index(_NAMED[table])
            rows = [(*row, digest(row[place])) for row in rows]
            columns = (*columns, "digest")
        await self._connection.copy_records_to_table(table, records=rows, columns=columns)

    def finish(self, marks: Mapping[str, int], shared: bytes | None) -> None:
        """Go on counting where the other store was."""
        self._link.run(self._finish(marks, shared))

    async def _finish(self, marks: Mapping[str, int], shared: bytes | None) -> None:
        if shared is not None:
            await self._connection.execute("INSERT INTO meta VALUES ('shared', $1)", shared)
        for name in _COUNTED:
            await self._connection.execute("UPDATE counters SET value = $2 WHERE name = $1", name, marks[name])
        for table in ("sources", "crawls", "items", "versions", "prices"):
            statement = f"SELECT setval('{table}_id_seq', greatest($1, (SELECT max(id) FROM {table}), 1))"
            if marks.get(table) or await self._connection.fetchval(f"SELECT EXISTS (SELECT 1 FROM {table})"):
                await self._connection.execute(statement, marks.get(table, 0))


def _listed(table: str) -> str:
    return ", ".join(f'"{name}"' for name in TABLES[table])
