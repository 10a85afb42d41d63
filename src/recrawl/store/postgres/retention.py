"""Dropping what is past its time, a few thousand rows per transaction, so that a running crawler is not kept waiting.

As in the embedded store, an item that its source still lists leaves its key behind, the latest version of a page stays,
and events go once every outlet has passed them or at the age of items.

The server keeps the space of dropped rows for new ones; that is enough where ages decide, since as much comes as goes.
A bound on the size is held by dropping the oldest until nine tenths of it should be used and then writing the tables
anew, during which a crawler waits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from recrawl.store.base import Keep, Vacuumed, keys_in
from recrawl.store.postgres.rows import columns_of, pages

CHUNK = 5000
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
SELECT seq FROM events WHERE seq <= (SELECT coalesce(min(seq), 9223372036854775807) FROM outlets)
ORDER BY seq LIMIT $1
"""
_REMEMBER = "INSERT INTO dropped SELECT * FROM unnest($1::bigint[], $2::bigint[]) ON CONFLICT DO NOTHING"
_FORGET = (
    "DELETE FROM dropped USING unnest($1::bigint[], $2::bigint[]) AS left_out (source, key) "
    "WHERE dropped.source = left_out.source AND dropped.key = left_out.key"
)
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
"""
_BY_SIZE = ("items", "crawls", "versions")
# Robots files and holds are of use for days at most.
_STALE_S = 30 * 86400.0


async def vacuum(connection: Any, keep: Keep, now: float) -> Vacuumed:
    """By age, then by number, then by size; then give the space back."""
    gone = Vacuumed(before=await connection.fetchval(_SIZE))
    for table, age in (("items", keep.items), ("crawls", keep.crawls), ("prices", keep.prices), ("events", keep.items)):
        _count(gone, table, await _drop_first(connection, table, now - age))
    await _drop_surplus_versions(connection, max(keep.versions, 1), gone)
    await _drop_delivered(connection, gone)
    await connection.execute("DELETE FROM holds WHERE until < $1", now - _STALE_S)
    await connection.execute("DELETE FROM robots WHERE fetched < $1", now - _STALE_S)
    await connection.execute("DELETE FROM commits WHERE at < now() - interval '1 day'")
    await _forget_keys_no_longer_listed(connection)
    for table in ("items", "crawls", "prices", "versions", "events", "dropped", "progress"):
        await connection.execute(f"VACUUM (ANALYZE) {table}")
    if keep.size:
        await _fit(connection, keep.size, gone)
    gone.after = await connection.fetchval(_SIZE)
    return gone


def _count(gone: Vacuumed, table: str, rows: int) -> None:
    setattr(gone, table, getattr(gone, table) + rows)


async def _drop_first(connection: Any, table: str, time: float, most: int | None = None) -> int:
    """Those before a time, the oldest first, at most so many."""
    dropped = 0
    while most is None or dropped < most:
        wanted = CHUNK if most is None else min(CHUNK, most - dropped)
        async with connection.transaction():
            ids = [row[0] for row in await connection.fetch(_AGED[table], time, wanted)]
            await _drop(connection, table, ids)
        dropped += len(ids)
        if len(ids) < wanted:
            break
    return dropped


async def _drop(connection: Any, table: str, ids: Sequence[int]) -> None:
    if table == "items":
        await _remember_listed(connection, ids)
    column = "seq" if table == "events" else "id"
    await connection.execute(f"DELETE FROM {table} WHERE {column} = ANY($1)", ids)


async def _remember_listed(connection: Any, ids: Sequence[int]) -> None:
    going: dict[int, list[int]] = defaultdict(list)
    for row in await connection.fetch("SELECT source, key FROM items WHERE id = ANY($1)", ids):
        going[row[0]].append(row[1])
    listed = await _listed(connection, list(going))
    rows = [(source, key) for source, keys in going.items() for key in keys if key in listed.get(source, ())]
    await connection.execute(_REMEMBER, *columns_of(rows, 2))


async def _listed(connection: Any, sources: Sequence[int]) -> dict[int, frozenset[int]]:
    rows = await connection.fetch("SELECT source, listing FROM progress WHERE source = ANY($1)", sources)
    return {row[0]: frozenset(keys_in(row[1])) for row in rows}


async def _forget_keys_no_longer_listed(connection: Any) -> None:
    sources = [row[0] for row in await connection.fetch("SELECT DISTINCT source FROM dropped")]
    for page in pages(sources):
        listed = await _listed(connection, page)
        kept = await connection.fetch("SELECT source, key FROM dropped WHERE source = ANY($1)", page)
        rows = [(row[0], row[1]) for row in kept if row[1] not in listed.get(row[0], ())]
        await connection.execute(_FORGET, *columns_of(rows, 2))


async def _drop_surplus_versions(connection: Any, kept: int, gone: Vacuumed) -> None:
    ids = [row[0] for row in await connection.fetch(_SURPLUS, kept)]
    for page in pages(ids):
        await _drop(connection, "versions", page)
    _count(gone, "versions", len(ids))


async def _drop_delivered(connection: Any, gone: Vacuumed) -> None:
    while True:
        ids = [row[0] for row in await connection.fetch(_DELIVERED, CHUNK)]
        await _drop(connection, "events", ids)
        _count(gone, "events", len(ids))
        if len(ids) < CHUNK:
            return


async def _fit(connection: Any, size: int, gone: Vacuumed) -> None:
    """Drop the oldest share of items, crawls and versions, until what is left fits."""
    while (used := await connection.fetchval(_SIZE)) > size:
        share = max(1.0 - 0.9 * size / used, 0.01)
        before = gone.items + gone.crawls + gone.versions
        for table in _BY_SIZE:
            condition = f" WHERE {_NOT_LATEST}" if table == "versions" else ""
            rows = await connection.fetchval(f"SELECT count(*) FROM {table}{condition}")
            _count(gone, table, await _drop_first(connection, table, float("inf"), -int(-rows * share // 1)))
        if gone.items + gone.crawls + gone.versions == before:
            return
        for table in _BY_SIZE:
            await connection.execute(f"VACUUM (FULL, ANALYZE) {table}")
