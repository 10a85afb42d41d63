"""The catalogue in SQL: sources come, change and go, and every change carries a new revision.

Whoever changes the catalogue takes the next revision first and holds it until the end of the transaction. Changes are
therefore made one after the other, are seen in the order of their revisions, and need not be tried for conflicts.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from recrawl.errors import StoreError
from recrawl.store.postgres.connection import PostgresConnection
from recrawl.store.postgres.role import PostgresRole
from recrawl.store.postgres.rows import Table, columns_of, digest
from recrawl.store.records import Added, Source
from recrawl.store.rows import columns, fitting, mended, names, pages, source_of, source_row
from recrawl.store.sql import SourceQuery, SqlCatalogue, numbered

# Tags and headers travel as JSON.
_SOURCE = Table(Source, without="id", more={"digest": "bytea"})
_COLUMNS = names(Source)[1:]
_INSERT = f"INSERT INTO sources ({_SOURCE.names}) {_SOURCE.given} RETURNING id"
_EDIT = Table(Source, without="id", more={"digest": "bytea", "id": "bigint"})
_REPLACE = (
    "UPDATE sources SET bucket = CASE WHEN sources.digest = new.digest THEN sources.bucket END, "
    + ", ".join(f'"{name}" = new."{name}"' for name in (*_COLUMNS, "digest"))
    + f" FROM ({_EDIT.given}) AS new WHERE sources.id = new.id"
)
# A source whose URL changes leaves the bucket it was in.
_STRAY = """
INSERT INTO strayed SELECT sources.id, sources.bucket, $3
FROM sources JOIN unnest($1::bigint[], $2::bytea[]) AS new (id, digest) ON sources.id = new.id
WHERE sources.bucket IS NOT NULL AND sources.digest <> new.digest
ON CONFLICT (source, bucket) DO UPDATE SET revision = excluded.revision
"""
_TAG = (
    "INSERT INTO tags (tag, source, digest) SELECT * FROM unnest($1::varchar[], $2::bigint[], $3::bytea[]) "
    "ON CONFLICT DO NOTHING"
)
_BELONGING = (
    "tags",
    "progress",
    "crawls",
    "items",
    "dropped",
    "versions",
    "restless",
    "numbers",
    "rendering",
    "screenshots",
    "strayed",
    "signals",
    "reader_sources",
    "brought",
)

# Unknown values come last in either direction.
_ORDERS = {
    "id": ("sources.id",),
    "url": ('left(sources.url, 200) COLLATE "C"', 'sources.url COLLATE "C"'),
    "title": ('lower(left(sources.title, 200)) COLLATE "C"',),
    "importance": ("sources.importance",),
    "added": ("sources.added",),
    "last": ("progress.last",),
    "due": ("progress.due",),
    "value": ("progress.value",),
    "failures": ("progress.failures",),
}
_UNKNOWN = ("progress.last", "progress.due", "progress.value")
_LINE = columns(Source, "sources")
_MANY = 1000
"""Sources added at once after which the server takes a look at its tables, instead of a minute later."""


class PostgresCatalogue(PostgresRole, SqlCatalogue):
    """The catalogue of a store in PostgreSQL."""

    def add(self, sources: Sequence[Source]) -> list[Added]:
        """Take in sources by URL; one that is there already is left as it is."""
        given = mended(list(sources))
        added = self._connections.writing(lambda connection: _add(connection, given))
        if len(given) >= _MANY:
            self._connections.alone(lambda connection: connection.run("ANALYZE sources, progress, tags"))
        return added

    def numbers(self, urls: Sequence[str]) -> dict[str, int]:
        """The ids of those that are there, by exact URL."""
        keys = {digest(url): url for url in mended(list(urls))}
        rows = self._fetch("SELECT digest, id FROM sources WHERE digest = ANY($1::bytea[])", list(keys))
        return {keys[bytes(row[0])]: row[1] for row in rows}

    def _sources(self, query: SourceQuery) -> list[Source]:
        by, way = _ORDERS[query.order.removeprefix("-")], "DESC" if query.order.startswith("-") else "ASC"
        where, values = numbered(self._conditions(query))
        if way == "DESC" and by[0] in _UNKNOWN and query.limit is not None:
            statement = _known_then_unknown(by[0], where, len(values))
        else:
            statement = f"SELECT {_LINE} FROM {_ordered(by, way, where)}"
        places = f"LIMIT ${len(values) + 1} OFFSET ${len(values) + 2}"
        rows = self._fetch(f"{statement} {places}", *values, query.limit, max(query.offset, 0))
        return [source_of(row) for row in rows]

    def _ids_in_order(self, query: SourceQuery) -> array[int]:
        by, way = _ORDERS[query.order.removeprefix("-")], "DESC" if query.order.startswith("-") else "ASC"
        where, values = numbered(self._conditions(query))
        statement = f"SELECT sources.id FROM {_ordered(by, way, where)}"
        ((told,),) = self._fetch(f"SELECT array_agg(id) FROM ({statement}) AS ordered", *values)
        return array("q", told or ())

    def _conditions(self, query: SourceQuery, *, along_state: bool = False) -> Iterator[tuple[str, Any]]:
        if query.ids is not None:
            yield "sources.id = ANY(${0})", fitting(query.ids)
        if query.state is not None:
            yield "sources.state = ${0}", query.state
        if query.tag is not None:
            yield "sources.id IN (SELECT source FROM tags WHERE digest = ${0})", digest(query.tag)
        if query.text:
            looked = "(strpos(lower(sources.url), lower(${0})) > 0 OR strpos(lower(sources.title), lower(${0})) > 0)"
            yield looked, query.text
        if query.since_revision:
            yield "sources.revision > ${0}", query.since_revision

    def edit(self, sources: Sequence[Source]) -> None:
        """Replace lines of the catalogue (by id), giving each a new revision."""
        if sources:
            edited = {source.id: source for source in mended(list(sources))}
            self._connections.writing(lambda connection: _edit(connection, edited))

    def remove(self, ids: Sequence[int]) -> int:
        """Forget sources and all that was found in them, and leave word of it; how many there were."""
        return self._connections.writing(lambda connection: remove(connection, ids)) if ids else 0

    def revision(self) -> int:
        """The largest revision given so far, removals included."""
        return int(self._fetch("SELECT value FROM counters WHERE name = 'revision'")[0][0])


def next_revision(connection: PostgresConnection) -> int:
    """A number larger than every one given before; others who want one wait until this transaction ends."""
    statement = "UPDATE counters SET value = value + 1 WHERE name = 'revision' RETURNING value"
    return int(connection.fetchval(statement))


def _add(connection: PostgresConnection, sources: Sequence[Source]) -> list[Added]:
    added = add(connection, sources)
    _claim(connection, [each.id for each in added if not each.new])
    return added


def _claim(connection: PostgresConnection, ids: Sequence[int]) -> None:
    """The owner asked for these: they stay, whoever brought them."""
    if ids:
        connection.run("DELETE FROM brought WHERE source = ANY($1)", list(ids))


def add(connection: PostgresConnection, sources: Sequence[Source]) -> list[Added]:
    """Take in those whose URL is new, each with its progress and tags."""
    if not sources:
        return []
    number = next_revision(connection)
    keys = [digest(source.url) for source in sources]
    known = {
        row[1]: row[0]
        for row in connection.fetch("SELECT id, digest FROM sources WHERE digest = ANY($1)", list(set(keys)))
    }
    new: dict[bytes, Source] = {}
    for key, source in zip(keys, sources, strict=True):
        if key not in known:
            new.setdefault(key, source)
    given = _insert(connection, new, number)
    firsts = set(given)
    added = []
    for key in keys:
        added.append(Added(known.get(key) or given[key], key in firsts))
        firsts.discard(key)
    return added


def _insert(connection: PostgresConnection, new: dict[bytes, Source], number: int) -> dict[bytes, int]:
    if not new:
        return {}
    rows = [(*source_row(source, number), key) for key, source in new.items()]
    ids = [row[0] for row in connection.fetch(_INSERT, *columns_of(rows, 0))]
    connection.run("INSERT INTO progress (source) SELECT unnest($1::bigint[])", ids)
    _tag(connection, zip(ids, new.values(), strict=True))
    return dict(zip(new, ids, strict=True))


def _tag(connection: PostgresConnection, sources: Any) -> None:
    rows = [(tag, id, digest(tag)) for id, source in sources for tag in source.tags]
    if rows:
        connection.run(_TAG, *columns_of(rows, 3))


def _edit(connection: PostgresConnection, edited: dict[int, Source]) -> None:
    number = next_revision(connection)
    keys = {id: digest(source.url) for id, source in edited.items()}
    _refuse_impossible(connection, edited, keys)
    connection.run(_STRAY, list(keys), list(keys.values()), number)
    rows = [(*source_row(source, number), keys[id], id) for id, source in edited.items()]
    connection.run(_REPLACE, *columns_of(rows, 0))
    connection.run("DELETE FROM tags WHERE source = ANY($1)", list(edited))
    _tag(connection, edited.items())
    _claim(connection, list(edited))


def _refuse_impossible(connection: PostgresConnection, edited: dict[int, Source], keys: dict[int, bytes]) -> None:
    wanted = fitting(edited)
    there = {row[0] for row in connection.fetch("SELECT id FROM sources WHERE id = ANY($1)", wanted)}
    for id in edited:
        if id not in there:
            raise StoreError(f"there is no source {id}")
    owners = connection.fetch("SELECT digest, id FROM sources WHERE digest = ANY($1)", list(keys.values()))
    taken = {row[0]: row[1] for row in owners}
    for id, source in edited.items():
        if taken.setdefault(keys[id], id) != id:
            raise StoreError(f"{source.url} is in the catalogue already: source {id} cannot have it")


def remove(connection: PostgresConnection, ids: Sequence[int]) -> int:
    """Forget sources and all that was found in them; how many there were."""
    number = next_revision(connection)
    gone = 0
    for page in pages(fitting(ids)):
        # Waits for batches that are writing about these sources, and keeps new ones from beginning.
        rows = connection.fetch("DELETE FROM sources WHERE id = ANY($1) RETURNING id", page)
        found = [row[0] for row in rows]
        connection.run("INSERT INTO removed SELECT unnest($1::bigint[]), $2", found, number)
        for table in _BELONGING:
            connection.run(f"DELETE FROM {table} WHERE source = ANY($1)", found)
        gone += len(found)
    return gone


def _ordered(by: tuple[str, ...], way: str, where: str) -> str:
    of_progress = by[0].startswith("progress")
    joined = "sources JOIN progress ON progress.source = sources.id" if of_progress else "sources"
    last = " NULLS LAST" if by[0] in _UNKNOWN else ""
    tie = "progress.source" if of_progress else "sources.id"
    columns = [f"{column} {way}{last}" for column in by] + [f"{tie} {way}"]
    return f"{joined}{where} ORDER BY {', '.join(columns)}"


def _known_then_unknown(column: str, where: str, values: int) -> str:
    """Descending with the unknown last, by two walks along an index that has them first."""
    most = f"LIMIT ${values + 1}::bigint + ${values + 2}::bigint"
    joined = "FROM sources JOIN progress ON progress.source = sources.id" + (where + " AND" if where else " WHERE")
    known = f"{joined} {column} IS NOT NULL ORDER BY {column} DESC, progress.source DESC {most}"
    unknown = f"{joined} {column} IS NULL ORDER BY progress.source DESC {most}"
    both = " UNION ALL ".join(f"(SELECT {_LINE}, {column} AS place {part})" for part in (known, unknown))
    return f"SELECT {columns(Source)} FROM ({both}) AS both_parts ORDER BY place DESC NULLS LAST, id DESC"
