"""Reading what was found and done, latest first. Every list here walks an index and stops at its limit.

An index of words gives all matches, in no order: of a frequent word, most of a store. So the latest items are looked
through first, and when their share of matches says that a page will not be filled that way, there are few enough for
the index. Both ways are forced on the server's planner, whose own choice rests on guesses about words.
"""

from __future__ import annotations

from typing import Any, Literal

from recrawl.errors import ParameterError
from recrawl.store.base import Crawl, Hold, Item, Price, Robots, Totals, Version
from recrawl.store.postgres.rows import digest
from recrawl.store.postgres.words import query
from recrawl.store.sqlite.rows import columns, crawl_of, record_of

ItemOrder = Literal["newest", "relevance", "found"]

_FOUND = "items.first_seen DESC, items.id DESC"
_ITEM_ORDERS = {
    "found": _FOUND,
    "relevance": _FOUND,
    "newest": "coalesce(items.published, items.first_seen) DESC, items.id DESC",
}
RANKED = 2000
"""Relevance is computed among this many latest matches: a frequent word in a large store has too many to score."""
# How many of the latest items are looked through, per match wanted and at most.
_WINDOWS = ((40, 20_000), (200, 80_000))
_FEW = 200
_FEW_ITEMS = 2000
_NAN = float("nan")


class _Conditions:
    """What items must fulfil, with the arguments collected on the way."""

    def __init__(self, source: int | None, sources: list[int] | None, tag: str | None) -> None:
        self.values: list[Any] = []
        self.parts: list[str] = []
        if source is not None:
            self.require("items.source = {}", source)
        if sources is not None:
            self.require("items.source = ANY({})", sources)
        elif tag is not None:
            self.require("EXISTS (SELECT 1 FROM tags WHERE tags.source = items.source AND digest = {})", digest(tag))

    def require(self, condition: str, value: Any) -> None:
        self.parts.append(condition.format(self.place(value)))

    def place(self, value: Any) -> str:
        self.values.append(value)
        return f"${len(self.values)}"

    def seen(self, since: float | None, until: float | None) -> None:
        if since is not None:
            self.require("items.first_seen >= {}", since)
        if until is not None:
            self.require("items.first_seen < {}", until)

    @property
    def where(self) -> str:
        return " AND ".join(self.parts) or "TRUE"


async def items(
    connection: Any,
    *,
    source: int | None,
    tag: str | None,
    since: float | None,
    until: float | None,
    text: str | None,
    order: ItemOrder,
    limit: int,
    offset: int,
) -> list[Item]:
    """Those that match all that is given."""
    if order not in _ITEM_ORDERS:
        raise ParameterError("order", f"one of {', '.join(_ITEM_ORDERS)}", repr(order))
    # Few sources: gather their items. Many: walk the latest items and see whose they are.
    sources = await _few_sources(connection, tag) if tag is not None else None
    given = _Conditions(source, sources, tag)
    if text is not None and text.strip():
        few = (source is not None or sources is not None) and await _few_items(connection, given)
        given.seen(since, until)
        return await _search(connection, given, text, few, order, limit, offset)
    given.seen(since, until)
    statement = (
        f"SELECT {columns(Item, 'items')} FROM items WHERE {given.where} ORDER BY {_ITEM_ORDERS[order]} "
        f"LIMIT {given.place(limit)} OFFSET {given.place(offset)}"
    )
    return [record_of(Item, row) for row in await connection.fetch(statement, *given.values)]


async def _few_sources(connection: Any, tag: str) -> list[int] | None:
    rows = await connection.fetch(f"SELECT source FROM tags WHERE digest = $1 LIMIT {_FEW + 1}", digest(tag))
    return [row[0] for row in rows] if len(rows) <= _FEW else None


async def _few_items(connection: Any, given: _Conditions) -> bool:
    counted = f"SELECT count(*) FROM (SELECT 1 FROM items WHERE {given.where} LIMIT {_FEW_ITEMS + 1}) AS counted"
    return bool(await connection.fetchval(counted, *given.values) <= _FEW_ITEMS)


async def _search(
    connection: Any, given: _Conditions, text: str, few: bool, order: ItemOrder, limit: int, offset: int
) -> list[Item]:
    words = query(text)
    if not words or limit <= 0:
        return []
    wanted = RANKED if order == "relevance" else offset + limit
    found = await _matches(connection, given, words, few, wanted)
    if order == "relevance":
        found = await _by_relevance(connection, found, words)
    return await _in_order(connection, found[offset : offset + limit])


async def _matches(connection: Any, given: _Conditions, words: str, few: bool, wanted: int) -> list[int]:
    """Ids of matching items, found last first."""
    match = f"items.words @@ {given.place(words)}::text::tsquery"
    first, second = (min(share * wanted, most) for share, most in _WINDOWS)
    for window in (_FEW_ITEMS,) if few else (first, second):
        row = await connection.fetchrow(
            f"SELECT array_agg(id ORDER BY first_seen DESC, id DESC) FILTER (WHERE matches), count(*) FROM ("
            f"SELECT items.id, items.first_seen, {match} AS matches FROM items WHERE {given.where} "
            f"ORDER BY {_FOUND} LIMIT {window}) AS latest",
            *given.values,
        )
        ids, seen = row[0] or [], row[1]
        if len(ids) >= wanted or seen < window or few:
            return list(ids[:wanted])
        if len(ids) * second < wanted * first:
            break
    rows = await connection.fetch(
        f"WITH found AS MATERIALIZED (SELECT items.id, items.first_seen FROM items WHERE {match} AND {given.where}) "
        f"SELECT id FROM found ORDER BY first_seen DESC, id DESC LIMIT {given.place(wanted)}",
        *given.values,
    )
    return [row[0] for row in rows]


async def _by_relevance(connection: Any, ids: list[int], words: str) -> list[int]:
    rows = await connection.fetch(
        "SELECT id FROM items WHERE id = ANY($1) ORDER BY ts_rank(words, $2::text::tsquery, 1) DESC, id DESC",
        ids,
        words,
    )
    return [row[0] for row in rows]


async def _in_order(connection: Any, ids: list[int]) -> list[Item]:
    rows = await connection.fetch(f"SELECT {columns(Item)} FROM items WHERE id = ANY($1)", ids)
    kept = {row[0]: record_of(Item, row) for row in rows}
    return [kept[id] for id in ids if id in kept]


async def item(connection: Any, id: int) -> Item | None:
    """By id."""
    row = await connection.fetchrow(f"SELECT {columns(Item)} FROM items WHERE id = $1", id)
    return record_of(Item, row) if row else None


async def crawls(connection: Any, source: int | None, since: float | None, limit: int) -> list[Crawl]:
    """Latest first."""
    given = [(c, v) for c, v in (("source = ${}", source), ("at >= ${}", since)) if v is not None]
    where = " AND ".join(condition.format(place) for place, (condition, _) in enumerate(given, 2)) or "TRUE"
    statement = f"SELECT {columns(Crawl)} FROM crawls WHERE {where} ORDER BY at DESC, id DESC LIMIT $1"
    return [crawl_of(tuple(row)) for row in await connection.fetch(statement, limit, *(value for _, value in given))]


async def versions(connection: Any, source: int, limit: int) -> list[Version]:
    """Latest first."""
    statement = f"SELECT {columns(Version)} FROM versions WHERE source = $1 ORDER BY at DESC, id DESC LIMIT $2"
    return [record_of(Version, row) for row in await connection.fetch(statement, source, limit)]


async def prices(connection: Any, since: float, limit: int) -> list[Price]:
    """The latest ones, oldest first."""
    statement = f"SELECT {columns(Price)} FROM prices WHERE at >= $1 ORDER BY at DESC, id DESC LIMIT $2"
    rows = await connection.fetch(statement, since, limit)
    return [record_of(Price, tuple(_NAN if value is None else value for value in row)) for row in reversed(rows)]


async def totals(connection: Any, since: float) -> Totals:
    """Sums over the crawl log; a crawl without a usable answer, refused by robots included, counts as failed."""
    row = await connection.fetchrow(
        "SELECT count(*), coalesce(sum(requests), 0)::bigint, coalesce(sum(new), 0)::bigint, "
        "count(*) FILTER (WHERE outcome = 'changed'), count(*) FILTER (WHERE outcome IN ('failed', 'refused')), "
        "coalesce(sum(captured), 0) FROM crawls WHERE at >= $1",
        since,
    )
    return record_of(Totals, row)


async def holds(connection: Any, now: float) -> list[Hold]:
    """Those that stand, soonest over first."""
    statement = f'SELECT {columns(Hold)} FROM holds WHERE until > $1 ORDER BY until, host COLLATE "C"'
    return [record_of(Hold, row) for row in await connection.fetch(statement, now)]


async def robots(connection: Any, origin: str) -> Robots | None:
    """What is cached for an origin."""
    row = await connection.fetchrow(f"SELECT {columns(Robots)} FROM robots WHERE digest = $1", digest(origin))
    return record_of(Robots, row) if row else None
