"""What readers open."""

from __future__ import annotations

from collections.abc import Sequence

from recrawl.store.records import CLICKS_PER_CLIENT, Click
from recrawl.store.rows import mended
from recrawl.store.sql import SqlClicks
from recrawl.store.sqlite.role import SqliteRole

_INSERT = """
INSERT INTO clicks (item, source, at, client, count)
SELECT items.id, items.source, :at, :client, :count FROM items WHERE items.id = :item AND (:client = '' OR (
    SELECT coalesce(sum(count), 0) FROM clicks WHERE item = :item AND client = :client) + :count <= :cap)
"""


class SqliteClicks(SqliteRole, SqlClicks):
    """The clicks of a store in one file."""

    def record_clicks(self, clicks: Sequence[Click]) -> int:
        """Take in clicks; how many counted."""
        if not clicks:
            return 0
        with self._database.writing() as connection:
            return sum(connection.execute(_INSERT, _values(click)).rowcount for click in mended(list(clicks)))


def _values(click: Click) -> dict[str, object]:
    count = min(click.count, CLICKS_PER_CLIENT) if click.client else click.count
    return {"item": click.item, "at": click.at, "client": click.client, "count": count, "cap": CLICKS_PER_CLIENT}
