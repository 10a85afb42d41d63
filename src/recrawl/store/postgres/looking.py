"""Reading what was found and done, latest first. Every list here walks an index and stops at its limit.

An index of words gives all matches, in no order: of a frequent word, most of a store. So the latest items are looked
through first, and when their share of matches says that a page will not be filled that way, there are few enough for
the index. Both ways are forced on the server's planner, whose own choice rests on guesses about words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from recrawl.errors import ParameterError
from recrawl.store.base import Crawl, Hold, Item, ItemKind, Price, Robots, Totals, Version
from recrawl.store.postgres.rows import columns_of, digest
from recrawl.store.postgres.words import query
from recrawl.store.sqlite.looking import KINDS
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
_DIFFS = """
SELECT change.id, version.diff
FROM unnest($1::bigint[], $2::bigint[], $3::double precision[]) AS change (id, source, at),
LATERAL (SELECT diff FROM versions WHERE source = change.source AND at = change.at ORDER BY id DESC LIMIT 1) AS version
"""


class _Wanted:
    """Which items come into question, as SQL, with the arguments collected on the way.

    Of a few sources, items are gathered source by source; otherwise they are walked, and seen whose they are.
    """

    def __init__(
        self,
        sources: list[int] | None,
        tag: str | None,
        since: float | None,
        until: float | None,
        kind: ItemKind | None,
    ) -> None:
        self.values: list[Any] = []
        self.few = sources is not None
        self._sources = "" if sources is None else self.place(sources)
        parts = [KINDS[kind]] if kind else []
        if sources is not None:
            parts.append("items.source = chosen.source")
        elif tag is not None:
            of_tag = "EXISTS (SELECT 1 FROM tags WHERE tags.source = items.source AND digest = {})"
            parts.append(of_tag.format(self.place(digest(tag))))
        if since is not None:
            parts.append(f"items.first_seen >= {self.place(since)}")
        if until is not None:
            parts.append(f"items.first_seen < {self.place(until)}")
        self.where = " AND ".join(parts) or "TRUE"

    def place(self, value: Any) -> str:
        self.values.append(value)
        return f"${len(self.values)}"

    def latest(self, columns: str, most: str) -> str:
        """The last ones found, out of which a statement chooses."""
        some = f"(SELECT {columns} FROM items WHERE {self.where} ORDER BY {_FOUND} LIMIT {most}) AS items"
        return f"unnest({self._sources}::bigint[]) AS chosen (source) CROSS JOIN LATERAL {some}" if self.few else some

    async def are_few(self, connection: Any) -> bool:
        """Whether each of them can be looked at."""
        if not self.few:
            return False
        most = _FEW_ITEMS + 1
        counted = (
            f"SELECT count(*) FROM (SELECT 1 FROM {self.latest('items.id', str(most))} LIMIT {most}) AS some_of_them"
        )
        return bool(await connection.fetchval(counted, *self.values) <= _FEW_ITEMS)


async def items(
    connection: Any,
    *,
    source: int | None,
    tag: str | None,
    since: float | None,
    until: float | None,
    kind: ItemKind | None,
    text: str | None,
    order: ItemOrder,
    limit: int,
    offset: int,
) -> list[Item]:
    """Those that match all that is given."""
    if order not in _ITEM_ORDERS:
        raise ParameterError("order", f"one of {', '.join(_ITEM_ORDERS)}", repr(order))
    wanted = _Wanted(await _few_sources(connection, source, tag), tag, since, until, kind)
    if text is not None and text.strip():
        return await _search(connection, wanted, text, order, limit, offset)
    if order == "newest" and not await wanted.are_few(connection):
        rows = f"items{', unnest($1::bigint[]) AS chosen (source)' if wanted.few else ''} WHERE {wanted.where}"
    else:
        most = (
            str(_FEW_ITEMS)
            if order == "newest"
            else f"{wanted.place(max(limit, 0))}::bigint + {wanted.place(offset)}::bigint"
        )
        rows = wanted.latest("*", most)
    statement = (
        f"SELECT {columns(Item, 'items')} FROM {rows} ORDER BY {_ITEM_ORDERS[order]} "
        f"LIMIT {wanted.place(limit)} OFFSET {wanted.place(offset)}"
    )
    return [record_of(Item, row) for row in await connection.fetch(statement, *wanted.values)]


async def _few_sources(connection: Any, source: int | None, tag: str | None) -> list[int] | None:
    """The sources in question, if they are few."""
    if tag is None:
        return None if source is None else [source]
    rows = await connection.fetch(f"SELECT source FROM tags WHERE digest = $1 LIMIT {_FEW + 1}", digest(tag))
    found = [row[0] for row in rows]
    if source is not None:
        tagged = "SELECT EXISTS (SELECT 1 FROM tags WHERE digest = $1 AND source = $2)"
        return [source] if await connection.fetchval(tagged, digest(tag), source) else []
    return found if len(found) <= _FEW else None


async def _search(connection: Any, wanted: _Wanted, text: str, order: ItemOrder, limit: int, offset: int) -> list[Item]:
    words = query(text)
    if not words or limit <= 0:
        return []
    found = await _matches(connection, wanted, words, RANKED if order == "relevance" else offset + limit)
    if order == "relevance":
        found = await _by_relevance(connection, found, words)
    return await _in_order(connection, found[offset : offset + limit])


async def _matches(connection: Any, wanted: _Wanted, words: str, number: int) -> list[int]:
    """Ids of matching items, found last first."""
    few = await wanted.are_few(connection)
    match = f"items.words @@ {wanted.place(words)}::text::tsquery"
    first, second = (min(share * number, most) for share, most in _WINDOWS)
    for window in (_FEW_ITEMS,) if few else (first, second):
        latest = wanted.latest(f"items.id, items.first_seen, {match} AS matches", str(window))
        row = await connection.fetchrow(
            "SELECT array_agg(id ORDER BY first_seen DESC, id DESC) FILTER (WHERE matches), count(*) FROM "
            f"(SELECT items.* FROM {latest} ORDER BY {_FOUND} LIMIT {window}) AS latest",
            *wanted.values,
        )
        ids, seen = row[0] or [], row[1]
        if len(ids) >= number or seen < window or few:
            return list(ids[:number])
        if len(ids) * second < number * first:
            break
    chosen = ", unnest($1::bigint[]) AS chosen (source)" if wanted.few else ""
    rows = await connection.fetch(
        f"WITH found AS MATERIALIZED (SELECT items.id, items.first_seen FROM items{chosen} "
        f"WHERE {match} AND {wanted.where}) "
        f"SELECT id FROM found ORDER BY first_seen DESC, id DESC LIMIT {wanted.place(number)}",
        *wanted.values,
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


async def diffs(connection: Any, changes: Sequence[Item]) -> dict[int, str]:
    """What differed, by the id of each of these changes."""
    rows = await connection.fetch(_DIFFS, *columns_of([(each.id, each.source, each.first_seen) for each in changes], 3))
    return {row[0]: row[1] for row in rows}


async def prices(connection: Any, since: float, limit: int) -> list[Price]:
    """The latest ones, oldest first."""
    statement = f"SELECT {columns(Price)} FROM prices WHERE at >= $1 ORDER BY at DESC, id DESC LIMIT $2"
    rows = await connection.fetch(statement, since, limit)
    return [record_of(Price, tuple(_NAN if value is None else value for value in row)) for row in reversed(rows)]


async def totals(connection: Any, since: float) -> Totals:
    """Sums over the crawl log; a crawl without a usable answer, refused by robots included, counts as failed."""
    row = await connection.fetchrow(
        "SELECT count(*), coalesce(sum(requests), 0)::bigint, "
        "coalesce(sum(new) FILTER (WHERE outcome <> 'changed'), 0)::bigint, "
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
