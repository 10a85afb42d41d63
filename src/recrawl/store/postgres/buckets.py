"""The parts of the catalogue, in SQL: which bucket a source belongs to, and what is read and written by bucket.

A bucket is a number given by somebody who knows what sources have in common (`place`); the store only keeps it beside
the source. A source whose URL changes leaves its bucket, leaves word of it (`strayed`), and waits to be placed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from recrawl.store.base import Hold, Source
from recrawl.store.postgres.catalogue import next_revision
from recrawl.store.postgres.rows import columns_of, digest, fitting
from recrawl.store.sqlite.rows import columns, record_of, source_of

# Only where the URL is still the one the bucket was found from.
_PLACE = """
UPDATE sources SET bucket = new.bucket, revision = $4
FROM unnest($1::bigint[], $2::bytea[], $3::integer[]) AS new (id, digest, bucket)
WHERE sources.id = new.id AND sources.digest = new.digest AND sources.bucket IS NULL
"""
_EDITED = "bucket = ANY($1::integer[]) AND revision > $2"
_CHANGED = f"""
SELECT {columns(Source)}, bucket FROM sources WHERE {_EDITED}
UNION ALL SELECT {columns(Source)}, bucket FROM sources WHERE bucket = ANY($3::integer[]) AND revision <= $2
"""
_SOME = f"SELECT {columns(Source)}, bucket FROM sources WHERE id = ANY($1) AND bucket = ANY($2::integer[]) ORDER BY id"
_STRAYED = "SELECT source FROM strayed WHERE revision > $2 AND bucket = ANY($1::integer[])"
_HOLDS = f"SELECT {columns(Hold)} FROM holds WHERE until > $1 AND (bucket IS NULL OR bucket = ANY($2::integer[]))"
_WRITE_NOTE = "INSERT INTO notes VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET text = excluded.text"
_ANY_NOTE = "SELECT text FROM notes WHERE starts_with(name, $1) ORDER BY name LIMIT 1"


async def unplaced(connection: Any, limit: int) -> list[tuple[int, str]]:
    """Sources without a bucket, by id."""
    statement = "SELECT id, url FROM sources WHERE bucket IS NULL ORDER BY id LIMIT $1"
    return [(row[0], row[1]) for row in await connection.fetch(statement, limit)]


async def count_unplaced(connection: Any) -> int:
    """How many sources have no bucket."""
    return int(await connection.fetchval("SELECT count(*) FROM sources WHERE bucket IS NULL"))


async def place(connection: Any, sources: Sequence[tuple[int, str, int]]) -> None:
    """Give (id, URL) a bucket and a new revision, unless it has one or another URL by now."""
    number = await next_revision(connection)
    rows = [(id, digest(url), bucket) for id, url, bucket in sorted(sources)]
    await connection.execute(_PLACE, *columns_of(rows, 3), number)


async def changed(connection: Any, buckets: Iterable[int], since: int, new: Iterable[int]) -> list[tuple[Source, int]]:
    """Sources edited after a revision in some buckets, and all those of `new` ones, with their buckets, by id."""
    rows = await connection.fetch(_CHANGED, sorted(buckets), since, sorted(new))
    return sorted(((source_of(row), row[-1]) for row in rows), key=lambda pair: pair[0].id)


async def some(connection: Any, ids: Iterable[int], buckets: Iterable[int]) -> list[tuple[Source, int]]:
    """Those of these sources that are in some buckets, with their buckets, by id."""
    return [(source_of(row), row[-1]) for row in await connection.fetch(_SOME, fitting(ids), sorted(buckets))]


async def ids(connection: Any, buckets: Iterable[int]) -> list[int]:
    """The sources of some buckets, in order."""
    statement = "SELECT id FROM sources WHERE bucket = ANY($1::integer[]) ORDER BY id"
    return [row[0] for row in await connection.fetch(statement, sorted(buckets))]


async def strayed(connection: Any, buckets: Iterable[int], since: int) -> set[int]:
    """Sources that left some buckets after a revision; they may have come back since."""
    return {row[0] for row in await connection.fetch(_STRAYED, sorted(buckets), since)}


async def holds(connection: Any, now: float, buckets: Iterable[int]) -> list[Hold]:
    """Those that stand, of some buckets and of nobody knows which."""
    return [record_of(Hold, row) for row in await connection.fetch(_HOLDS, now, sorted(buckets))]


async def note(connection: Any, name: str) -> bytes | None:
    """What is kept under a name."""
    found: bytes | None = await connection.fetchval("SELECT text FROM notes WHERE name = $1", name)
    return found


async def any_note(connection: Any, prefix: str) -> bytes | None:
    """What is kept under the first name that begins so."""
    found: bytes | None = await connection.fetchval(_ANY_NOTE, prefix)
    return found


async def write_note(connection: Any, name: str, text: bytes | None) -> None:
    """In place of what was there."""
    if text is None:
        await connection.execute("DELETE FROM notes WHERE name = $1", name)
    else:
        await connection.execute(_WRITE_NOTE, name, text)
