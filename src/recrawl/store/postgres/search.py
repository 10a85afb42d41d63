"""Lists of what was found, latest first, and full-text search. Every list walks an index and stops at its limit.

An index of words gives all matches, in no order: of a frequent word, most of a store. So the latest items are looked
through first, and when their share of matches says that a page will not be filled that way, there are few enough for
the index. Both ways are forced on the server's planner, whose own choice rests on guesses about words.
"""

from __future__ import annotations

from typing import Any

from recrawl.store.postgres.connection import PostgresConnection
from recrawl.store.postgres.rows import digest
from recrawl.store.postgres.search_words import query as words_of
from recrawl.store.records import Item
from recrawl.store.rows import columns, record_of
from recrawl.store.sql import FEW_ITEMS, FEW_SOURCES, FOUND, ITEM_ORDERS, KINDS, RANKED, ItemQuery

# How many of the latest items are looked through, per match wanted and at most.
_WINDOWS = ((40, 20_000), (200, 80_000))


class _Wanted:
    """Which items come into question, as SQL, with the arguments collected on the way.

    Of a few sources, items are gathered source by source; otherwise they are walked, and seen whose they are.
    """

    def __init__(self, query: ItemQuery, sources: list[int] | None) -> None:
        self.values: list[Any] = []
        self.few = sources is not None
        self._sources = "" if sources is None else self.place(sources)
        parts = [KINDS[query.kind]] if query.kind else []
        if sources is not None:
            parts.append("items.source = chosen.source")
        elif query.tag is not None:
            of_tag = "EXISTS (SELECT 1 FROM tags WHERE tags.source = items.source AND digest = {})"
            parts.append(of_tag.format(self.place(digest(query.tag))))
        if query.since is not None:
            parts.append(f"items.first_seen >= {self.place(query.since)}")
        if query.until is not None:
            parts.append(f"items.first_seen < {self.place(query.until)}")
        self.where = " AND ".join(parts) or "TRUE"

    def place(self, value: Any) -> str:
        self.values.append(value)
        return f"${len(self.values)}"

    def latest(self, columns: str, most: str) -> str:
        """The last ones found, out of which a statement chooses."""
        some = f"(SELECT {columns} FROM items WHERE {self.where} ORDER BY {FOUND} LIMIT {most}) AS items"
        return f"unnest({self._sources}::bigint[]) AS chosen (source) CROSS JOIN LATERAL {some}" if self.few else some

    def are_few(self, connection: PostgresConnection) -> bool:
        """Whether each of them can be looked at."""
        if not self.few:
            return False
        most = FEW_ITEMS + 1
        counted = (
            f"SELECT count(*) FROM (SELECT 1 FROM {self.latest('items.id', str(most))} LIMIT {most}) AS some_of_them"
        )
        return bool(connection.fetchval(counted, *self.values) <= FEW_ITEMS)


def _few_sources(connection: PostgresConnection, source: int | None, tag: str | None) -> list[int] | None:
    """The sources in question, if they are few."""
    if tag is None:
        return None if source is None else [source]
    rows = connection.fetch(f"SELECT source FROM tags WHERE digest = $1 LIMIT {FEW_SOURCES + 1}", digest(tag))
    found = [row[0] for row in rows]
    if source is not None:
        tagged = "SELECT EXISTS (SELECT 1 FROM tags WHERE digest = $1 AND source = $2)"
        return [source] if connection.fetchval(tagged, digest(tag), source) else []
    return found if len(found) <= FEW_SOURCES else None


def found_items(connection: PostgresConnection, query: ItemQuery) -> list[Item]:
    """The items asked for, in the order asked for."""
    wanted = _Wanted(query, _few_sources(connection, query.source, query.tag))
    if query.text is not None and query.text.strip():
        return _search(connection, wanted, query, words_of(query.text))
    if query.order == "newest" and not wanted.are_few(connection):
        rows = f"items{', unnest($1::bigint[]) AS chosen (source)' if wanted.few else ''} WHERE {wanted.where}"
    elif query.order == "newest":
        rows = wanted.latest("*", str(FEW_ITEMS))
    else:
        rows = wanted.latest("*", f"{wanted.place(max(query.limit, 0))}::bigint + {wanted.place(query.offset)}::bigint")
    statement = (
        f"SELECT {columns(Item, 'items')} FROM {rows} ORDER BY {ITEM_ORDERS[query.order]} "
        f"LIMIT {wanted.place(query.limit)} OFFSET {wanted.place(query.offset)}"
    )
    return [record_of(Item, row) for row in connection.fetch(statement, *wanted.values)]


def _search(connection: PostgresConnection, wanted: _Wanted, query: ItemQuery, words: str) -> list[Item]:
    if not words or query.limit <= 0:
        return []
    end = query.offset + query.limit
    found = _matches(connection, wanted, words, RANKED if query.order == "relevance" else end)
    if query.order == "relevance":
        found = _by_relevance(connection, found, words)
    return _in_order(connection, found[query.offset : end])


def _matches(connection: PostgresConnection, wanted: _Wanted, words: str, number: int) -> list[int]:
    """Ids of matching items, found last first."""
    few = wanted.are_few(connection)
    match = f"items.words @@ {wanted.place(words)}::text::tsquery"
    first, second = (min(share * number, most) for share, most in _WINDOWS)
    for window in (FEW_ITEMS,) if few else (first, second):
        latest = wanted.latest(f"items.id, items.first_seen, {match} AS matches", str(window))
        row = connection.fetchrow(
            "SELECT array_agg(id ORDER BY first_seen DESC, id DESC) FILTER (WHERE matches), count(*) FROM "
            f"(SELECT items.* FROM {latest} ORDER BY {FOUND} LIMIT {window}) AS latest",
            *wanted.values,
        )
        ids, seen = row[0] or [], row[1]
        if len(ids) >= number or seen < window or few:
            return list(ids[:number])
        if len(ids) * second < number * first:
            break
    chosen = ", unnest($1::bigint[]) AS chosen (source)" if wanted.few else ""
    rows = connection.fetch(
        f"WITH found AS MATERIALIZED (SELECT items.id, items.first_seen FROM items{chosen} "
        f"WHERE {match} AND {wanted.where}) "
        f"SELECT id FROM found ORDER BY first_seen DESC, id DESC LIMIT {wanted.place(number)}",
        *wanted.values,
    )
    return [row[0] for row in rows]


def _by_relevance(connection: PostgresConnection, ids: list[int], words: str) -> list[int]:
    rows = connection.fetch(
        "SELECT id FROM items WHERE id = ANY($1) ORDER BY ts_rank(words, $2::text::tsquery, 1) DESC, id DESC",
        ids,
        words,
    )
    return [row[0] for row in rows]


def _in_order(connection: PostgresConnection, ids: list[int]) -> list[Item]:
    rows = connection.fetch(f"SELECT {columns(Item)} FROM items WHERE id = ANY($1)", ids)
    kept = {row[0]: record_of(Item, row) for row in rows}
    return [kept[id] for id in ids if id in kept]
