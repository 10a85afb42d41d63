"""Writing what crawls led to, in one transaction, a statement per table, a column per argument.

Locks are taken in one order by everybody: owner, revision, sources, rows, number of the last event. Events are written
last, because from then until the commit nobody else can write any: that makes their numbers the order of commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from recrawl.store.base import Batch, Crawl, Event, Hold, Item, Price, Progress, Robots, Settlement, Source, Version
from recrawl.store.discovery import COUNT, NOTE, Finds
from recrawl.store.postgres import ownership
from recrawl.store.postgres.buckets import note, write_note
from recrawl.store.postgres.catalogue import add, next_revision
from recrawl.store.postgres.rows import Table, columns_of, digest, fitting
from recrawl.store.postgres.words import vector
from recrawl.store.sqlite.rows import names

_CRAWL, _VERSION, _PRICE = Table(Crawl), Table(Version, without="id"), Table(Price)
_ITEM = Table(Item, without="id", more={"words": "varchar"})
_PROGRESS = Table(Progress)
_HOLD = Table(Hold, more={"digest": "bytea", "bucket": "integer"})
_ROBOTS = Table(Robots, more={"digest": "bytea"})
_INSERT_CRAWLS = f"INSERT INTO crawls ({_CRAWL.names}) {_CRAWL.given}"
_INSERT_VERSIONS = f"INSERT INTO versions ({_VERSION.names}) {_VERSION.given}"
_INSERT_PRICES = f"INSERT INTO prices ({_PRICE.names}) {_PRICE.given}"
_INSERT_ITEMS = (
    f"INSERT INTO items ({_ITEM.names}) "
    + _ITEM.given.replace('"words" FROM', '"words"::text::tsvector FROM')
    + " ON CONFLICT (source, key) DO NOTHING"
)
_UPDATE_PROGRESS = (
    "UPDATE progress SET "
    + ", ".join(f'"{name}" = new."{name}"' for name in names(Progress)[1:])
    + f" FROM ({_PROGRESS.given}) AS new WHERE progress.source = new.source"
)
_REPLACE_HOLDS = (
    f"INSERT INTO holds ({_HOLD.names}) {_HOLD.given} ORDER BY digest ON CONFLICT (digest) DO UPDATE SET "
    "until = excluded.until, reason = excluded.reason, failures = excluded.failures, "
    "cause = excluded.cause, under = excluded.under, "
    "bucket = coalesce(excluded.bucket, holds.bucket)"
)
_REPLACE_ROBOTS = (
    f"INSERT INTO robots ({_ROBOTS.names}) {_ROBOTS.given} ORDER BY digest ON CONFLICT (digest) DO UPDATE SET "
    "fetched = excluded.fetched, status = excluded.status, body = excluded.body, expires = excluded.expires, "
    "good = excluded.good"
)
_INSERT_EVENTS = """
WITH counter AS (UPDATE counters SET value = value + $3 WHERE name = 'events' RETURNING value - $3 AS last)
INSERT INTO events (seq, at, body) SELECT counter.last + place, nullif(at, 'NaN'), body
FROM counter, unnest($1::double precision[], $2::bytea[]) WITH ORDINALITY AS given (at, body, place)
"""
_SHARE = "INSERT INTO meta VALUES ('shared', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
# Only what a crawl can find out is written, so that an edit its owner made meanwhile stays.
_MOVE = """
WITH before AS (
    SELECT id, bucket FROM sources WHERE id = $1 AND revision = $4 AND digest <> $3
    AND NOT EXISTS (SELECT 1 FROM sources AS other WHERE other.digest = $3) FOR UPDATE
), word AS (
    INSERT INTO strayed SELECT id, bucket, $5 FROM before WHERE bucket IS NOT NULL
    ON CONFLICT (source, bucket) DO UPDATE SET revision = excluded.revision
)
UPDATE sources SET url = $2, digest = $3, bucket = NULL FROM before WHERE sources.id = before.id
"""
_FOUND_OUT = """
UPDATE sources SET kind = new.kind, title = new.title, note = new.note, revision = $6,
    state = CASE WHEN new.state = 'retired' THEN 'retired' ELSE sources.state END
FROM unnest($1::bigint[], $2::varchar[], $3::varchar[], $4::varchar[], $5::varchar[])
    AS new (id, kind, title, note, state)
WHERE sources.id = new.id
"""
_KNOWN = """
SELECT listed.source, listed.key FROM unnest($1::bigint[], $2::bigint[]) AS listed (source, key), LATERAL (
    SELECT 1 FROM items WHERE items.source = listed.source AND items.key = listed.key LIMIT 1) AS known
"""
# A third of the work where a source lists thousands.
_KNOWN_OF_MANY = "SELECT key FROM items WHERE source = $1 AND key = ANY($2)"
_MANY = 500
_DROPPED = "SELECT source, key FROM dropped WHERE source = ANY($1)"


class Part:
    """A batch that one of several writers may write, and what it rests on.

    Parameters
        batch: what is left of it to write
        epochs: of the scopes it writes for
        buckets: of its sources; those that are in another one by now are left out
        hold_buckets: of its holds, by host; None for nobody knows
        note: the name under which `shared` is kept; empty for the store's own
    """

    def __init__(
        self,
        batch: Batch,
        epochs: Mapping[str, int],
        *,
        buckets: Mapping[int, int] | None = None,
        hold_buckets: Mapping[str, int] | None = None,
        note: str = "",
    ) -> None:
        self.batch, self.epochs = batch, epochs
        self.buckets, self.hold_buckets, self.note = buckets or {}, hold_buckets or {}, note


async def write(connection: Any, part: Part) -> None:
    """All of it. What belongs to a source that was removed meanwhile is left out."""
    batch = part.batch
    await ownership.check(connection, part.epochs)
    found_out = [s for s in batch.settlements if s.source is not None or s.children]
    number = await next_revision(connection) if found_out else 0
    there = await _sources_still_there(connection, part)
    settlements = [s for s in batch.settlements if s.crawl.source in there]
    ahead = [place for place, item in enumerate(batch.items) if item.source in there]
    await _insert(connection, _INSERT_CRAWLS, _CRAWL, [s.crawl for s in settlements])
    others = [each for each in batch.progress if not part.buckets or each.source in there]
    await _write_progress(connection, chain(others, (s.progress for s in settlements)))
    items = [batch.items[place] for place in ahead]
    await _write_items(connection, items + [item for s in settlements for item in s.items])
    await _insert(connection, _INSERT_VERSIONS, _VERSION, [s.version for s in settlements if s.version])
    await _write_catalogue(connection, [s for s in settlements if s.source or s.children], number)
    await _take_in(connection, Finds([child for s in settlements for child in s.children], batch.discovery))
    holds = {each.host: each for each in batch.holds}
    await _replace(connection, _REPLACE_HOLDS, _HOLD, holds, [part.hold_buckets.get(host) for host in holds])
    await _replace(connection, _REPLACE_ROBOTS, _ROBOTS, {each.origin: each for each in batch.robots})
    await _insert(connection, _INSERT_PRICES, _PRICE, [batch.price] if batch.price is not None else [])
    if batch.shared is not None:
        await _share(connection, part.note, batch.shared)
    events = [batch.events[place] for place in ahead]
    await _write_events(connection, events + [event for s in settlements for event in s.events])


async def _insert(connection: Any, statement: str, table: Table, records: Sequence[Any]) -> None:
    if records:
        await connection.execute(statement, *table.arrays(records))


async def _replace(
    connection: Any, statement: str, table: Table, records: Mapping[str, Any], *more: Sequence[Any]
) -> None:
    if records:
        keys = [digest(name) for name in records]
        await connection.execute(statement, *table.arrays(records.values(), keys, *more))


async def _share(connection: Any, note: str, shared: bytes) -> None:
    if note:
        await write_note(connection, note, shared)
    else:
        await connection.execute(_SHARE, shared)


async def _sources_still_there(connection: Any, part: Part) -> set[int]:
    """Those that exist, and will until the end of the transaction, and did not go to another bucket."""
    batch, buckets = part.batch, part.buckets
    wanted = {s.crawl.source for s in batch.settlements} | {item.source for item in batch.items}
    if buckets:
        wanted.update(each.source for each in batch.progress)
    if not wanted:
        return set()
    statement = "SELECT id, bucket FROM sources WHERE id = ANY($1) ORDER BY id FOR KEY SHARE"
    rows = await connection.fetch(statement, fitting(wanted))
    return {id for id, bucket in rows if bucket is None or buckets.get(id, bucket) == bucket}


async def _write_progress(connection: Any, progress: Any) -> None:
    last = {each.source: each for each in progress}
    await _insert(connection, _UPDATE_PROGRESS, _PROGRESS, [last[source] for source in sorted(last)])


async def _write_items(connection: Any, items: Sequence[Item]) -> None:
    if items:
        words = [vector(item.title, item.summary) for item in items]
        await connection.execute(_INSERT_ITEMS, *_ITEM.arrays(items, words))


async def _write_catalogue(connection: Any, settlements: Sequence[Settlement], number: int) -> None:
    changed = {s.source.id: s.source for s in settlements if s.source is not None}
    if changed:
        for source in changed.values():
            await connection.execute(_MOVE, source.id, source.url, digest(source.url), source.revision, number)
        rows = [_found_out(source) for source in changed.values()]
        await connection.execute(_FOUND_OUT, *columns_of(rows, 5), number)


async def _take_in(connection: Any, finds: Finds) -> None:
    """Sources that were found, as far as the bounds allow; the revision that was taken keeps others from counting."""
    if not finds.children:
        return
    keys = {digest(url): url for url in finds.children}
    known = await connection.fetch("SELECT digest FROM sources WHERE digest = ANY($1)", list(keys))
    there = dict(tuple(row) for row in await connection.fetch(COUNT))
    await add(connection, finds.within({keys[row[0]] for row in known}, there))
    await write_note(connection, NOTE, finds.told(await note(connection, NOTE)))


def _found_out(source: Source) -> tuple[object, ...]:
    return source.id, source.kind, source.title, source.note, source.state


async def _write_events(connection: Any, events: Sequence[Event]) -> None:
    if events:
        times, bodies = [event.at for event in events], [event.body for event in events]
        await connection.execute(_INSERT_EVENTS, times, bodies, len(events))


async def unseen(connection: Any, listed: Sequence[tuple[int, Sequence[int]]]) -> list[set[int]]:
    """Per source: those keys that are not in the store, neither as items nor as dropped ones."""
    known: dict[int, set[int]] = {source: set() for source, _ in listed}
    if not known:
        return []
    few = [(source, key) for source, keys in listed if len(keys) <= _MANY for key in keys]
    rows = await connection.fetch(_KNOWN, *columns_of(few, 2)) + await connection.fetch(_DROPPED, list(known))
    for source, key in rows:
        known[source].add(key)
    for source, keys in listed:
        if len(keys) > _MANY:
            known[source].update(row[0] for row in await connection.fetch(_KNOWN_OF_MANY, source, list(keys)))
    return [set(keys) - known[source] for source, keys in listed]
