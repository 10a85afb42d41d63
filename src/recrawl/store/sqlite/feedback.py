"""What readers open, and what the whole catalogue is believed to be: read and written a few columns at a time."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Sequence

from recrawl.store.base import CLICKS_PER_CLIENT, Believed, Click, ClickTotals
from recrawl.store.sqlite.rows import columns, record_of

_INSERT = """
INSERT INTO clicks (item, source, at, client, count)
SELECT items.id, items.source, :at, :client, :count FROM items WHERE items.id = :item AND (:client = '' OR (
    SELECT coalesce(sum(count), 0) FROM clicks WHERE item = :item AND client = :client) + :count <= :cap)
"""


def record(connection: sqlite3.Connection, clicks: Sequence[Click]) -> int:
    """Take in those that count."""
    return sum(connection.execute(_INSERT, _values(click)).rowcount for click in clicks)


def _values(click: Click) -> dict[str, object]:
    count = min(click.count, CLICKS_PER_CLIENT) if click.client else click.count
    return {"item": click.item, "at": click.at, "client": click.client, "count": count, "cap": CLICKS_PER_CLIENT}


def clicks(connection: sqlite3.Connection, since_id: int, limit: int) -> list[Click]:
    """Those with a larger id, in order."""
    statement = f"SELECT {columns(Click)} FROM clicks WHERE id > ? ORDER BY id LIMIT ?"
    return [record_of(Click, row) for row in connection.execute(statement, (since_id, limit))]


def totals(connection: sqlite3.Connection, source: int) -> ClickTotals:
    """Over all items of a source; walks the clicks of this source alone."""
    row = connection.execute(
        "SELECT coalesce(sum(count), 0), count(DISTINCT item), max(at) FROM clicks WHERE source = ?", (source,)
    ).fetchone()
    return record_of(ClickTotals, row)


def tags(connection: sqlite3.Connection, limit: int) -> list[tuple[str, int]]:
    """The most common first."""
    statement = "SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY count(*) DESC, tag LIMIT ?"
    return connection.execute(statement, (limit,)).fetchall()


def believed(connection: sqlite3.Connection) -> Believed:
    """Of every active source."""
    rows = connection.execute(
        "SELECT id, importance, cost, half_life, max_age, value, rate, last "
        "FROM sources CROSS JOIN progress ON progress.source = sources.id WHERE state = 'active' ORDER BY id"
    ).fetchall()
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
