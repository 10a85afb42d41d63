"""Writing what crawls led to, in one transaction, a statement per table, a column per argument.

Locks are taken in one order by everybody: owner, revision, sources, rows, number of the last event. Events are written
last, because from then until the commit nobody else can write any: that makes their numbers the order of commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from recrawl.errors import StoreError
from recrawl.store.discovery import COUNT, NOTE, Finds
from recrawl.store.postgres import leases
from recrawl.store.postgres.catalogue import add, next_revision
from recrawl.store.postgres.connection import PostgresConnection
from recrawl.store.postgres.idempotent_commits import IdempotentCommits
from recrawl.store.postgres.push import take_away
from recrawl.store.postgres.role import PostgresRole
from recrawl.store.postgres.rows import Table, columns_of, digest
from recrawl.store.postgres.search_words import vector
from recrawl.store.records import Batch, Crawl, Event, Hold, Item, Price, Progress, Robots, Source, Version, VisitUpdate
from recrawl.store.rows import fitting, names
from recrawl.store.sql import READ_NOTE, SqlCrawlLog, write_note
from recrawl.store.sql_marks import put

_CRAWL, _VERSION, _PRICE = Table(Crawl), Table(Version, without="id"), Table(Price)
_ITEM = Table(Item, without="id", more={"words": "varchar"})
_PROGRESS = Table(Progress)
_HOLD = Table(Hold, more={"digest": "bytea", "bucket": "integer"})
_ROBOTS = Table(Robots, more={"digest": "bytea"})
_INSERT_CRAWLS = f"INSERT INTO crawls ({_CRAWL.names}) {_CRAWL.given}"
_INSERT_VERSIONS = f"INSERT INTO versions ({_VERSION.names}) {_VERSION.given}"
_REPLACE_RECORD = {
    table: f"INSERT INTO {table} (source, record) SELECT * FROM unnest($1::bigint[], $2::bytea[]) "
    "ON CONFLICT (source) DO UPDATE SET record = excluded.record"
    for table in ("restless", "numbers", "rendering", "screenshots")
}
"""Of what is kept of pages, by the table and the name in `VisitUpdate`."""
_INSERT_CONTENTS = """
INSERT INTO contents SELECT items.id, said.author, said.record
FROM unnest($1::bigint[], $2::bigint[], $3::varchar[], $4::bytea[]) AS said (source, key, author, record)
JOIN items ON items.source = said.source AND items.key = said.key ON CONFLICT (item) DO NOTHING
"""
_ARTICLE = """
INSERT INTO articles SELECT items.id, wanted.at, 0
FROM unnest($1::double precision[], $2::bigint[], $3::bigint[]) AS wanted (at, source, key)
JOIN items ON items.source = wanted.source AND items.key = wanted.key ON CONFLICT (item) DO NOTHING
"""
_BLOCK = "INSERT INTO dropped (source, key) SELECT * FROM unnest($1::bigint[], $2::bigint[]) ON CONFLICT DO NOTHING"
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
UPDATE sources SET kind = new.kind, title = new.title, note = new.note, revision = $8,
    state = CASE WHEN new.state = 'retired' THEN 'retired' ELSE sources.state END,
    cost = CASE WHEN sources.revision = new.revision THEN new.cost ELSE sources.cost END
FROM unnest($1::bigint[], $2::varchar[], $3::varchar[], $4::varchar[], $5::varchar[], $6::float8[], $7::bigint[])
    AS new (id, kind, title, note, state, cost, revision)
WHERE sources.id = new.id
"""


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


class PostgresCrawlLog(PostgresRole, SqlCrawlLog):
    """The crawl log of a store in PostgreSQL, and who may write to it."""

    _claim: leases.Claim
    _commits: IdempotentCommits

    def claim(self, owner: str, now: float) -> None:
        """Become the one that crawls; StoreError naming the other if one is alive. Ended by `release` or by death.

        From then on every commit is refused once another has claimed the store.
        """
        if self._connections.read_only:
            raise StoreError(f"store {self._connections.address.name} was opened for reading only")
        with self._connections.open():
            self._claim.take(owner, now)

    def claimed(self) -> str | None:
        """Who is crawling now, in words; None if nobody is."""
        return self._connections.reading(self._claim.held)

    def release(self) -> None:
        """Give up the claim."""
        with self._connections.open():
            self._claim.release()

    def _commit(self, batch: Batch, part: Part) -> None:
        """Write what one of several writers may write of a batch; given again with any part of it, it is written once.

        StoreTakenError, and nothing is written, if one of the part's scopes has passed to another.
        """
        with self._connections.open():
            self._claim.keep()
        part.epochs = {**self._claim.epochs, **part.epochs}
        self._commits.write(batch, lambda connection: _write(connection, part))


def _write(connection: PostgresConnection, part: Part) -> None:
    """All of it. What belongs to a source that was removed meanwhile is left out."""
    batch = part.batch
    leases.check(connection, part.epochs)
    found_out = [s for s in batch.updates if s.source is not None or s.children]
    number = next_revision(connection) if found_out else 0
    there = _sources_still_there(connection, part)
    updates = [s for s in batch.updates if s.crawl.source in there]
    ahead = [place for place, item in enumerate(batch.items) if item.source in there]
    _insert(connection, _INSERT_CRAWLS, _CRAWL, [s.crawl for s in updates])
    others = [each for each in batch.progress if not part.buckets or each.source in there]
    _write_progress(connection, chain(others, (s.progress for s in updates)))
    items = [batch.items[place] for place in ahead]
    _write_items(connection, items + [item for s in updates for item in s.items])
    _insert(connection, _INSERT_VERSIONS, _VERSION, [s.version for s in updates if s.version])
    for table, statement in _REPLACE_RECORD.items():
        if records := {s.crawl.source: record for s in updates if (record := getattr(s, table)) is not None}:
            connection.run(statement, [*records], [*records.values()])
    _write_reading(connection, updates)
    _write_catalogue(connection, [s for s in updates if s.source or s.children], number)
    if children := [child for s in updates for child in s.children]:
        _take_in(connection, Finds(children, batch.discovery))
    holds = {each.host: each for each in batch.holds}
    _replace(connection, _REPLACE_HOLDS, _HOLD, holds, [part.hold_buckets.get(host) for host in holds])
    _replace(connection, _REPLACE_ROBOTS, _ROBOTS, {each.origin: each for each in batch.robots})
    take_away(connection, batch.heard)
    _insert(connection, _INSERT_PRICES, _PRICE, [batch.price] if batch.price is not None else [])
    if batch.shared is not None:
        _share(connection, part.note, batch.shared)
    events = [batch.events[place] for place in ahead]
    _write_events(connection, events + [event for s in updates for event in s.events])


def _insert(connection: PostgresConnection, statement: str, table: Table, records: Sequence[Any]) -> None:
    if records:
        connection.run(statement, *table.arrays(records))


def _replace(
    connection: PostgresConnection, statement: str, table: Table, records: Mapping[str, Any], *more: Sequence[Any]
) -> None:
    if records:
        keys = [digest(name) for name in records]
        connection.run(statement, *table.arrays(records.values(), keys, *more))


def _share(connection: PostgresConnection, note: str, shared: bytes) -> None:
    if note:
        connection.run(*write_note(note, shared))
    else:
        connection.run(_SHARE, shared)


def _sources_still_there(connection: PostgresConnection, part: Part) -> set[int]:
    """Those that exist, and will until the end of the transaction, and did not go to another bucket."""
    batch, buckets = part.batch, part.buckets
    wanted = {s.crawl.source for s in batch.updates} | {item.source for item in batch.items}
    if buckets:
        wanted.update(each.source for each in batch.progress)
    if not wanted:
        return set()
    statement = "SELECT id, bucket FROM sources WHERE id = ANY($1) ORDER BY id FOR KEY SHARE"
    rows = connection.fetch(statement, fitting(wanted))
    return {id for id, bucket in rows if bucket is None or buckets.get(id, bucket) == bucket}


def _write_progress(connection: PostgresConnection, progress: Any) -> None:
    last = {each.source: each for each in progress}
    _insert(connection, _UPDATE_PROGRESS, _PROGRESS, [last[source] for source in sorted(last)])


def _write_items(connection: PostgresConnection, items: Sequence[Item]) -> None:
    if items:
        words = [vector(item.title, item.summary) for item in items]
        connection.run(_INSERT_ITEMS, *_ITEM.arrays(items, words))


def _write_reading(connection: PostgresConnection, updates: Sequence[VisitUpdate]) -> None:
    """What items say in full, what rules put on them, and those that are not wanted."""
    said = [(s.crawl.source, key, each.author, each.record) for s in updates for key, each in s.contents.items()]
    if said:
        connection.run(_INSERT_CONTENTS, *columns_of(said, 4))
    put(connection, [(s.crawl.source, s.crawl.at, mark) for s in updates for mark in s.marks])
    if wanted := [(s.crawl.at, s.crawl.source, key) for s in updates for key in s.articles]:
        connection.run(_ARTICLE, *columns_of(wanted, 3))
    if blocked := [(s.crawl.source, key) for s in updates for key in s.blocked]:
        connection.run(_BLOCK, *columns_of(blocked, 2))


def _write_catalogue(connection: PostgresConnection, updates: Sequence[VisitUpdate], number: int) -> None:
    changed = {s.source.id: s.source for s in updates if s.source is not None}
    if changed:
        for source in changed.values():
            connection.run(_MOVE, source.id, source.url, digest(source.url), source.revision, number)
        rows = [_found_out(source) for source in changed.values()]
        connection.run(_FOUND_OUT, *columns_of(rows, 7), number)


def _take_in(connection: PostgresConnection, finds: Finds) -> None:
    """Sources that were found, as far as the bounds allow; the revision that was taken keeps others from counting."""
    keys = {digest(url): url for url in finds.children}
    known = connection.fetch("SELECT digest FROM sources WHERE digest = ANY($1)", list(keys))
    there = dict(tuple(row) for row in connection.fetch(COUNT))
    add(connection, finds.within({keys[row[0]] for row in known}, there))
    connection.run(*write_note(NOTE, finds.note(connection.fetchval(READ_NOTE, NOTE))))


def _found_out(source: Source) -> tuple[object, ...]:
    return source.id, source.kind, source.title, source.note, source.state, source.cost, source.revision


def _write_events(connection: PostgresConnection, events: Sequence[Event]) -> None:
    if events:
        times, bodies = [event.at for event in events], [event.body for event in events]
        connection.run(_INSERT_EVENTS, times, bodies, len(events))
