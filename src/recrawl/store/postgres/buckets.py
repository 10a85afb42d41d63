"""The parts of the catalogue: which bucket a source belongs to.

A bucket is a number given by somebody who knows what sources have in common (`place`); the store only keeps it beside
the source. A source whose URL changes leaves its bucket, leaves word of it (`strayed`), and waits to be placed anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from recrawl.store.postgres.catalogue import next_revision
from recrawl.store.postgres.connection import PostgresConnection
from recrawl.store.postgres.role import PostgresRole
from recrawl.store.postgres.rows import columns_of, digest

# Only where the URL is still the one the bucket was found from.
_PLACE = """
UPDATE sources SET bucket = new.bucket, revision = $4
FROM unnest($1::bigint[], $2::bytea[], $3::integer[]) AS new (id, digest, bucket)
WHERE sources.id = new.id AND sources.digest = new.digest AND sources.bucket IS NULL
"""


class PostgresBuckets(PostgresRole):
    """Which bucket each source of a store in PostgreSQL belongs to."""

    def unplaced(self, limit: int = 5000) -> list[tuple[int, str]]:
        """Sources without a bucket: (id, URL), by id."""
        rows = self._fetch("SELECT id, url FROM sources WHERE bucket IS NULL ORDER BY id LIMIT $1", limit)
        return [(row[0], row[1]) for row in rows]

    def place(self, placed: Sequence[tuple[int, str, int]]) -> None:
        """Give each (id, URL, bucket) its bucket and a new revision.

        One that has a bucket, or another URL by now than the bucket was found from, is left as it is.
        """
        rows = [(id, digest(url), bucket) for id, url, bucket in sorted(placed)]

        def written(connection: PostgresConnection) -> None:
            number = next_revision(connection)
            connection.run(_PLACE, *columns_of(rows, 3), number)

        if rows:
            self._connections.writing(written)
