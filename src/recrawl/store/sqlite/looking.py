"""Reading what was found and done, latest first. Every list here walks an index and stops at its limit."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Literal

from recrawl.errors import ParameterError
from recrawl.store.base import Crawl, Hold, Item, ItemKind, Price, Robots, Totals, Version
from recrawl.store.sqlite.rows import columns, crawl_of, mended, record_of

ItemOrder = Literal["newest", "relevance", "found"]

_ITEM_ORDERS = {
    "found": "items.first_seen DESC, items.id DESC",
    "relevance": "items.first_seen DESC, items.id DESC",
    "newest": "coalesce(items.published, items.first_seen) DESC, items.id DESC",
}
RANKED = 2000
"""Relevance is computed among this many latest matches: a frequent word in a large store has too many to score."""
# Written out, because changes have an index of their own that no argument leads to.
KINDS: dict[ItemKind, str] = {"item": "items.kind = 'item'", "change": "items.kind = 'change'"}
LARGEST = 2**63 - 1
"""The largest id there can be."""
_WORDS = 32
_SHORTEST_BEGINNING = 3
_FEW = 200
_FEW_ITEMS = 2000


def match_expression(text: str) -> str:
    """What a person typed as a full-text query: every word must occur; a star makes one of three letters or more the
    beginning of a word.

    >>> match_expression('red "green OR blu* b*')
    '"red" "green" "OR" "blu"* "b"'
    >>> match_expression("*** -- ")
    ''
    """
    words = [word for word in mended(text).replace('"', " ").replace("\0", " ").split() if any(map(str.isalnum, word))]
    return " ".join(_quoted(word) for word in words[:_WORDS])


def _quoted(word: str) -> str:
    stem = word.rstrip("*")
    return f'"{stem}"' + ("*" if len(word) > len(stem) >= _SHORTEST_BEGINNING else "")


def _conditions(
    connection: sqlite3.Connection,
    source: int | None,
    tag: str | None,
    since: float | None,
    until: float | None,
    kind: ItemKind | None,
) -> tuple[str, list[Any]]:
    parts = [KINDS[kind]] if kind else []
    values: list[Any] = []
    if source is not None:
        parts.append("items.source = ?")
        values.append(source)
    if tag is not None:
        # Few sources: gather their items. Many: walk the latest items and see whose they are.
        column = "items.source" if _has_few(connection, tag) else "+items.source"
        parts.append(f"{column} IN (SELECT source FROM tags WHERE tag = ?)")
        values.append(tag)
    if since is not None:
        parts.append("items.first_seen >= ?")
        values.append(since)
    if until is not None:
        parts.append("items.first_seen < ?")
        values.append(until)
    return "".join(f" AND {part}" for part in parts), values


def _has_few(connection: sqlite3.Connection, tag: str) -> bool:
    counted = "SELECT count(*) FROM (SELECT 1 FROM tags WHERE tag = ? LIMIT ?)"
    return bool(connection.execute(counted, (tag, _FEW + 1)).fetchone()[0] <= _FEW)


def items(
    connection: sqlite3.Connection,
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
    where, values = _conditions(connection, source, mended(tag), since, until, kind)
    if text is not None and text.strip():
        expression = match_expression(text)
        if not expression:
            return []
        bounds = _id_bounds(connection, since, until)
        search = _search_by_relevance if order == "relevance" else _search_latest
        matches = _matches(connection, source, mended(tag)).format(where=where)
        return search(connection, (expression, *bounds, *values), matches, limit, offset)
    statement = (
        f"SELECT {columns(Item, 'items')} FROM items WHERE TRUE{where} ORDER BY {_ITEM_ORDERS[order]} LIMIT ? OFFSET ?"
    )
    return [record_of(Item, row) for row in connection.execute(statement, (*values, limit, offset))]


def _id_bounds(connection: sqlite3.Connection, since: float | None, until: float | None) -> tuple[int, int]:
    """Ids outside cannot have been seen in [since, until): the index of words need not be walked there.

    The plus signs have times looked up in their index, instead of rows walked until one fits.
    """
    low, high = 0, LARGEST
    if since is not None:
        low = connection.execute("SELECT min(+id) FROM items WHERE first_seen >= ?", (since,)).fetchone()[0] or LARGEST
    if until is not None:
        high = connection.execute("SELECT max(+id) FROM items WHERE first_seen < ?", (until,)).fetchone()[0] or 0
    return low, high


# The index of words is walked by descending id, which is the order in which items were found, and left at the limit.
_MATCHES = (
    "FROM items_text CROSS JOIN items ON items.id = items_text.rowid "
    "WHERE items_text MATCH ? AND items_text.rowid BETWEEN ? AND ?{where} ORDER BY items_text.rowid DESC"
)
# Where few items come into question, each is looked up in it instead.
_MATCHES_AMONG_FEW = (
    "FROM items CROSS JOIN items_text ON items_text.rowid = items.id "
    "WHERE items_text MATCH ? AND +items.id BETWEEN ? AND ?{where} ORDER BY items.id DESC"
)


def _matches(connection: sqlite3.Connection, source: int | None, tag: str | None) -> str:
    if source is None and tag is None:
        return _MATCHES
    where, value = ("= ?", source) if source is not None else ("IN (SELECT source FROM tags WHERE tag = ?)", tag)
    counted = f"SELECT count(*) FROM (SELECT 1 FROM items WHERE source {where} LIMIT ?)"
    few = connection.execute(counted, (value, _FEW_ITEMS + 1)).fetchone()[0] <= _FEW_ITEMS
    return _MATCHES_AMONG_FEW if few else _MATCHES


def _search_latest(
    connection: sqlite3.Connection, values: tuple[Any, ...], matches: str, limit: int, offset: int
) -> list[Item]:
    statement = f"SELECT {columns(Item, 'items')} {matches} LIMIT ? OFFSET ?"
    return [record_of(Item, row) for row in connection.execute(statement, (*values, limit, offset))]


def _search_by_relevance(
    connection: sqlite3.Connection, values: tuple[Any, ...], matches: str, limit: int, offset: int
) -> list[Item]:
    latest = f"SELECT items.id AS id, items_text.rank AS score {matches} LIMIT {RANKED}"
    best = f"SELECT id, score FROM ({latest}) ORDER BY score, id DESC LIMIT ? OFFSET ?"
    statement = f"SELECT {columns(Item, 'items')} FROM ({best}) AS best JOIN items USING (id) ORDER BY score, id DESC"
    return [record_of(Item, row) for row in connection.execute(statement, (*values, limit, offset))]


def item(connection: sqlite3.Connection, id: int) -> Item | None:
    """By id."""
    row = connection.execute(f"SELECT {columns(Item)} FROM items WHERE id = ?", (id,)).fetchone()
    return record_of(Item, row) if row else None


def crawls(connection: sqlite3.Connection, source: int | None, since: float | None, limit: int) -> list[Crawl]:
    """Latest first."""
    parts = [("source = ?", source), ("at >= ?", since)]
    given = [(condition, value) for condition, value in parts if value is not None]
    where = " WHERE " + " AND ".join(condition for condition, _ in given) if given else ""
    statement = f"SELECT {columns(Crawl)} FROM crawls{where} ORDER BY at DESC, id DESC LIMIT ?"
    return [crawl_of(row) for row in connection.execute(statement, (*(value for _, value in given), limit))]


def versions(connection: sqlite3.Connection, source: int, limit: int) -> list[Version]:
    """Latest first."""
    statement = f"SELECT {columns(Version)} FROM versions WHERE source = ? ORDER BY at DESC, id DESC LIMIT ?"
    return [record_of(Version, row) for row in connection.execute(statement, (source, limit))]


def diffs(connection: sqlite3.Connection, changes: Sequence[Item]) -> dict[int, str]:
    """What differed, by the id of each of these changes."""
    statement = "SELECT diff FROM versions WHERE source = ? AND at = ? ORDER BY id DESC LIMIT 1"
    rows = {each.id: connection.execute(statement, (each.source, each.first_seen)).fetchone() for each in changes}
    return {id: row[0] for id, row in rows.items() if row}


def prices(connection: sqlite3.Connection, since: float, limit: int) -> list[Price]:
    """The latest ones, oldest first."""
    statement = f"SELECT {columns(Price)} FROM prices WHERE at >= ? ORDER BY at DESC, id DESC LIMIT ?"
    rows = connection.execute(statement, (since, limit)).fetchall()
    return [_with_nans(Price, row) for row in reversed(rows)]


def _with_nans(record: type[Price], row: tuple[Any, ...]) -> Price:
    return record_of(record, tuple(float("nan") if value is None else value for value in row))


def totals(connection: sqlite3.Connection, since: float) -> Totals:
    """Sums over the crawl log; a crawl without a usable answer, refused by robots included, counts as failed."""
    row = connection.execute(
        "SELECT count(*), coalesce(sum(requests), 0), coalesce(sum(new) FILTER (WHERE outcome <> 'changed'), 0), "
        "coalesce(sum(outcome = 'changed'), 0), "
        "coalesce(sum(outcome IN ('failed', 'refused')), 0), coalesce(sum(captured), 0.0) FROM crawls WHERE at >= ?",
        (since,),
    ).fetchone()
    return record_of(Totals, row)


def holds(connection: sqlite3.Connection, now: float) -> list[Hold]:
    """Those that stand, soonest over first."""
    statement = f"SELECT {columns(Hold)} FROM holds WHERE until > ? ORDER BY until, host"
    return [record_of(Hold, row) for row in connection.execute(statement, (now,))]


def robots(connection: sqlite3.Connection, origin: str) -> Robots | None:
    """What is cached for an origin."""
    row = connection.execute(f"SELECT {columns(Robots)} FROM robots WHERE origin = ?", (mended(origin),)).fetchone()
    return record_of(Robots, row) if row else None
