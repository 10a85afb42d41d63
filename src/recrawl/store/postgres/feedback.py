"""What readers open, and what the whole catalogue is believed to be: read and written a few columns at a time."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from recrawl.store.base import CLICKS_PER_CLIENT, Believed, Click, ClickTotals
from recrawl.store.postgres.rows import columns_of, fitting
from recrawl.store.sqlite.rows import columns, record_of

# Clicks get their numbers in the order of commits, as events do: whoever reads on from a number misses none.
_TAKE_TURN = "SELECT value FROM counters WHERE name = 'clicks' FOR UPDATE"
_COUNTED = """
SELECT item, client, sum(count)::bigint FROM clicks WHERE item = ANY($1) AND client <> '' GROUP BY item, client
"""
_INSERT = """
INSERT INTO clicks (id, item, source, at, client, count)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::double precision[], $5::varchar[], $6::bigint[])
"""


async def record(connection: Any, clicks: Sequence[Click]) -> int:
    """Take in those that count."""
    last = int(await connection.fetchval(_TAKE_TURN))
    wanted = fitting({click.item for click in clicks})
    rows = await connection.fetch("SELECT id, source FROM items WHERE id = ANY($1) FOR KEY SHARE", wanted)
    sources = {row[0]: row[1] for row in rows}
    counted = {(row[0], row[1]): row[2] for row in await connection.fetch(_COUNTED, wanted)}
    taken: list[tuple[object, ...]] = []
    for click in clicks:
        count = min(click.count, CLICKS_PER_CLIENT) if click.client else click.count
        before = counted.get((click.item, click.client), 0)
        if click.item in sources and (not click.client or before + count <= CLICKS_PER_CLIENT):
            counted[click.item, click.client] = before + count
            number = last + len(taken) + 1
            taken.append((number, click.item, sources[click.item], click.at, click.client, count))
    if taken:
        await connection.execute(_INSERT, *columns_of(taken, 6))
        await connection.execute("UPDATE counters SET value = $1 WHERE name = 'clicks'", last + len(taken))
    return len(taken)


async def clicks(connection: Any, since_id: int, limit: int) -> list[Click]:
    """Those with a larger id, in order."""
    statement = f"SELECT {columns(Click)} FROM clicks WHERE id > $1 ORDER BY id LIMIT $2"
    return [record_of(Click, row) for row in await connection.fetch(statement, since_id, limit)]


async def totals(connection: Any, source: int) -> ClickTotals:
    """Over all items of a source."""
    statement = "SELECT coalesce(sum(count), 0)::bigint, count(DISTINCT item), max(at) FROM clicks WHERE source = $1"
    return record_of(ClickTotals, await connection.fetchrow(statement, source))


async def tags(connection: Any, limit: int) -> list[tuple[str, int]]:
    """The most common first."""
    statement = 'SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY count(*) DESC, tag COLLATE "C" LIMIT $1'
    return [(row[0], row[1]) for row in await connection.fetch(statement, limit)]


async def believed(connection: Any) -> Believed:
    """Of every active source."""
    rows = await connection.fetch(
        "SELECT id, importance, cost, half_life, max_age, value, rate, last "
        "FROM sources JOIN progress ON progress.source = sources.id WHERE state = 'active' ORDER BY id"
    )
    ids, *others = zip(*rows, strict=True) if rows else ((),) * 8
    nan = float("nan")
    numbers = [array("d", [nan if value is None else value for value in column]) for column in others]
    return Believed(
        ids=array("q", ids),
        importance=numbers[0],
        cost=numbers[1],
        half_life=numbers[2],
        max_age=numbers[3],
        value=numbers[4],
        rate=numbers[5],
        last=numbers[6],
    )
