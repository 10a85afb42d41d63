"""What was found: which of what a source lists is new, and what changes differed by. Lists of it are in `search`."""

from __future__ import annotations

from collections.abc import Sequence

from recrawl.store.postgres.connection import PostgresConnection
from recrawl.store.postgres.role import PostgresRole
from recrawl.store.postgres.rows import columns_of
from recrawl.store.postgres.search import found_items
from recrawl.store.records import Item
from recrawl.store.sql import ItemQuery, SqlItems

_DIFFS = """
SELECT change.id, version.diff
FROM unnest($1::bigint[], $2::bigint[], $3::double precision[]) AS change (id, source, at),
LATERAL (SELECT diff FROM versions WHERE source = change.source AND at = change.at ORDER BY id DESC LIMIT 1) AS version
"""
_KNOWN = """
SELECT listed.source, listed.key FROM unnest($1::bigint[], $2::bigint[]) AS listed (source, key), LATERAL (
    SELECT 1 FROM items WHERE items.source = listed.source AND items.key = listed.key LIMIT 1) AS known
"""
# A third of the work where a source lists thousands.
_KNOWN_OF_MANY = "SELECT key FROM items WHERE source = $1 AND key = ANY($2)"
_MANY = 500
_DROPPED = "SELECT source, key FROM dropped WHERE source = ANY($1)"


class PostgresItems(PostgresRole, SqlItems):
    """The items and versions of a store in PostgreSQL."""

    def _items(self, query: ItemQuery) -> list[Item]:
        return self._connections.reading(lambda connection: found_items(connection, query))

    def unseen(self, listed: Sequence[tuple[int, Sequence[int]]]) -> list[set[int]]:
        """Per (source, item keys): those keys the store does not have, neither as items nor as dropped ones."""
        return self._connections.reading(lambda connection: _unseen(connection, listed)) if listed else []

    def diffs(self, changes: Sequence[Item]) -> dict[int, str]:
        """What differed, by the id of each of these changes."""
        rows = self._fetch(_DIFFS, *columns_of([(each.id, each.source, each.first_seen) for each in changes], 3))
        return {row[0]: row[1] for row in rows}


def _unseen(connection: PostgresConnection, listed: Sequence[tuple[int, Sequence[int]]]) -> list[set[int]]:
    known: dict[int, set[int]] = {source: set() for source, _ in listed}
    few = [(source, key) for source, keys in listed if len(keys) <= _MANY for key in keys]
    rows = connection.fetch(_KNOWN, *columns_of(few, 2)) + connection.fetch(_DROPPED, list(known))
    for source, key in rows:
        known[source].add(key)
    for source, keys in listed:
        if len(keys) > _MANY:
            known[source].update(row[0] for row in connection.fetch(_KNOWN_OF_MANY, source, list(keys)))
    return [set(keys) - known[source] for source, keys in listed]
