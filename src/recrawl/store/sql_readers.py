"""Readers in SQL: who they are, and what each subscribes to. Their streams and what they have read is in `sql_reading`.

Both databases answer to the same statements; the lists in them are the rows of `_rows`.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

from recrawl.errors import StoreError
from recrawl.store.reader_records import MOST_READERS, MOST_SUBSCRIPTIONS, Reader, Subscribed, Wanted
from recrawl.store.records import Added, Source
from recrawl.store.retention import KEPT, Statements
from recrawl.store.rows import columns, fitting, names, record_of
from recrawl.store.sql import SqlRole

T = TypeVar("T")
NOBODY = "paused: nobody subscribes to it any more, and somebody keeps items of it"
_READER = f"SELECT {columns(Reader)} FROM readers"
_GIVEN = names(Reader)[1:]
_ADD = (
    f"INSERT INTO readers ({', '.join(_GIVEN)}) VALUES "
    f"({', '.join(f'${place}' for place in range(1, len(_GIVEN) + 1))}) RETURNING id"
)
_SUBSCRIBED = """
SELECT mine.source, sources.url, mine.title, mine.labels, mine.added, sources.title
FROM reader_sources AS mine JOIN sources ON sources.id = mine.source WHERE mine.reader = $1 {} ORDER BY mine.source
"""
_SUBSCRIBE = "INSERT INTO reader_sources VALUES ($1, $2, $3, $4, $5, 0, -1.0)"
# The source's own title is not written down as somebody's: it may change.
_EDIT = """
UPDATE reader_sources SET labels = $4, title = CASE WHEN CAST($3 AS text) = (
    SELECT CASE WHEN sources.title = '' THEN sources.url ELSE sources.title END FROM sources WHERE sources.id = $2
) THEN '' ELSE CAST($3 AS text) END WHERE reader = $1 AND source = $2
"""


class SqlReaderRole(SqlRole):
    """A database in which several statements are one transaction."""

    @abstractmethod
    def _transaction(self, work: Callable[[Statements], T]) -> T:
        """Do it all, or nothing."""

    @abstractmethod
    def _rows(self, place: int) -> str:
        """The numbers in the list that is the value at a place, as rows with a `value`."""

    def _in(self, place: int) -> str:
        return f"IN (SELECT value FROM {self._rows(place)})"


class SqlReaders(SqlReaderRole):
    """Readers, and their subscriptions."""

    @abstractmethod
    def _turn(self, statements: Statements) -> int:
        """A new revision, which nobody else takes until the transaction ends."""

    @abstractmethod
    def _take_in(self, statements: Statements, sources: Sequence[Source]) -> list[Added]:
        """Add sources to the catalogue."""

    @abstractmethod
    def _let_leave(self, statements: Statements, sources: Sequence[int]) -> None:
        """Remove sources from the catalogue."""

    def add_reader(self, reader: Reader) -> int:
        """Take in somebody; the id given."""

        def work(statements: Statements) -> int:
            self._turn(statements)
            if statements.fetch("SELECT 1 FROM readers WHERE name = $1", reader.name):
                raise StoreError(f"there is a reader {reader.name} already")
            if statements.fetch("SELECT count(*) FROM readers")[0][0] >= MOST_READERS:
                raise StoreError(f"there are {MOST_READERS:,} readers, and no more are taken in")
            return int(statements.fetch(_ADD, *(getattr(reader, name) for name in _GIVEN))[0][0])

        return self._transaction(work)

    def reader(self, name: str) -> Reader | None:
        """By name."""
        rows = self._fetch(f"{_READER} WHERE name = $1", name)
        return record_of(Reader, rows[0]) if rows else None

    def readers(self) -> list[Reader]:
        """All, by name."""
        return [record_of(Reader, row) for row in self._fetch(f"{_READER} ORDER BY name {self._by_bytes}")]

    def change_password(self, reader: int, password: str, key: str) -> None:
        """Another password's hash, and another key."""
        self._write("UPDATE readers SET password = $2, key = $3 WHERE id = $1", reader, password, key)

    def remove_reader(self, reader: int) -> None:
        """Forget somebody and all they did."""

        def work(statements: Statements) -> None:
            number = self._turn(statements)
            rows = statements.fetch("SELECT source FROM reader_sources WHERE reader = $1", reader)
            statements.run("DELETE FROM readers WHERE id = $1", reader)
            self._leave(statements, [row[0] for row in rows], number)

        self._transaction(work)

    def subscribed(self, reader: int, sources: Sequence[int] | None = None) -> list[Subscribed]:
        """What somebody reads, by source; of these alone, if any are given."""
        among = f"AND mine.source {self._in(2)}" if sources is not None else ""
        given = () if sources is None else (fitting(sources),)
        return [
            Subscribed(
                source=row[0],
                url=row[1],
                title=row[2] or row[5] or row[1],
                labels=_labels(row[3]),
                added=row[4],
            )
            for row in self._fetch(_SUBSCRIBED.format(among), reader, *given)
        ]

    def subscribe(self, reader: int, wanted: Sequence[Wanted], at: float) -> list[int]:
        """Subscribe, adding sources that are not there; the source of each."""
        return self._transaction(lambda statements: self._subscribe(statements, reader, wanted, at)) if wanted else []

    def _subscribe(self, statements: Statements, reader: int, wanted: Sequence[Wanted], at: float) -> list[int]:
        number = self._turn(statements)
        added = self._take_in(statements, [each.source for each in wanted])
        before = {
            row[0]: (row[1], _labels(row[2]))
            for row in statements.fetch("SELECT source, title, labels FROM reader_sources WHERE reader = $1", reader)
        }
        if len(before.keys() | {each.id for each in added}) > MOST_SUBSCRIPTIONS:
            raise StoreError(f"nobody may have more than {MOST_SUBSCRIPTIONS:,} subscriptions")
        for each, source in zip(wanted, added, strict=True):
            if source.new:
                statements.run("INSERT INTO brought VALUES ($1, $2)", source.id, reader)
            title, labels = before.get(source.id, ("", ()))
            after = each.title or title, tuple(dict.fromkeys((*labels, *each.labels)))
            if source.id not in before:
                statements.run(_SUBSCRIBE, reader, source.id, after[0], _json(after[1]), at)
            elif after != (title, labels):
                statements.run(_EDIT, reader, source.id, after[0], _json(after[1]))
            before[source.id] = after
        self._wake(statements, [each.id for each in added if not each.new], number)
        return [each.id for each in added]

    def edit_subscriptions(self, reader: int, changed: Sequence[Subscribed]) -> None:
        """Other titles and labels for subscriptions that are there."""

        def work(statements: Statements) -> None:
            for each in changed:
                statements.run(_EDIT, reader, each.source, each.title, _json(each.labels))

        if changed:
            self._transaction(work)

    def unsubscribe(self, reader: int, sources: Sequence[int]) -> None:
        """Give up sources."""

        def work(statements: Statements) -> None:
            number, some = self._turn(statements), fitting(sources)
            mine = f"WHERE reader = $2 AND source {self._in(1)}"
            statements.run(f"DELETE FROM reader_items {mine} AND starred IS NULL", some, reader)
            rows = statements.fetch(f"DELETE FROM reader_sources {mine} RETURNING source", some, reader)
            self._leave(statements, [row[0] for row in rows], number)

        self._transaction(work)

    def _leave(self, statements: Statements, sources: list[int], revision: int) -> None:
        """Somebody gave these up: what came with a reader, and nobody has now, goes, or is paused."""
        rows = statements.fetch(
            f"SELECT source FROM brought WHERE source {self._in(1)} AND NOT EXISTS "
            "(SELECT 1 FROM reader_sources WHERE reader_sources.source = brought.source)",
            sources,
        )
        orphans = [row[0] for row in rows]
        found = f"SELECT DISTINCT source FROM items WHERE source {self._in(1)} AND ({KEPT})"
        kept = [row[0] for row in statements.fetch(found, orphans)] if orphans else []
        paused = f"UPDATE sources SET state = 'paused', note = $2, revision = $3 WHERE id {self._in(1)}"
        if kept:
            statements.run(paused, kept, NOBODY, revision)
        gone = sorted(set(orphans) - set(kept))
        if gone:
            self._let_leave(statements, gone)

    def _wake(self, statements: Statements, sources: list[int], revision: int) -> None:
        """Somebody subscribes to these again."""
        active = "UPDATE sources SET state = 'active', note = '', revision = $3"
        statements.run(f"{active} WHERE id {self._in(1)} AND state = 'paused' AND note = $2", sources, NOBODY, revision)


def _json(labels: Sequence[str]) -> str:
    return json.dumps(labels) if labels else ""


@lru_cache(500)
def _labels(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()
