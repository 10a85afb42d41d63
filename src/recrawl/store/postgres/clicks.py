"""What readers open."""

from __future__ import annotations

from collections.abc import Sequence

from recrawl.store.postgres.connection import PostgresConnection
from recrawl.store.postgres.role import PostgresRole
from recrawl.store.postgres.rows import columns_of
from recrawl.store.records import CLICKS_PER_CLIENT, Click
from recrawl.store.rows import fitting, mended
from recrawl.store.sql import SqlClicks

# Clicks get their numbers in the order of commits, as events do: whoever reads on from a number misses none.
_TAKE_TURN = "SELECT value FROM counters WHERE name = 'clicks' FOR UPDATE"
_COUNTED = """
SELECT item, client, sum(count)::bigint FROM clicks WHERE item = ANY($1) AND client <> '' GROUP BY item, client
"""
_INSERT = """
INSERT INTO clicks (id, item, source, at, client, count)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::double precision[], $5::varchar[], $6::bigint[])
"""


class PostgresClicks(PostgresRole, SqlClicks):
    """The clicks of a store in PostgreSQL."""

    def record_clicks(self, clicks: Sequence[Click]) -> int:
        """Take in clicks; how many counted."""
        if not clicks:
            return 0
        given = mended(list(clicks))
        return self._connections.writing(lambda connection: _record(connection, given))


def _record(connection: PostgresConnection, clicks: Sequence[Click]) -> int:
    last = int(connection.fetchval(_TAKE_TURN))
    wanted = fitting({click.item for click in clicks})
    rows = connection.fetch("SELECT id, source FROM items WHERE id = ANY($1) FOR KEY SHARE", wanted)
    sources = {row[0]: row[1] for row in rows}
    counted = {(row[0], row[1]): row[2] for row in connection.fetch(_COUNTED, wanted)}
    taken: list[tuple[object, ...]] = []
    for click in clicks:
        count = min(click.count, CLICKS_PER_CLIENT) if click.client else click.count
        before = counted.get((click.item, click.client), 0)
        if click.item in sources and (not click.client or before + count <= CLICKS_PER_CLIENT):
            counted[click.item, click.client] = before + count
            number = last + len(taken) + 1
            taken.append((number, click.item, sources[click.item], click.at, click.client, count))
    if taken:
        connection.run(_INSERT, *columns_of(taken, 6))
        connection.run("UPDATE counters SET value = $1 WHERE name = 'clicks'", last + len(taken))
    return len(taken)
