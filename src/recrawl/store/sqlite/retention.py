"""Dropping what is past its time, a few thousand rows per transaction, so that a running crawler is not kept waiting.

An item that its source still lists when retention drops it leaves its key behind (table `dropped`): its content is gone
when its age says so and the space is given back, and yet it is not found anew on the next visit. A key stays as long as
the source lists it. Keeping such items whole instead would keep a sitemap's fifty thousand for ever.

The latest version of a page is never dropped: the next change is shown against it. Events go once every outlet has
passed them, and at the age of items in any case, so that an outlet nobody uses any more does not keep them.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

from recrawl.store.base import Keep, Vacuumed, keys_in
from recrawl.store.sqlite import wal
from recrawl.store.sqlite.database import Database
from recrawl.store.sqlite.rows import numbers

CHUNK = 2000
_FREED_AT_ONCE = 1000
_NOT_LATEST = "at < (SELECT max(at) FROM versions AS later WHERE later.source = versions.source)"
_AGED = {
    "items": "SELECT id FROM items WHERE first_seen < ? ORDER BY first_seen LIMIT ?",
    "crawls": "SELECT id FROM crawls WHERE at < ? ORDER BY at LIMIT ?",
    "prices": "SELECT id FROM prices WHERE at < ? ORDER BY at LIMIT ?",
    "versions": f"SELECT id FROM versions WHERE at < ? AND {_NOT_LATEST} ORDER BY at LIMIT ?",
    "events": "SELECT seq FROM events WHERE at < ? ORDER BY seq LIMIT ?",
}
_TIMES = {"items": "first_seen", "crawls": "at", "versions": "at"}
_SURPLUS = """
SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY source ORDER BY at DESC, id DESC) AS place FROM versions)
WHERE place > ?
"""
_DELIVERED = "DELETE FROM events WHERE seq <= (SELECT coalesce(min(seq), 9223372036854775807) FROM outlets)"
# Robots files and holds are of use for days at most.
_STALE_S = 30 * 86400.0


def vacuum(database: Database, keep: Keep, now: float) -> Vacuumed:
    """By age, then by number, then by size; then give the space back. First the log's, to have room for the rest."""
    with database.alone() as connection:
        wal.empty(connection)
        before = _file_size(connection)
    gone = Vacuumed(before=before)
    for table, age in (("items", keep.items), ("crawls", keep.crawls), ("prices", keep.prices), ("events", keep.items)):
        _count(gone, table, _drop_before(database, table, now - age))
    _drop_surplus_versions(database, max(keep.versions, 1), gone)
    with database.writing() as connection:
        _count(gone, "events", connection.execute(_DELIVERED).rowcount)
        connection.execute("DELETE FROM holds WHERE until < ?", (now - _STALE_S,))
        connection.execute("DELETE FROM robots WHERE fetched < ?", (now - _STALE_S,))
        _forget_keys_no_longer_listed(connection)
    if keep.size:
        _fit(database, keep.size, gone)
    gone.after = _give_back(database, words_dropped=gone.items > 0)
    return gone


def _count(gone: Vacuumed, table: str, rows: int) -> None:
    setattr(gone, table, getattr(gone, table) + rows)


def _drop_before(database: Database, table: str, time: float) -> int:
    dropped = 0
    while True:
        with database.writing() as connection:
            ids = [row[0] for row in connection.execute(_AGED[table], (time, CHUNK))]
            _drop(connection, table, ids)
        dropped += len(ids)
        if len(ids) < CHUNK:
            return dropped


def _drop(connection: sqlite3.Connection, table: str, ids: Sequence[int]) -> None:
    if table == "items":
        _remember_listed(connection, ids)
    connection.execute(f"DELETE FROM {table} WHERE rowid IN (SELECT value FROM json_each(?))", (numbers(ids),))


def _remember_listed(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    statement = "SELECT source, key FROM items WHERE id IN (SELECT value FROM json_each(?))"
    going: dict[int, list[int]] = defaultdict(list)
    for source, key in connection.execute(statement, (numbers(ids),)):
        going[source].append(key)
    for source, keys in going.items():
        listed = _listed(connection, source)
        rows = [(source, key) for key in keys if key in listed]
        connection.executemany("INSERT OR IGNORE INTO dropped VALUES (?, ?)", rows)


def _listed(connection: sqlite3.Connection, source: int) -> frozenset[int]:
    row = connection.execute("SELECT listing FROM progress WHERE source = ?", (source,)).fetchone()
    return frozenset(keys_in(row[0])) if row else frozenset()


def _forget_keys_no_longer_listed(connection: sqlite3.Connection) -> None:
    for (source,) in connection.execute("SELECT DISTINCT source FROM dropped").fetchall():
        keys = [row[0] for row in connection.execute("SELECT key FROM dropped WHERE source = ?", (source,))]
        listed = _listed(connection, source)
        left = [(source, key) for key in keys if key not in listed]
        connection.executemany("DELETE FROM dropped WHERE source = ? AND key = ?", left)


def _drop_surplus_versions(database: Database, kept: int, gone: Vacuumed) -> None:
    with database.reading() as connection:
        ids = [row[0] for row in connection.execute(_SURPLUS, (kept,))]
    for start in range(0, len(ids), CHUNK):
        with database.writing() as connection:
            _drop(connection, "versions", ids[start : start + CHUNK])
    _count(gone, "versions", len(ids))


def _fit(database: Database, size: int, gone: Vacuumed) -> None:
    """Drop the oldest share of items, crawls and versions, half of what seems too much at a time, until it fits."""
    while (used := _used(database)) > size:
        share = max(0.5 * (1.0 - size / used), 0.01)
        dropped = 0
        for table in _TIMES:
            rows = _drop_oldest(database, table, share)
            _count(gone, table, rows)
            dropped += rows
        if not dropped:
            return


def _drop_oldest(database: Database, table: str, share: float) -> int:
    condition = f" WHERE {_NOT_LATEST}" if table == "versions" else ""
    with database.reading() as connection:
        rows = connection.execute(f"SELECT count(*) FROM {table}{condition}").fetchone()[0]
    wanted, dropped = -int(-rows * share // 1), 0
    while dropped < wanted:
        with database.writing() as connection:
            ids = [row[0] for row in connection.execute(_AGED[table], (float("inf"), min(CHUNK, wanted - dropped)))]
            _drop(connection, table, ids)
        if not ids:
            break
        dropped += len(ids)
    return dropped


def _used(database: Database) -> int:
    """Bytes in use, once the index of words has let go of what was dropped."""
    _merge_words(database)
    with database.alone() as connection:
        page = connection.execute("PRAGMA page_size").fetchone()[0]
        free = connection.execute("PRAGMA freelist_count").fetchone()[0]
        return int(_file_size(connection) - free * page)


def _merge_words(database: Database) -> None:
    while True:
        with database.writing() as connection:
            before = connection.total_changes
            connection.execute("INSERT INTO items_text (items_text, rank) VALUES ('merge', -500)")
            if connection.total_changes - before < 2:
                return


def _give_back(database: Database, words_dropped: bool) -> int:
    """Empty pages leave the file, a few at a time; the size it has then."""
    if words_dropped:
        _merge_words(database)
    free, before = _free_pages(database), -1
    while free and free != before:
        with database.alone() as connection:
            connection.execute(f"PRAGMA incremental_vacuum({_FREED_AT_ONCE})").fetchall()
        free, before = _free_pages(database), free
    with database.alone() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return _file_size(connection)


def _free_pages(database: Database) -> int:
    with database.alone() as connection:
        return int(connection.execute("PRAGMA freelist_count").fetchone()[0])


def _file_size(connection: sqlite3.Connection) -> int:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    return int(pages * connection.execute("PRAGMA page_size").fetchone()[0])
