"""Writing what crawls led to, in one transaction, a statement per table."""

from __future__ import annotations

import json
import sqlite3
from itertools import chain

from recrawl.config import Discovery
from recrawl.store.discovery import COUNT, NOTE, Finds
from recrawl.store.records import Batch, Crawl, Event, Hold, Item, Price, Progress, Robots, Source, Version, VisitUpdate
from recrawl.store.rows import columns, crawl_of, mended, names, pages
from recrawl.store.sql import READ_NOTE, SqlCrawlLog, write_note
from recrawl.store.sql_marks import put
from recrawl.store.sqlite.catalogue import add, next_revision
from recrawl.store.sqlite.database import numbers
from recrawl.store.sqlite.push import take_away
from recrawl.store.sqlite.role import SqliteRole, SqliteStatements
from recrawl.store.sqlite.rows import as_row, insert, insertion

MANY = 200
"""Items from which on SQLite does not look again for what each row refers to. `_write` has made sure that the sources
are there; all else that is referred to is selected from its own table, and nothing is deleted that is referred to."""

_CRAWL = "INSERT INTO crawls (id, before, " + columns(Crawl) + f") VALUES (?, ?{', ?' * len(names(Crawl))})"
_ITEM = insertion("items", Item, without="id", how="INSERT OR IGNORE")
_VERSION = insertion("versions", Version, without="id")
_RECORD = {
    table: f"INSERT OR REPLACE INTO {table} (source, record) VALUES (?, ?)"
    for table in ("restless", "numbers", "rendering", "screenshots")
}
"""Of what is kept of pages, by the table and the name in `VisitUpdate`."""
_CONTENT = "INSERT OR IGNORE INTO contents SELECT id, ?, ? FROM items WHERE source = ? AND key = ?"
_ARTICLE = "INSERT OR IGNORE INTO articles SELECT id, ?, 0 FROM items WHERE source = ? AND key = ?"
_BLOCK = "INSERT OR IGNORE INTO dropped (source, key) VALUES (?, ?)"
_EVENT = insertion("events", Event, without="seq")
_HOLD = insertion("holds", Hold, how="INSERT OR REPLACE")
_ROBOTS = insertion("robots", Robots, how="INSERT OR REPLACE")
_PRICE = insertion("prices", Price)
_SETS = ", ".join(f'"{name}" = ?' for name in names(Progress)[1:])
_SCHEDULE = f"UPDATE progress SET {_SETS} WHERE source = ?"
_PROGRESS = f"UPDATE progress SET {_SETS}, crawl = ? WHERE source = ?"
# Of a number that was used again, after all crawls were dropped, the source or the order is another.
_CRAWLS_OF_SOURCE = f"""
WITH RECURSIVE back (id) AS (
    SELECT crawl FROM progress WHERE source = $1
    UNION ALL
    SELECT crawls.before FROM back CROSS JOIN crawls ON crawls.id = back.id
    WHERE crawls.source = $1 AND crawls.before < crawls.id
    LIMIT $3
)
SELECT {columns(Crawl)} FROM (
    SELECT crawls.* FROM back CROSS JOIN crawls ON crawls.id = back.id WHERE crawls.source = $1 AND at >= $2
    UNION ALL
    SELECT * FROM (
        SELECT * FROM crawls WHERE source = $1 AND at >= $2 AND before IS NULL ORDER BY at DESC, id DESC LIMIT $3
    )
) ORDER BY at DESC, id DESC LIMIT $3
"""
# Only what a crawl can find out is written, so that an edit its owner made meanwhile stays. A column that is named is
# taken out of its index and put back, even if it stays as it is: so moves and retirements, which are rare, are apart.
_MOVED = """
UPDATE sources SET url = :url
WHERE id = :id AND url <> :url AND revision = :old AND NOT EXISTS (SELECT 1 FROM sources WHERE url = :url)
"""
_RETIRED = "UPDATE sources SET state = 'retired' WHERE id = :id"
_FOUND_OUT = """
UPDATE sources SET
    kind = :kind, note = :note, revision = :new,
    cost = CASE WHEN revision = :old THEN :cost ELSE cost END
WHERE id = :id
"""
# Many to a statement: the index of letters is written out whenever one of its statements begins.
_TITLES = """
WITH found (id, title) AS (VALUES {})
UPDATE sources SET title = found.title FROM found WHERE sources.id = found.id AND sources.title <> found.title
"""
_TITLES_TOGETHER = 200

_crawl_row = as_row(Crawl)
_item_row = as_row(Item, without="id")
_version_row = as_row(Version, without="id")
_event_row = as_row(Event, without="seq")
_hold_row = as_row(Hold)
_robots_row = as_row(Robots)
_progress_values = as_row(Progress, without="source")


class SqliteCrawlLog(SqliteRole, SqlCrawlLog):
    """The crawl log of a store in one file."""

    def crawls(self, *, source: int | None = None, since: float | None = None, limit: int = 100) -> list[Crawl]:
        """Latest first. Where a clock went back, those of one source are the `limit` committed last."""
        if source is None:
            return super().crawls(since=since, limit=limit)
        bound = float("-inf") if since is None else since
        return [crawl_of(row) for row in self._fetch(_CRAWLS_OF_SOURCE, source, bound, limit)]

    def commit(self, batch: Batch) -> None:
        """Write it all, or nothing; durable against the death of the process when it returns.

        What a batch holds of a source that was removed meanwhile is left out. An edit of the catalogue made since the
        crawl read its line is kept: a crawl's own changes (kind, title, note, retirement, move) are applied to it.
        """
        referring = sum(len(each.items) for each in batch.updates) < MANY
        try:
            with self._database.writing(referring=referring) as connection:
                _write(connection, batch)
        except UnicodeEncodeError:
            # Text from the web that is no text is rare: it is looked for only when the driver finds some.
            with self._database.writing(referring=referring) as connection:
                _write(connection, mended(batch))


def _write(connection: sqlite3.Connection, batch: Batch) -> None:
    """All of a batch. What a crawl found in a source that was removed meanwhile is left out."""
    latest = _latest_crawls(connection, batch.updates)
    updates = [s for s in batch.updates if s.crawl.source in latest]
    _write_ahead(connection, batch)
    connection.executemany(_SCHEDULE, [(*_progress_values(each), each.source) for each in batch.progress])
    _write_crawls(connection, updates, latest)
    _write_items(connection, [_item_row(item) for s in updates for item in s.items])
    connection.executemany(_VERSION, [_version_row(s.version) for s in updates if s.version])
    for table, statement in _RECORD.items():
        records = [(s.crawl.source, record) for s in updates if (record := getattr(s, table)) is not None]
        connection.executemany(statement, records)
    _write_reading(connection, updates)
    _write_catalogue(connection, updates, batch.discovery)
    insert(connection, _EVENT, [_event_row(event) for s in updates for event in s.events])
    connection.executemany(_HOLD, map(_hold_row, batch.holds))
    connection.executemany(_ROBOTS, map(_robots_row, batch.robots))
    take_away(connection, batch.heard)
    if batch.price is not None:
        connection.execute(_PRICE, as_row(Price)(batch.price))
    if batch.shared is not None:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('shared', ?)", (batch.shared,))


def _latest_crawls(connection: sqlite3.Connection, updates: list[VisitUpdate]) -> dict[int, int]:
    """Of the sources crawled that are still there: every source has its progress."""
    wanted = numbers(sorted({s.crawl.source for s in updates}))
    read = "SELECT source, crawl FROM progress WHERE source IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(read, (wanted,)).fetchall())


def _write_crawls(connection: sqlite3.Connection, updates: list[VisitUpdate], latest: dict[int, int]) -> None:
    """The crawls, each with the one before it of its source, and the progress they led to."""
    crawls, progress = [], []
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM crawls").fetchone()
    for id, update in enumerate(updates, last + 1):
        source = update.crawl.source
        crawls.append((id, latest[source], *_crawl_row(update.crawl)))
        progress.append((*_progress_values(update.progress), id, source))
        latest[source] = id
    connection.executemany(_CRAWL, crawls)
    connection.executemany(_PROGRESS, progress)


def _there(connection: sqlite3.Connection, sources: list[int]) -> set[int]:
    wanted = numbers(sorted(set(sources)))
    rows = connection.execute("SELECT id FROM sources WHERE id IN (SELECT value FROM json_each(?))", (wanted,))
    return {row[0] for row in rows}


def _write_ahead(connection: sqlite3.Connection, batch: Batch) -> None:
    if not batch.items:
        return
    there = _there(connection, [item.source for item in batch.items])
    kept = [place for place, item in enumerate(batch.items) if item.source in there]
    _write_items(connection, [_item_row(batch.items[place]) for place in kept])
    insert(connection, _EVENT, [_event_row(batch.events[place]) for place in kept])


def _write_items(connection: sqlite3.Connection, rows: list[tuple[object, ...]]) -> None:
    """The items, and their words in the index: ids grow, so those above the largest before are the new ones."""
    if not rows:
        return
    last = connection.execute("SELECT coalesce(max(id), 0) FROM items").fetchone()[0]
    insert(connection, _ITEM, rows)
    connection.execute(
        "INSERT INTO items_text (rowid, title, summary) SELECT id, title, summary FROM items WHERE id > ?", (last,)
    )


def _write_reading(connection: sqlite3.Connection, updates: list[VisitUpdate]) -> None:
    """What items say in full, what rules put on them, and those that are not wanted."""
    said = [
        (each.author, each.record, s.crawl.source, key)
        for s in updates
        if s.contents
        for key, each in s.contents.items()
    ]
    connection.executemany(_CONTENT, said)
    put(SqliteStatements(connection), [(s.crawl.source, s.crawl.at, mark) for s in updates for mark in s.marks])
    wanted = [(s.crawl.at, s.crawl.source, key) for s in updates for key in s.articles]
    connection.executemany(_ARTICLE, wanted)
    connection.executemany(_BLOCK, [(s.crawl.source, key) for s in updates for key in s.blocked])


def _write_catalogue(connection: sqlite3.Connection, updates: list[VisitUpdate], bounds: Discovery) -> None:
    changed = [s.source for s in updates if s.source is not None]
    if changed:
        revision = next_revision(connection)
        for source in changed:
            row = _found_out(source, revision)
            connection.execute(_MOVED, row)
            if source.state == "retired":
                connection.execute(_RETIRED, row)
            connection.execute(_FOUND_OUT, row)
        for some in pages({source.id: source.title for source in changed}.items(), _TITLES_TOGETHER):
            connection.execute(_TITLES.format(", ".join(["(?, ?)"] * len(some))), [*chain.from_iterable(some)])
    if children := [child for s in updates for child in s.children]:
        _take_in(connection, Finds(children, bounds))


def _take_in(connection: sqlite3.Connection, finds: Finds) -> None:
    """Sources that were found, as far as the bounds allow."""
    listed = json.dumps([*finds.children])
    known = connection.execute("SELECT url FROM sources WHERE url IN (SELECT value FROM json_each(?))", (listed,))
    add(connection, finds.within({row[0] for row in known}, dict(connection.execute(COUNT).fetchall())))
    statements = SqliteStatements(connection)
    before = statements.fetch(READ_NOTE, NOTE)
    statements.run(*write_note(NOTE, finds.note(before[0][0] if before else None)))


def _found_out(source: Source, revision: int) -> dict[str, object]:
    kept = ("id", "kind", "note", "state", "cost", "url")
    return {name: getattr(source, name) for name in kept} | {"old": source.revision, "new": revision}
