"""Events, and how far each outlet has got with them."""

from __future__ import annotations

from typing import Any

from recrawl.store.base import Event
from recrawl.store.postgres.rows import digest
from recrawl.store.sqlite.rows import columns, record_of


async def events(connection: Any, after: int, limit: int) -> list[Event]:
    """Those with a larger number, in order."""
    statement = f"SELECT {columns(Event)} FROM events WHERE seq > $1 ORDER BY seq LIMIT $2"
    return [record_of(Event, row) for row in await connection.fetch(statement, after, limit)]


async def last_seq(connection: Any) -> int:
    """The largest number ever given, also when its event is gone; all up to it can be seen."""
    return int(await connection.fetchval("SELECT value FROM counters WHERE name = 'events'"))


async def cursor(connection: Any, outlet: str) -> int | None:
    """How far an outlet has got; None for one never heard of."""
    known = await connection.fetchval("SELECT seq FROM outlets WHERE digest = $1", digest(outlet))
    return None if known is None else int(known)


async def introduce(connection: Any, outlet: str) -> int:
    """Remember an outlet from now on, so that what happens before its first delivery is not lost to it."""
    statement = "INSERT INTO outlets VALUES ($1, $2, $3) ON CONFLICT (digest) DO NOTHING"
    await connection.execute(statement, outlet, await last_seq(connection), digest(outlet))
    return await cursor(connection, outlet) or 0


async def advance(connection: Any, outlet: str, seq: int) -> None:
    """Forwards only."""
    statement = (
        "INSERT INTO outlets AS known VALUES ($1, $2, $3) "
        "ON CONFLICT (digest) DO UPDATE SET seq = greatest(known.seq, excluded.seq)"
    )
    await connection.execute(statement, outlet, seq, digest(outlet))
