"""What was found: which of what a source lists is new, and what changes differed by. Lists of it are in `search`."""

from __future__ import annotations

from collections.abc import Sequence

from recrawl.store.records import Item
from recrawl.store.sql import ItemQuery, SqlItems
from recrawl.store.sqlite.database import numbers
from recrawl.store.sqlite.role import SqliteRole
from recrawl.store.sqlite.search import found_items

# CROSS JOIN keeps the given keys outside: the other way round, every item of the source would read all of them.
_KNOWN = (
    "SELECT value FROM json_each(:keys) CROSS JOIN items ON items.source = :source AND items.key = value UNION ALL "
    "SELECT value FROM json_each(:keys) CROSS JOIN dropped ON dropped.source = :source AND dropped.key = value"
)

_TRIED = (
    "SELECT value FROM json_each(:sources) WHERE EXISTS (SELECT 1 FROM items WHERE source = value) "
    "OR EXISTS (SELECT 1 FROM dropped WHERE source = value)"
)
"""Sources of which anything is known; of the others, all is new."""


class SqliteItems(SqliteRole, SqlItems):
    """The items and versions of a store in one file."""

    def _items(self, query: ItemQuery) -> list[Item]:
        with self._database.reading() as connection:
            return found_items(connection, query)

    def unseen(self, listed: Sequence[tuple[int, Sequence[int]]]) -> list[set[int]]:
        """Per (source, item keys): those keys the store does not have, neither as items nor as dropped ones."""
        asked = {source for source, keys in listed if keys}
        if not asked:
            return [set() for _ in listed]
        with self._database.reading() as connection:
            tried = {row[0] for row in connection.execute(_TRIED, {"sources": numbers([*asked])})}
            return [
                set(keys).difference(
                    row[0] for row in connection.execute(_KNOWN, {"keys": numbers(keys), "source": source})
                )
                if keys and source in tried
                else set(keys)
                for source, keys in listed
            ]

    def diffs(self, changes: Sequence[Item]) -> dict[int, str]:
        """What differed, by the id of each of these changes."""
        statement = "SELECT diff FROM versions WHERE source = ? AND at = ? ORDER BY id DESC LIMIT 1"
        with self._database.reading() as connection:
            rows = {
                each.id: connection.execute(statement, (each.source, each.first_seen)).fetchone() for each in changes
            }
        return {id: row[0] for id, row in rows.items() if row}
