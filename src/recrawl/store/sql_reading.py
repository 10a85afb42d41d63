"""What readers have read, in SQL: streams of items, and what somebody did with them.

An item of a subscription is read if its number is at most the subscription's `read_to`, unless `reader_items` says
otherwise. So nothing is written for an item that is found, and little for one that is marked with all others.

A stream is in the order of numbers, and a page goes on from the number the last one ended with: what is found
meanwhile has a larger number and moves nothing. Two ways lead to a page. Where few items can match, because they are
unread, or recent, or of few sources, they are *gathered*, source by source; where many match, all items are *walked* in
their order until the page is full. Which it is shows in trying: each way is gone so far and no further, then the other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from recrawl.errors import StoreError
from recrawl.store.reader_records import MOST_KEPT, MOST_LABELS, Reading, Stream, Unread
from recrawl.store.records import Item
from recrawl.store.retention import Statements
from recrawl.store.rows import LARGEST, columns, fitting, names, record_of
from recrawl.store.sql_readers import SqlReaderRole

GATHERED, WALKED = (5000, 50_000), 20_000
"""So many are gathered at most, at first (or twice what is wanted) and after so many were walked in vain. More than
that match densely enough for a walk to its end."""
FEW_SOURCES = 200
LATE_S = 86400.0
"""An item is written at most so long after it was found: what is read is looked for from there on."""
_IS_READ = "coalesce(own.read, CASE WHEN items.id > mine.read_to THEN 0 ELSE 1 END)"
_OWN = "LEFT JOIN reader_items AS own ON own.reader = {} AND own.item = items.id"
_MINE = "LEFT JOIN reader_sources AS mine ON mine.reader = {} AND mine.source = items.source"
_BEYOND = "items.source = mine.source AND items.first_seen > mine.read_since AND items.id > mine.read_to"
_WIDTH = len(names(Item))
_COUNT_STARRED = "SELECT count(*) FROM reader_items WHERE reader = $1 AND starred IS NOT NULL"


class SqlReading(SqlReaderRole):
    """Streams and marks of readers."""

    _by_source = _by_number = "items"
    """Items, with the index along which they are looked for."""
    _held = ""
    """Keeps items that are looked at from being dropped before the end of the transaction."""

    def stream(self, reader: int, wanted: Stream) -> list[int]:
        """Numbers of items, the largest first unless told otherwise."""
        if wanted.limit <= 0:
            return []
        found: Iterable[int] = ()
        if wanted.label:
            found = self._labelled(reader, wanted)
        if not wanted.label or wanted.sources:
            found = {*found, *self._of_sources(reader, wanted)}
        return sorted(found, reverse=not wanted.oldest_first)[: wanted.limit]

    def _of_sources(self, reader: int, wanted: Stream) -> list[int]:
        if wanted.sources is not None and not wanted.sources:
            return []
        if wanted.starred:
            return self._starred(reader, wanted)
        few = wanted.sources is not None and len(wanted.sources) <= FEW_SOURCES
        if not (few or wanted.read is False or wanted.since is not None):
            return self._walked(reader, wanted)
        found = self._gathered(reader, wanted, max(GATHERED[0], 2 * wanted.limit))
        if found is None:
            found = self._walked(reader, wanted, WALKED)
            if len(found) < wanted.limit:
                found = self._gathered(reader, wanted, GATHERED[1])
        return self._walked(reader, wanted) if found is None else found

    def _labelled(self, reader: int, wanted: Stream) -> list[int]:
        ask = _Question(self, wanted, reader)
        ask.conditions += ["told.reader = $1", f"told.label = {ask.value(wanted.label)}", "items.id = told.item"]
        tables = f"reader_labels AS told CROSS JOIN items {_OWN} {_MINE}".format(*["told.reader"] * 2)
        return self._asked(ask, tables, ask.end)

    def _starred(self, reader: int, wanted: Stream) -> list[int]:
        ask = _Question(self, wanted, reader)
        ask.conditions += ["own.reader = $1", "items.id = own.item"]
        ask.among("items.source", wanted.sources)
        tables = f"reader_items AS own CROSS JOIN items {_MINE}".format("own.reader")
        return self._asked(ask, tables, ask.end)

    def _gathered(self, reader: int, wanted: Stream, most: int) -> list[int] | None:
        """All that match, in any order; None if they are more than that."""
        ask = _Question(self, wanted, reader)
        ask.conditions += ["mine.reader = $1", "items.source = mine.source"]
        ask.among("mine.source", wanted.sources)
        if wanted.read is False:
            ask.conditions.append(_BEYOND)
        tables = f"reader_sources AS mine CROSS JOIN {self._by_source} {_OWN}".format("mine.reader")
        found = self._asked(ask, tables, f"LIMIT {most + 1}")
        if wanted.read is False and len(found) <= most:
            found += self._kept_unread(reader, wanted, most)
        return found if len(found) <= most else None

    def _kept_unread(self, reader: int, wanted: Stream, most: int) -> list[int]:
        """Those among the read ones that somebody has marked unread again."""
        ask = _Question(self, wanted, reader)
        ask.conditions += ["own.reader = $1", "own.read = 0", "items.id = own.item", "items.id <= mine.read_to"]
        ask.among("mine.source", wanted.sources)
        tables = f"reader_items AS own CROSS JOIN items {_MINE}".format("own.reader")
        return self._asked(ask, tables, f"LIMIT {most + 1}")

    def _walked(self, reader: int, wanted: Stream, most: int | None = None) -> list[int]:
        """The next that match, of so many items that are looked at, or of all."""
        ask = _Question(self, wanted, reader)
        ask.conditions += ["mine.reader = $1", "mine.source = items.source"]
        ask.among("mine.source", wanted.sources)
        if most is not None:
            at = f"WHERE {ask.after}" if ask.after else ""
            last = f"SELECT items.id FROM {self._by_number} {at} {ask.order} LIMIT 1 OFFSET {most}"
            until = "<= coalesce(({}), {})" if wanted.oldest_first else ">= coalesce(({}), {})"
            ask.conditions.append(f"items.id {until.format(last, LARGEST if wanted.oldest_first else 0)}")
        tables = f"{self._by_number} CROSS JOIN reader_sources AS mine {_OWN}".format("mine.reader")
        return self._asked(ask, tables, ask.end)

    def _asked(self, ask: _Question, tables: str, end: str) -> list[int]:
        statement = f"SELECT items.id AS id FROM {tables} WHERE {' AND '.join(ask.conditions)} {end}"
        return self._numbers(statement, *ask.values)

    @abstractmethod
    def _numbers(self, statement: str, *values: Any) -> list[int]:
        """What a statement finds in its one column, `id`."""

    def reading(self, reader: int, items: Sequence[int]) -> list[Reading]:
        """Those of these items somebody may see, by number."""
        some = fitting(items)
        labels: dict[int, list[str]] = {}
        labelled = f"SELECT item, label FROM reader_labels WHERE reader = $2 AND item {self._in(1)} ORDER BY label"
        for item, label in self._fetch(labelled, some, reader):
            labels.setdefault(item, []).append(label)
        tables = f"items {_OWN} {_MINE}".format("$2", "$2")
        rows = self._fetch(
            f"SELECT {columns(Item, 'items')}, {_IS_READ}, own.starred, mine.source FROM {tables} "
            f"WHERE items.id {self._in(1)} ORDER BY items.id",
            some,
            reader,
        )
        return [
            Reading(
                item=record_of(Item, row[:_WIDTH]),
                read=bool(row[_WIDTH]),
                starred=row[_WIDTH + 1] is not None,
                labels=tuple(labels.get(row[0], ())),
            )
            for row in rows
            if row[_WIDTH + 1] is not None or row[_WIDTH + 2] is not None or row[0] in labels
        ]

    def unread(self, reader: int) -> list[Unread]:
        """Of every subscription, by source."""
        rows = self._fetch(
            "SELECT mine.source, count(items.id), coalesce(max(items.first_seen), 0.0) FROM reader_sources AS mine "
            f"LEFT JOIN {self._by_source} ON {_BEYOND} WHERE mine.reader = $1 GROUP BY mine.source "
            "UNION ALL SELECT mine.source, sum(CASE WHEN own.read = 1 AND own.item > mine.read_to THEN -1 "
            "WHEN own.read = 0 AND own.item <= mine.read_to THEN 1 ELSE 0 END), 0.0 "
            "FROM reader_items AS own JOIN reader_sources AS mine "
            "ON mine.reader = own.reader AND mine.source = own.source "
            "WHERE own.reader = $1 AND own.read IS NOT NULL GROUP BY mine.source",
            reader,
        )
        counts: dict[int, Unread] = {}
        for source, count, newest in rows:
            each = counts.setdefault(source, Unread(source=source, count=0, newest=0.0))
            each.count, each.newest = each.count + int(count), max(each.newest, newest)
        return [counts[source] for source in sorted(counts)]

    def mark_read(self, reader: int, items: Sequence[int], read: bool) -> list[tuple[int, int]]:
        """Items of subscriptions are read, or unread again."""

        def work(statements: Statements) -> list[tuple[int, int]]:
            changed = self._note(statements, reader, items, "read", int(read))
            if read:
                self._fold(statements, reader, sorted({source for _, source in changed}))
            return changed

        return self._transaction(work)

    def _note(
        self, statements: Statements, reader: int, items: Sequence[int], column: str, value: float
    ) -> list[tuple[int, int]]:
        kind = "bigint" if column == "read" else "double precision"
        kept = "coalesce(reader_items.starred, excluded.starred)" if column == "starred" else "excluded.read"
        rows = statements.fetch(
            f"INSERT INTO reader_items (reader, item, source, {column}) "
            f"SELECT mine.reader, items.id, items.source, CAST($3 AS {kind}) "
            "FROM items JOIN reader_sources AS mine ON mine.source = items.source "
            f"WHERE mine.reader = $2 AND items.id {self._in(1)} {self._held} "
            f"ON CONFLICT (reader, item) DO UPDATE SET {column} = {kept} RETURNING item, source",
            fitting(items),
            reader,
            value,
        )
        return [(row[0], row[1]) for row in rows]

    def _fold(self, statements: Statements, reader: int, sources: list[int]) -> None:
        """Where all of a source is read, its mark says so from now on."""
        unread = f"SELECT 1 FROM {self._by_source} {_OWN} WHERE {_BEYOND} AND coalesce(own.read, 0) = 0".format(
            "mine.reader"
        )
        rows = statements.fetch(
            "UPDATE reader_sources SET read_to = bound.last, read_since = bound.seen FROM ("
            f"SELECT mine.source AS source, max(items.id) AS last, max(items.first_seen) - {LATE_S} AS seen "
            f"FROM reader_sources AS mine CROSS JOIN {self._by_source} "
            f"WHERE mine.reader = $2 AND mine.source {self._in(1)} AND {_BEYOND} AND NOT EXISTS ({unread}) "
            "GROUP BY mine.source) AS bound WHERE reader_sources.reader = $2 AND reader_sources.source = bound.source "
            "RETURNING reader_sources.source",
            sources,
            reader,
        )
        if rows:
            self._forget(statements, reader, [row[0] for row in rows], -1.0)

    def mark_all_read(self, reader: int, sources: Sequence[int] | None, until: float) -> None:
        """Whatever was found by then in these subscriptions, or in all, is read."""

        def work(statements: Statements) -> None:
            some = fitting(sources) if sources is not None else self._reads(statements, reader)
            # Up to the first item found later, so that one that was noted late is not passed over.
            later = (
                "SELECT mine.source AS source, min(items.id) AS first FROM reader_sources AS mine "
                f"CROSS JOIN {self._by_source} WHERE mine.reader = $2 AND mine.source {self._in(1)} "
                "AND items.source = mine.source AND items.first_seen > $3 GROUP BY mine.source"
            )
            statements.run(
                f"WITH later AS ({later}) "
                "UPDATE reader_sources SET read_to = bound.last, read_since = bound.seen FROM ("
                f"SELECT mine.source AS source, max(items.id) AS last, max(items.first_seen) - {LATE_S} AS seen "
                f"FROM reader_sources AS mine CROSS JOIN {self._by_source} "
                "LEFT JOIN later ON later.source = mine.source "
                f"WHERE mine.reader = $2 AND mine.source {self._in(1)} AND {_BEYOND} AND items.first_seen <= $3 "
                f"AND items.id < coalesce(later.first, {LARGEST}) GROUP BY mine.source) AS bound "
                "WHERE reader_sources.reader = $2 AND reader_sources.source = bound.source",
                some,
                reader,
                until,
            )
            self._forget(statements, reader, some, until)

        self._transaction(work)

    def _reads(self, statements: Statements, reader: int) -> list[int]:
        rows = statements.fetch("SELECT source FROM reader_sources WHERE reader = $1", reader)
        return [row[0] for row in rows]

    def _forget(self, statements: Statements, reader: int, sources: list[int], until: float) -> None:
        """What the mark of a subscription says needs no row of its own: read ones, and all that were found by then."""
        told = (
            "SELECT own.item FROM reader_sources AS mine CROSS JOIN reader_items AS own CROSS JOIN items "
            f"WHERE mine.reader = $2 AND mine.source {self._in(1)} AND own.reader = mine.reader "
            "AND own.source = mine.source AND own.read IS NOT NULL AND own.item <= mine.read_to "
            "AND items.id = own.item AND (own.read = 1 OR items.first_seen <= $3)"
        )
        for act, starred in (("DELETE FROM reader_items", "NULL"), ("UPDATE reader_items SET read = NULL", "NOT NULL")):
            condition = f"WHERE reader = $2 AND starred IS {starred} AND item IN ({told})"
            statements.run(f"{act} {condition}", sources, reader, until)

    def star(self, reader: int, items: Sequence[int], at: float | None) -> list[tuple[int, int]]:
        """Items are starred at a time, or not any more."""

        def work(statements: Statements) -> list[tuple[int, int]]:
            if at is not None:
                changed = self._note(statements, reader, items, "starred", at)
                if statements.fetch(_COUNT_STARRED, reader)[0][0] > MOST_KEPT:
                    raise StoreError(f"nobody may have more than {MOST_KEPT:,} starred items")
                return changed
            mine = f"WHERE reader = $2 AND item {self._in(1)}"
            unstarred = f"UPDATE reader_items SET starred = NULL {mine} AND starred IS NOT NULL RETURNING item, source"
            changed = [(row[0], row[1]) for row in statements.fetch(unstarred, fitting(items), reader)]
            statements.run(
                f"DELETE FROM reader_items {mine} AND starred IS NULL AND read IS NULL", fitting(items), reader
            )
            return changed

        return self._transaction(work)

    def label_items(self, reader: int, items: Sequence[int], label: str, given: bool) -> None:
        """Items get a label, or lose it."""

        def work(statements: Statements) -> None:
            if not given:
                gone = f"DELETE FROM reader_labels WHERE reader = $2 AND item {self._in(1)} AND label = $3"
                statements.run(gone, fitting(items), reader, label)
                return
            statements.run(
                "INSERT INTO reader_labels (reader, item, label) SELECT mine.reader, items.id, CAST($3 AS text) "
                "FROM items JOIN reader_sources AS mine ON mine.source = items.source "
                f"WHERE mine.reader = $2 AND items.id {self._in(1)} {self._held} ON CONFLICT DO NOTHING",
                fitting(items),
                reader,
                label,
            )
            counted = "SELECT count(*), count(DISTINCT label) FROM reader_labels WHERE reader = $1"
            kept, labels = statements.fetch(counted, reader)[0]
            if kept > MOST_KEPT or labels > MOST_LABELS:
                raise StoreError(
                    f"nobody may have more than {MOST_KEPT:,} labels on items, {MOST_LABELS:,} different ones"
                )

        self._transaction(work)

    def item_labels(self, reader: int) -> list[str]:
        """The labels somebody has on items, by name."""
        return sorted(
            row[0] for row in self._fetch("SELECT DISTINCT label FROM reader_labels WHERE reader = $1", reader)
        )


class _Question:
    """A stream's conditions and their values; the reader is the first of them."""

    def __init__(self, role: SqlReading, wanted: Stream, reader: int) -> None:
        self._role = role
        self.values: list[Any] = [reader]
        self.conditions: list[str] = []
        way = ("ASC", ">") if wanted.oldest_first else ("DESC", "<")
        self.order, self.after = f"ORDER BY items.id {way[0]}", ""
        self.end = f"{self.order} LIMIT {int(wanted.limit)}"
        if wanted.since is not None:
            self.conditions.append(f"items.first_seen >= {self.value(wanted.since)}")
        if wanted.until is not None:
            self.conditions.append(f"items.first_seen <= {self.value(wanted.until)}")
        if wanted.after is not None:
            self.after = f"items.id {way[1]} {self.value(max(0, min(wanted.after, LARGEST)))}"
            self.conditions.append(self.after)
        if wanted.read is not None:
            self.conditions.append(f"{_IS_READ} = {int(wanted.read)}")
        if wanted.starred is not None:
            self.conditions.append(f"own.starred IS {'NOT NULL' if wanted.starred else 'NULL'}")

    def value(self, value: Any) -> str:
        """A value's place."""
        self.values.append(value)
        return f"${len(self.values)}"

    def among(self, column: str, numbers: Sequence[int] | None) -> None:
        """The column is one of some numbers, if any are given."""
        if numbers is not None:
            self.value(fitting(numbers))
            self.conditions.append(f"{column} {self._role._in(len(self.values))}")
