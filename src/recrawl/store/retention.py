"""Dropping what is past its time, a few thousand rows per transaction, so that a running crawler is not kept waiting.

An item that its source still lists when retention drops it leaves its key behind (table `dropped`): its content is gone
when its age says so and the space is given back, and yet it is not found anew on the next visit. A key stays as long as
the source lists it. Keeping such items whole instead would keep a sitemap's fifty thousand for ever.

The latest version of a page is never dropped: the next change is shown against it. Events go once every outlet has
passed them, and at the age of items in any case, so that an outlet nobody uses any more does not keep them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from recrawl.store.records import Keep, Vacuumed, keys_in
from recrawl.store.rows import Row

_NOT_LATEST = "at < (SELECT max(at) FROM versions AS later WHERE later.source = versions.source)"
_AGED = {
    "items": "SELECT id FROM items WHERE first_seen < $1 ORDER BY first_seen, id LIMIT $2",
    "crawls": "SELECT id FROM crawls WHERE at < $1 ORDER BY at, id LIMIT $2",
    "prices": "SELECT id FROM prices WHERE at < $1 ORDER BY at, id LIMIT $2",
    "versions": f"SELECT id FROM versions WHERE at < $1 AND {_NOT_LATEST} ORDER BY at LIMIT $2",
    "events": "SELECT seq FROM events WHERE at < $1 ORDER BY seq LIMIT $2",
}
_SURPLUS = """
SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY source ORDER BY at DESC, id DESC) AS place FROM versions) AS
numbered WHERE place > $1
"""
_DELIVERED = """
SELECT seq FROM events WHERE seq <= (SELECT coalesce(min(seq), 9223372036854775807) FROM outlets) ORDER BY seq LIMIT $1
"""
BY_SIZE = ("items", "crawls", "versions")
"""Tables that are cut where the store is too large."""
_LISTINGS = 100
"""Read at a time: one may have fifty thousand keys."""
# Robots files, holds and signals without a proof are of use for days at most.
_STALE_S = 30 * 86400.0


class Statements(Protocol):
    """A connection in a transaction."""

    def fetch(self, statement: str, *given: Any) -> list[Row]:
        """All rows."""
        ...

    def run(self, statement: str, *given: Any) -> None:
        """A statement without rows."""
        ...


class SqlRetention(ABC):
    """Retention in one database. The oldest go first; where the size is bounded, a share at a time until it fits.

    Parameters
        chunk: rows per transaction
        step, room: the part dropped at once of what is too much for so much of the bound
        numbers: the numbers in the first value of a statement, as rows with a `value`
    """

    chunk: int
    step: float
    room: float
    numbers: str

    def vacuum(self, keep: Keep, now: float) -> Vacuumed:
        """By age, then by number, then by size; then give the space back."""
        gone = Vacuumed(before=self._begin())
        ages = (("items", keep.items), ("crawls", keep.crawls), ("prices", keep.prices), ("events", keep.items))
        for table, age in ages:
            self._drop_all(gone, table, _AGED[table], now - age)
        self._drop_surplus_versions(gone, max(keep.versions, 1))
        self._drop_all(gone, "events", _DELIVERED)
        with self._transaction() as connection:
            connection.run("DELETE FROM holds WHERE until < $1", now - _STALE_S)
            connection.run("DELETE FROM robots WHERE fetched < $1", now - _STALE_S)
            connection.run("DELETE FROM signals WHERE proof > '' AND came < $1", now - _STALE_S)
        self._forget_keys_no_longer_listed()
        self._let_go(full=False)
        if keep.size:
            self._fit(keep.size, gone)
        gone.after = self._give_back(gone)
        return gone

    def _drop_all(self, gone: Vacuumed, table: str, statement: str, *given: Any, most: int | None = None) -> None:
        """What a statement finds, a chunk at a time, at most so many."""
        dropped = 0
        while most is None or dropped < most:
            wanted = self.chunk if most is None else min(self.chunk, most - dropped)
            with self._transaction() as connection:
                ids = [row[0] for row in connection.fetch(statement, *given, wanted)]
                self._drop(connection, gone, table, ids)
            dropped += len(ids)
            if len(ids) < wanted:
                break

    def _drop_surplus_versions(self, gone: Vacuumed, kept: int) -> None:
        with self._transaction() as connection:
            ids = [row[0] for row in connection.fetch(_SURPLUS, kept)]
        for some in _parts(ids, self.chunk):
            with self._transaction() as connection:
                self._drop(connection, gone, "versions", some)

    def _drop(self, connection: Statements, gone: Vacuumed, table: str, ids: list[int]) -> None:
        if table == "items":
            self._remember_listed(connection, ids)
        column = "seq" if table == "events" else "id"
        connection.run(f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM {self.numbers})", ids)
        setattr(gone, table, getattr(gone, table) + len(ids))

    def _remember_listed(self, connection: Statements, ids: list[int]) -> None:
        rows = connection.fetch(f"SELECT source, key FROM items WHERE id IN (SELECT value FROM {self.numbers})", ids)
        remember = f"INSERT INTO dropped SELECT $2, value FROM {self.numbers} WHERE TRUE ON CONFLICT DO NOTHING"
        for source, keys, listed in self._listed(connection, rows):
            kept = [key for key in keys if key in listed]
            if kept:
                connection.run(remember, kept, source)

    def _forget_keys_no_longer_listed(self) -> None:
        with self._transaction() as connection:
            sources = [row[0] for row in connection.fetch("SELECT DISTINCT source FROM dropped")]
        read = f"SELECT source, key FROM dropped WHERE source IN (SELECT value FROM {self.numbers})"
        forget = f"DELETE FROM dropped WHERE source = $2 AND key IN (SELECT value FROM {self.numbers})"
        for some in _parts(sources, _LISTINGS):
            with self._transaction() as connection:
                for source, keys, listed in self._listed(connection, connection.fetch(read, some)):
                    left = [key for key in keys if key not in listed]
                    if left:
                        connection.run(forget, left, source)

    def _listed(self, connection: Statements, rows: list[Row]) -> Iterator[tuple[int, list[int], frozenset[int]]]:
        """The keys of each source in (source, key), and those it lists."""
        keys: dict[int, list[int]] = defaultdict(list)
        for source, key in rows:
            keys[source].append(key)
        read = f"SELECT source, listing FROM progress WHERE source IN (SELECT value FROM {self.numbers})"
        for some in _parts(list(keys), _LISTINGS):
            for source, listing in connection.fetch(read, some):
                yield source, keys[source], frozenset(keys_in(listing))

    def _fit(self, size: int, gone: Vacuumed) -> None:
        """Drop the oldest share of items, crawls and versions, until what is left fits."""
        while (used := self._used()) > size:
            share = max(self.step * (1.0 - self.room * size / used), 0.01)
            before = gone.items + gone.crawls + gone.versions
            for table in BY_SIZE:
                condition = f" WHERE {_NOT_LATEST}" if table == "versions" else ""
                with self._transaction() as connection:
                    rows = connection.fetch(f"SELECT count(*) FROM {table}{condition}")[0][0]
                self._drop_all(gone, table, _AGED[table], float("inf"), most=-int(-rows * share // 1))
            if gone.items + gone.crawls + gone.versions == before:
                return
            self._let_go(full=True)

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Statements]:
        """Committed at the end of the block."""

    @abstractmethod
    def _begin(self) -> int:
        """Make room to work in; the size of the store in bytes."""

    @abstractmethod
    def _let_go(self, full: bool) -> None:
        """Rows were dropped; `full`: because of the size, which should show it."""

    @abstractmethod
    def _used(self) -> int:
        """Bytes in use, once what was dropped is let go of."""

    @abstractmethod
    def _give_back(self, gone: Vacuumed) -> int:
        """Empty space leaves the store; the size it has then."""


def _parts(ids: list[int], size: int) -> Iterator[list[int]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))
