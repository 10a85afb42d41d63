"""The catalogue in SQL: sources come, change and go, and every change carries a new revision.

Whoever changes the catalogue takes the next revision first and holds it until the end of the transaction. Changes are
therefore made one after the other, are seen in the order of their revisions, and need not be tried for conflicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recrawl.errors import ParameterError, StoreError
from recrawl.store.base import Added, Progress, Source, SourceState
from recrawl.store.postgres.rows import Table, columns_of, digest, fitting, pages
from recrawl.store.sqlite.rows import columns, names, progress_of, source_of, source_row

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
_BELONGING = ("tags", "progress", "crawls", "items", "dropped", "versions", "strayed")

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
_PAGE = 5000


async def next_revision(connection: Any) -> int:
    """A number larger than every one given before; others who want one wait until this transaction ends."""
    statement = "UPDATE counters SET value = value + 1 WHERE name = 'revision' RETURNING value"
    return int(await connection.fetchval(statement))


async def revision(connection: Any) -> int:
    """The last one given."""
    return int(await connection.fetchval("SELECT value FROM counters WHERE name = 'revision'"))


async def add(connection: Any, sources: Sequence[Source]) -> list[Added]:
    """Take in those whose URL is new, each with its progress and tags."""
    if not sources:
        return []
    number = await next_revision(connection)
    keys = [digest(source.url) for source in sources]
    known = {
        row[1]: row[0]
        for row in await connection.fetch("SELECT id, digest FROM sources WHERE digest = ANY($1)", list(set(keys)))
    }
    new: dict[bytes, Source] = {}
    for key, source in zip(keys, sources, strict=True):
        if key not in known:
            new.setdefault(key, source)
    given = await _insert(connection, new, number)
    firsts = set(given)
    added = []
    for key in keys:
        added.append(Added(known.get(key) or given[key], key in firsts))
        firsts.discard(key)
    return added


async def _insert(connection: Any, new: dict[bytes, Source], number: int) -> dict[bytes, int]:
    if not new:
        return {}
    rows = [(*source_row(source, number), key) for key, source in new.items()]
    ids = [row[0] for row in await connection.fetch(_INSERT, *columns_of(rows, 0))]
    await connection.execute("INSERT INTO progress (source) SELECT unnest($1::bigint[])", ids)
    await _tag(connection, zip(ids, new.values(), strict=True))
    return dict(zip(new, ids, strict=True))


async def _tag(connection: Any, sources: Any) -> None:
    rows = [(tag, id, digest(tag)) for id, source in sources for tag in source.tags]
    if rows:
        await connection.execute(_TAG, *columns_of(rows, 3))


async def edit(connection: Any, sources: Sequence[Source]) -> None:
    """Replace lines by id."""
    number = await next_revision(connection)
    edited = {source.id: source for source in sources}
    keys = {id: digest(source.url) for id, source in edited.items()}
    await _refuse_impossible(connection, edited, keys)
    await connection.execute(_STRAY, list(keys), list(keys.values()), number)
    rows = [(*source_row(source, number), keys[id], id) for id, source in edited.items()]
    await connection.execute(_REPLACE, *columns_of(rows, 0))
    await connection.execute("DELETE FROM tags WHERE source = ANY($1)", list(edited))
    await _tag(connection, edited.items())


async def _refuse_impossible(connection: Any, edited: dict[int, Source], keys: dict[int, bytes]) -> None:
    wanted = fitting(edited)
    there = {row[0] for row in await connection.fetch("SELECT id FROM sources WHERE id = ANY($1)", wanted)}
    for id in edited:
        if id not in there:
            raise StoreError(f"there is no source {id}")
    owners = await connection.fetch("SELECT digest, id FROM sources WHERE digest = ANY($1)", list(keys.values()))
    taken = {row[0]: row[1] for row in owners}
    for id, source in edited.items():
        if taken.setdefault(keys[id], id) != id:
            raise StoreError(f"{source.url} is in the catalogue already: source {id} cannot have it")


async def remove(connection: Any, ids: Sequence[int]) -> int:
    """Drop sources with everything that refers to them, and leave word of it."""
    number = await next_revision(connection)
    gone = 0
    for page in pages(fitting(ids)):
        # Waits for batches that are writing about these sources, and keeps new ones from beginning.
        rows = await connection.fetch("DELETE FROM sources WHERE id = ANY($1) RETURNING id", page)
        found = [row[0] for row in rows]
        await connection.execute("INSERT INTO removed SELECT unnest($1::bigint[]), $2", found, number)
        for table in _BELONGING:
            await connection.execute(f"DELETE FROM {table} WHERE source = ANY($1)", found)
        gone += len(found)
    return gone


async def removed(connection: Any, since_revision: int) -> list[int]:
    """Ids of sources removed after a revision."""
    statement = "SELECT source FROM removed WHERE revision > $1 ORDER BY source"
    return [row[0] for row in await connection.fetch(statement, since_revision)]


async def find(connection: Any, target: int | str) -> Source | None:
    """By id or URL."""
    column, value = ("digest", digest(target)) if isinstance(target, str) else ("id", target)
    row = await connection.fetchrow(f"SELECT {columns(Source)} FROM sources WHERE {column} = $1", value)
    return source_of(row) if row else None


def _conditions(
    ids: Sequence[int] | None, state: SourceState | None, tag: str | None, text: str | None, since_revision: int
) -> tuple[str, list[Any]]:
    given: list[tuple[str, Any]] = []
    if ids is not None:
        given.append(("sources.id = ANY(${})", fitting(ids)))
    if state is not None:
        given.append(("sources.state = ${}", state))
    if tag is not None:
        given.append(("sources.id IN (SELECT source FROM tags WHERE digest = ${})", digest(tag)))
    if text:
        looked = "(strpos(lower(sources.url), lower(${0})) > 0 OR strpos(lower(sources.title), lower(${0})) > 0)"
        given.append((looked, text))
    if since_revision:
        given.append(("sources.revision > ${}", since_revision))
    parts = [condition.format(place) for place, (condition, _) in enumerate(given, 1)]
    return (" WHERE " + " AND ".join(parts) if parts else ""), [value for _, value in given]


async def select(
    connection: Any,
    *,
    ids: Sequence[int] | None,
    state: SourceState | None,
    tag: str | None,
    text: str | None,
    since_revision: int,
    order: str,
    limit: int | None,
    offset: int,
) -> list[Source]:
    """Those that match all that is given, in order."""
    where, values = _conditions(ids, state, tag, text, since_revision)
    by = _ORDERS.get(order.removeprefix("-"))
    if by is None:
        raise ParameterError("order", f"one of {', '.join(_ORDERS)}, with or without a leading -", repr(order))
    way = "DESC" if order.startswith("-") else "ASC"
    if way == "DESC" and by[0] in _UNKNOWN and limit is not None:
        statement = _known_then_unknown(by[0], where, len(values))
    else:
        statement = f"SELECT {_LINE} FROM {_ordered(by, way, where)}"
    places = f"LIMIT ${len(values) + 1} OFFSET ${len(values) + 2}"
    rows = await connection.fetch(f"{statement} {places}", *values, limit, max(offset, 0))
    return [source_of(row) for row in rows]


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


async def count(
    connection: Any, state: SourceState | None, tag: str | None, text: str | None, never_fetched: bool
) -> int:
    """How many match."""
    where, values = _conditions(None, state, tag, text, 0)
    if never_fetched:
        unknown = "sources.id IN (SELECT source FROM progress WHERE last IS NULL)"
        where = f"{where} AND {unknown}" if where else f" WHERE {unknown}"
    return int(await connection.fetchval(f"SELECT count(*) FROM sources{where}", *values))


async def progress_page(connection: Any, after: int) -> list[Progress]:
    """The next few thousand rows of all, by id."""
    statement = f"SELECT {columns(Progress)} FROM progress WHERE source > $1 ORDER BY source LIMIT {_PAGE}"
    return [progress_of(row) for row in await connection.fetch(statement, after)]


async def progress_of_some(connection: Any, ids: Sequence[int]) -> list[Progress]:
    """Of these sources, in the order of their ids."""
    statement = f"SELECT {columns(Progress)} FROM progress WHERE source = ANY($1) ORDER BY source"
    return [progress_of(row) for row in await connection.fetch(statement, ids)]
