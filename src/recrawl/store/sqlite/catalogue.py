"""The catalogue in SQL: sources come, change and go, and every change carries a new revision."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from recrawl.errors import StoreError
from recrawl.store.records import Added, Source
from recrawl.store.rows import Row, columns, mended, names, pages, source_of, source_row
from recrawl.store.sql import SourceQuery, SqlCatalogue, numbered
from recrawl.store.sqlite.database import numbers
from recrawl.store.sqlite.role import SqliteRole, SqliteStatements
from recrawl.store.sqlite.rows import PORTION, insert, insertion

_INSERT = insertion("sources", Source, without="id") + " ON CONFLICT (url) DO NOTHING"
_REPLACE = "UPDATE sources SET " + ", ".join(f'"{name}" = ?' for name in names(Source)[1:]) + " WHERE id = ?"

# Unknown values come last in either direction. A column of `progress` may be used as if it were the source's own:
# there is exactly one row of it per source.
_ORDERS = {
    "id": "sources.id",
    "url": "sources.url",
    "title": "sources.title COLLATE NOCASE",
    "importance": "sources.importance",
    "added": "sources.added",
    "last": "progress.last",
    "due": "progress.due",
    "value": "progress.value",
    "failures": "progress.failures",
}
_COLUMNS = columns(Source, "sources")
# From the latest back, as `commit` chains them; those that name none before them are in an index.
_FORGET_CRAWLS = """
DELETE FROM crawls WHERE id IN (
    WITH RECURSIVE back (id, source) AS (
        SELECT crawl, source FROM progress WHERE source IN (SELECT value FROM json_each(:ids))
        UNION ALL
        SELECT crawls.before, back.source FROM back CROSS JOIN crawls ON crawls.id = back.id
        WHERE crawls.source = back.source AND crawls.before < crawls.id
    )
    SELECT crawls.id FROM back CROSS JOIN crawls ON crawls.id = back.id WHERE crawls.source = back.source
    UNION ALL
    SELECT crawls.id FROM json_each(:ids) CROSS JOIN crawls ON crawls.source = json_each.value AND crawls.before IS NULL
)
"""
_DUE = _ORDERS["due"]
_NUMBERS = "SELECT url, id FROM sources WHERE url IN (SELECT value FROM json_each($1))"
_SHORTEST_INDEXED = 3
"""Letters from which on a text is looked for in the index."""
_FEW = 2000
_TOGETHER = 1000
"""Sources of one statement."""


class SqliteCatalogue(SqliteRole, SqlCatalogue):
    """The catalogue of a store in one file."""

    def add(self, sources: Sequence[Source]) -> list[Added]:
        """Take in sources by URL; one that is there already is left as it is."""
        given = mended(list(sources))
        with self._database.writing() as connection:
            added = add(connection, given)
            _claim(connection, [each.id for each in added if not each.new])
            return added

    def numbers(self, urls: Sequence[str]) -> dict[str, int]:
        """The ids of those that are there, by exact URL."""
        return {row[0]: row[1] for row in self._fetch(_NUMBERS, json.dumps(mended(list(urls))))}

    def _sources(self, query: SourceQuery) -> list[Source]:
        column, text = _ORDERS[query.order.removeprefix("-")], mended(query.text)
        where, values = numbered(self._conditions(query))
        table = column.partition(".")[0]
        id = "progress.source" if table == "progress" else "sources.id"
        joined = "sources JOIN progress ON progress.source = sources.id" if table == "progress" else "sources"
        way = "DESC" if query.order.startswith("-") else "ASC NULLS LAST"
        window = f"{way}, {id} {way.split()[0]} LIMIT ${len(values) + 1} OFFSET ${len(values) + 2}"
        by_tag_alone = query.tag is not None and len(values) == 1
        limits = [-1 if query.limit is None else query.limit, query.offset]
        with self._database.reading() as connection:
            statements = SqliteStatements(connection)
            few = query.ids is not None or (text is not None and _are_few(connection, text))
            if table == "progress" and query.limit is not None and not few and (by_tag_alone or column != _DUE):
                return _at_places(statements, *self._listed(query, f"ORDER BY {column} {way}, {id} {way.split()[0]}"))
            if text and few:
                column = f"+{column}"  # sort the few that match, instead of looking for them along an index
            window = f"{where} ORDER BY {column} {window}"
            if not query.offset or query.limit is None:
                rows = statements.fetch(f"SELECT {_COLUMNS} FROM {joined}{window}", *values, *limits)
                return [source_of(row) for row in rows]
            # Those passed over are walked along the index alone.
            alone = "progress" if table == "progress" and not where else joined
            return _at_places(statements, f"SELECT {id} FROM {alone}{window}", [*values, *limits])

    def _ids_in_order(self, query: SourceQuery) -> array[int]:
        """As one text, made while no lock of Python's is held."""
        column = _ORDERS[query.order.removeprefix("-")]
        table, way = column.partition(".")[0], "DESC" if query.order.startswith("-") else "ASC NULLS LAST"
        if table == "progress":
            whole = msgspec.structs.replace(query, limit=-1)
            statement, values = self._listed(whole, f"ORDER BY {column} {way}, progress.source {way.split()[0]}")
        else:
            where, values = numbered(self._conditions(query))
            order = f"ORDER BY {column} {way}, sources.id {way.split()[0]} LIMIT -1"
            statement = f"SELECT sources.id AS source FROM sources{where} {order}"
        ((told,),) = self._fetch(f"SELECT json_group_array(source) FROM ({statement})", *values)
        return array("q", msgspec.json.decode(told, type=list[int]))

    def _listed(self, query: SourceQuery, order: str) -> tuple[str, list[Any]]:
        """The ids in the order of what is in the index by due: its way if that is due, else all of it, which is short.

        Nearly all sources are active: those that are not are left out, instead of many kept.
        """
        active = query.state == "active"
        others = msgspec.structs.replace(query, state=None, order="id") if active else query
        where, values = numbered(self._conditions(others))
        parts = [f"source IN (SELECT sources.id FROM sources{where})"] if where else []
        if query.tag is not None and len(values) == 1:
            parts = ["source IN (SELECT source FROM tags WHERE tag = $1)"]
        if active:
            parts.append("source NOT IN (SELECT id FROM sources WHERE state IN ('paused', 'retired'))")
        chosen = f" WHERE {' AND '.join(parts)}" if parts else ""
        window = f"LIMIT ${len(values) + 1} OFFSET ${len(values) + 2}"
        statement = f"SELECT source FROM progress INDEXED BY progress_by_due{chosen} {order} {window}"
        return statement, [*values, query.limit, query.offset]

    def _conditions(self, query: SourceQuery, *, along_state: bool = False) -> Iterator[tuple[str, Any]]:
        text = mended(query.text)
        if query.ids is not None:
            yield "sources.id IN (SELECT value FROM json_each(${0}))", numbers(query.ids)
        if query.state is not None:
            # Nearly all are active: an index on that would only keep the better one from being used.
            hidden = "+" if query.state == "active" and not along_state else ""
            yield f"{hidden}sources.state = ${{0}}", query.state
        if query.tag is not None:
            yield "sources.id IN (SELECT source FROM tags WHERE tag = ${0})", query.tag
        if text and len(text) >= _SHORTEST_INDEXED:
            yield "sources.id IN (SELECT rowid FROM sources_text WHERE sources_text MATCH ${0})", _phrase(text)
        elif text:
            yield "(instr(lower(sources.url), lower(${0})) OR instr(lower(sources.title), lower(${0})))", text
        if query.since_revision:
            yield "sources.revision > ${0}", query.since_revision

    def edit(self, sources: Sequence[Source]) -> None:
        """Replace lines of the catalogue (by id), giving each a new revision."""
        if not sources:
            return
        given = mended(list(sources))
        with self._database.writing() as connection:
            number = next_revision(connection)
            for source in given:
                _replace(connection, source, number)
            _claim(connection, [source.id for source in given])

    def remove(self, ids: Sequence[int]) -> int:
        """Forget sources and all that was found in them, and leave word of it; how many there were."""
        if not ids:
            return 0
        with self._database.writing() as connection:
            return remove(connection, ids)

    def revision(self) -> int:
        """The largest revision given so far, removals included."""
        return int(self._fetch("SELECT value FROM meta WHERE name = 'revision'")[0][0])


def next_revision(connection: sqlite3.Connection) -> int:
    """A number larger than every one given before."""
    statement = "UPDATE meta SET value = value + 1 WHERE name = 'revision' RETURNING value"
    return int(connection.execute(statement).fetchone()[0])


def _claim(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """The owner asked for these: they stay, whoever brought them."""
    if ids:
        connection.execute("DELETE FROM brought WHERE source IN (SELECT value FROM json_each(?))", (numbers(ids),))


def add(connection: sqlite3.Connection, sources: Sequence[Source]) -> list[Added]:
    """Take in those whose URL is new, each with its progress and tags."""
    if not sources:
        return []
    number = next_revision(connection)
    added = [each for page in pages(sources) for each in _added(connection, page, number)]
    connection.executemany("INSERT INTO progress (source) VALUES (?)", [(each.id,) for each in added if each.new])
    tags = [(tag, each.id) for source, each in zip(sources, added, strict=True) if each.new for tag in source.tags]
    connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", tags)
    return added


def remove(connection: sqlite3.Connection, ids: Sequence[int]) -> int:
    """Forget sources and all that was found in them; how many there were."""
    given, some = numbers(ids), "WHERE id IN (SELECT value FROM json_each(?))"
    number = next_revision(connection)
    connection.execute(f"INSERT OR REPLACE INTO removed SELECT id, ? FROM sources {some}", (number, given))
    connection.execute(_FORGET_CRAWLS, {"ids": given})
    return connection.execute(f"DELETE FROM sources {some}", (given,)).rowcount


def _added(connection: sqlite3.Connection, sources: Sequence[Source], number: int) -> list[Added]:
    ids = _numbers(connection, sources)
    new = {source.url: source for source in reversed(sources) if source.url not in ids}
    if new:
        # Of the same address given twice, the first counts; in the order in which they were given.
        fresh = [source for source in sources if new.get(source.url) is source]
        _insert(connection, [source_row(source, number) for source in fresh])
        ids |= _numbers(connection, fresh)
    return [Added(ids[source.url], new.pop(source.url, None) is not None) for source in sources]


def _insert(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Many to a statement: the index of letters is written out whenever one of its statements begins."""
    if len(rows) >= PORTION:
        most = connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // len(rows[0])
        insert(connection, _INSERT, rows, min(most, len(rows), _TOGETHER))
    else:
        connection.executemany(_INSERT, rows)


def _numbers(connection: sqlite3.Connection, sources: Sequence[Source]) -> dict[str, int]:
    """The ids of those that are there, by URL; in lists, SQLite ends a text at its first NUL."""
    urls = [source.url for source in sources]
    wanted = json.dumps([url for url in urls if "\0" not in url])
    ids: dict[str, int] = dict(SqliteStatements(connection).fetch(_NUMBERS, wanted))
    for url in urls:
        if "\0" in url:
            ids |= dict(connection.execute("SELECT url, id FROM sources WHERE url = ?", (url,)).fetchall())
    return ids


def _replace(connection: sqlite3.Connection, source: Source, revision: int) -> None:
    try:
        cursor = connection.execute(_REPLACE, (*source_row(source, revision), source.id))
    except sqlite3.IntegrityError:
        raise StoreError(f"{source.url} is in the catalogue already: source {source.id} cannot have it") from None
    if not cursor.rowcount:
        raise StoreError(f"there is no source {source.id}")
    connection.execute("DELETE FROM tags WHERE source = ?", (source.id,))
    connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", [(tag, source.id) for tag in source.tags])


def _at_places(statements: SqliteStatements, statement: str, values: Sequence[Any]) -> list[Source]:
    """The sources whose ids a statement gives, in its order."""
    places = [row[0] for row in statements.fetch(statement, *values)]
    chosen = f"SELECT {_COLUMNS} FROM sources WHERE id IN (SELECT value FROM json_each($1))"
    found = {row[0]: source_of(row) for row in statements.fetch(chosen, places)}
    return [found[place] for place in places]


def _phrase(text: str) -> str:
    """What to look for in the index of any three letters."""
    return '"' + text.replace("\0", " ").replace('"', '""') + '"'


def _are_few(connection: sqlite3.Connection, text: str) -> bool:
    if len(text) < _SHORTEST_INDEXED:
        return False
    statement = "SELECT count(*) FROM (SELECT 1 FROM sources_text WHERE sources_text MATCH ? LIMIT ?)"
    return bool(connection.execute(statement, (_phrase(text), _FEW)).fetchone()[0] < _FEW)
