"""The catalogue in SQL: sources come, change and go, and every change carries a new revision."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from recrawl.errors import ParameterError, StoreError
from recrawl.store.base import Added, Progress, Source, SourceState
from recrawl.store.sqlite.rows import columns, insertion, names, numbers, progress_of, source_of, source_row

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
_PAGE = 5000
_COLUMNS = columns(Source, "sources")
_SHORTEST_INDEXED = 3
"""Letters from which on a text is looked for in the index."""
_FEW = 2000


def next_revision(connection: sqlite3.Connection) -> int:
    """A number larger than every one given before."""
    statement = "UPDATE meta SET value = value + 1 WHERE name = 'revision' RETURNING value"
    return int(connection.execute(statement).fetchone()[0])


def revision(connection: sqlite3.Connection) -> int:
    """The last one given."""
    return int(connection.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()[0])


def add(connection: sqlite3.Connection, sources: Sequence[Source]) -> list[Added]:
    """Take in those whose URL is new, each with its progress and tags."""
    if not sources:
        return []
    number = next_revision(connection)
    added = [_added(connection, source, number) for source in sources]
    connection.executemany("INSERT INTO progress (source) VALUES (?)", [(each.id,) for each in added if each.new])
    tags = [(tag, each.id) for source, each in zip(sources, added, strict=True) if each.new for tag in source.tags]
    connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", tags)
    return added


def _added(connection: sqlite3.Connection, source: Source, number: int) -> Added:
    cursor = connection.execute(_INSERT, source_row(source, number))
    if cursor.rowcount:
        return Added(int(cursor.lastrowid or 0), True)
    return Added(connection.execute("SELECT id FROM sources WHERE url = ?", (source.url,)).fetchone()[0], False)


def edit(connection: sqlite3.Connection, sources: Sequence[Source]) -> None:
    """Replace lines by id."""
    number = next_revision(connection)
    for source in sources:
        try:
            cursor = connection.execute(_REPLACE, (*source_row(source, number), source.id))
        except sqlite3.IntegrityError:
            raise StoreError(f"{source.url} is in the catalogue already: source {source.id} cannot have it") from None
        if not cursor.rowcount:
            raise StoreError(f"there is no source {source.id}")
        connection.execute("DELETE FROM tags WHERE source = ?", (source.id,))
        tags = [(tag, source.id) for tag in source.tags]
        connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", tags)


def remove(connection: sqlite3.Connection, ids: Sequence[int]) -> int:
    """Drop sources with everything that refers to them, and leave word of it."""
    number = next_revision(connection)
    given = numbers(ids)
    connection.execute(
        "INSERT OR REPLACE INTO removed SELECT id, ? FROM sources WHERE id IN (SELECT value FROM json_each(?))",
        (number, given),
    )
    return connection.execute("DELETE FROM sources WHERE id IN (SELECT value FROM json_each(?))", (given,)).rowcount


def removed(connection: sqlite3.Connection, since_revision: int) -> list[int]:
    """Ids of sources removed after a revision."""
    statement = "SELECT source FROM removed WHERE revision > ? ORDER BY source"
    return [row[0] for row in connection.execute(statement, (since_revision,))]


def find(connection: sqlite3.Connection, target: int | str) -> Source | None:
    """By id or URL."""
    column = "url" if isinstance(target, str) else "id"
    row = connection.execute(f"SELECT {columns(Source)} FROM sources WHERE {column} = ?", (target,)).fetchone()
    return source_of(row) if row else None


def _conditions(
    ids: Sequence[int] | None, state: SourceState | None, tag: str | None, text: str | None, since_revision: int
) -> tuple[str, list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    if ids is not None:
        parts.append("sources.id IN (SELECT value FROM json_each(?))")
        values.append(numbers(ids))
    if state is not None:
        # Nearly all are active: an index on that would only keep the better one from being used.
        parts.append("+sources.state = ?" if state == "active" else "sources.state = ?")
        values.append(state)
    if tag is not None:
        parts.append("sources.id IN (SELECT source FROM tags WHERE tag = ?)")
        values.append(tag)
    if text and len(text) >= _SHORTEST_INDEXED:
        parts.append("sources.id IN (SELECT rowid FROM sources_text WHERE sources_text MATCH ?)")
        values.append(_phrase(text))
    elif text:
        parts.append("(instr(lower(sources.url), lower(?)) OR instr(lower(sources.title), lower(?)))")
        values += [text, text]
    if since_revision:
        parts.append("sources.revision > ?")
        values.append(since_revision)
    return (" WHERE " + " AND ".join(parts) if parts else ""), values


def select(
    connection: sqlite3.Connection,
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
    column = _ORDERS.get(order.removeprefix("-"))
    if column is None:
        raise ParameterError("order", f"one of {', '.join(_ORDERS)}, with or without a leading -", repr(order))
    where, values = _conditions(ids, state, tag, text, since_revision)
    table = column.partition(".")[0]
    joined = "sources JOIN progress ON progress.source = sources.id" if table == "progress" else "sources"
    way = "DESC" if order.startswith("-") else "ASC NULLS LAST"
    tie = ("progress.source" if table == "progress" else "sources.id") + f" {way.split()[0]}"
    if tag is not None and table == "progress" and ids is None and not (state or text or since_revision):
        return _tagged(connection, tag, column, f"{way}, {tie}", limit, offset)
    if text and _are_few(connection, text):
        column = f"+{column}"  # sort the few that match, instead of looking for them along an index
    window = f"{where} ORDER BY {column} {way}, {tie} LIMIT ? OFFSET ?"
    values += [-1 if limit is None else limit, offset]
    if not offset or limit is None:
        return [source_of(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM {joined}{window}", values)]
    # Those passed over are walked along the index alone.
    alone = "progress" if table == "progress" and not where else joined
    id = "progress.source" if table == "progress" else "sources.id"
    return _at_places(connection, f"SELECT {id} FROM {alone}{window}", values)


def _tagged(
    connection: sqlite3.Connection, tag: str, column: str, way: str, limit: int | None, offset: int
) -> list[Source]:
    """Those with a tag by what is known of them: along the index of that, which is quick however many there are."""
    statement = (
        f"SELECT source FROM progress INDEXED BY {column.replace('.', '_by_')} "
        f"WHERE source IN (SELECT source FROM tags WHERE tag = ?) ORDER BY {column} {way} LIMIT ? OFFSET ?"
    )
    return _at_places(connection, statement, [tag, -1 if limit is None else limit, offset])


def _at_places(connection: sqlite3.Connection, statement: str, values: Sequence[Any]) -> list[Source]:
    """The sources whose ids a statement gives, in its order."""
    places = [row[0] for row in connection.execute(statement, values)]
    chosen = f"SELECT {_COLUMNS} FROM sources WHERE id IN (SELECT value FROM json_each(?))"
    found = {row[0]: source_of(row) for row in connection.execute(chosen, (numbers(places),))}
    return [found[place] for place in places]


def _phrase(text: str) -> str:
    """What to look for in the index of any three letters."""
    return '"' + text.replace("\0", " ").replace('"', '""') + '"'


def _are_few(connection: sqlite3.Connection, text: str) -> bool:
    if len(text) < _SHORTEST_INDEXED:
        return False
    statement = "SELECT count(*) FROM (SELECT 1 FROM sources_text WHERE sources_text MATCH ? LIMIT ?)"
    return bool(connection.execute(statement, (_phrase(text), _FEW)).fetchone()[0] < _FEW)


def count(
    connection: sqlite3.Connection, state: SourceState | None, tag: str | None, text: str | None, never_fetched: bool
) -> int:
    """How many match."""
    where, values = _conditions(None, state, tag, text, 0)
    if never_fetched:
        unknown = "sources.id IN (SELECT source FROM progress WHERE last IS NULL)"
        where = f"{where} AND {unknown}" if where else f" WHERE {unknown}"
    else:
        where = where.replace("+sources.state", "sources.state")
    return int(connection.execute(f"SELECT count(*) FROM sources{where}", values).fetchone()[0])


def progress_page(connection: sqlite3.Connection, after: int) -> list[Progress]:
    """The next few thousand of all, by id."""
    statement = f"SELECT {columns(Progress)} FROM progress WHERE source > ? ORDER BY source LIMIT {_PAGE}"
    return [progress_of(row) for row in connection.execute(statement, (after,))]


def progress_of_some(connection: sqlite3.Connection, ids: Sequence[int]) -> list[Progress]:
    """Of these sources, in the order of their ids."""
    statement = (
        f"SELECT {columns(Progress)} FROM progress WHERE source IN (SELECT value FROM json_each(?)) ORDER BY source"
    )
    return [progress_of(row) for row in connection.execute(statement, (numbers(ids),))]


def pages(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """The ids, a few thousand at a time."""
    return (ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE))
