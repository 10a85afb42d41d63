"""Lists of what was found, latest first, and full-text search. Every list walks an index and stops at its limit."""

from __future__ import annotations

import sqlite3
from typing import Any

from recrawl.store.records import Item, ItemOrder
from recrawl.store.rows import LARGEST, columns, mended, record_of
from recrawl.store.sql import FEW_ITEMS, FEW_SOURCES, ITEM_ORDERS, KINDS, RANKED, ItemQuery

_COLUMNS = columns(Item, "items")
_WORDS = 32
_SHORTEST_BEGINNING = 3


def found_items(connection: sqlite3.Connection, query: ItemQuery) -> list[Item]:
    """The items asked for, in the order asked for."""
    where, values = _conditions(connection, query)
    if query.text is None or not query.text.strip():
        statement = f"SELECT {_COLUMNS} FROM items WHERE TRUE{where} ORDER BY {ITEM_ORDERS[query.order]}"
        statement += " LIMIT ? OFFSET ?"
    elif expression := match_expression(query.text):
        values = [expression, *_id_bounds(connection, query.since, query.until), *values]
        statement = _search(_matches(connection, query).format(where=where), query.order)
    else:
        return []
    rows = connection.execute(statement, (*values, query.limit, query.offset))
    return [record_of(Item, row) for row in rows]


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


def _conditions(connection: sqlite3.Connection, query: ItemQuery) -> tuple[str, list[Any]]:
    parts = [KINDS[query.kind]] if query.kind else []
    values: list[Any] = []
    if query.source is not None:
        parts.append("items.source = ?")
        values.append(query.source)
    if query.tag is not None:
        # Few sources: gather their items. Many: walk the latest items and see whose they are.
        column = "items.source" if _has_few(connection, mended(query.tag)) else "+items.source"
        parts.append(f"{column} IN (SELECT source FROM tags WHERE tag = ?)")
        values.append(mended(query.tag))
    if query.since is not None:
        parts.append("items.first_seen >= ?")
        values.append(query.since)
    if query.until is not None:
        parts.append("items.first_seen < ?")
        values.append(query.until)
    return "".join(f" AND {part}" for part in parts), values


def _has_few(connection: sqlite3.Connection, tag: str) -> bool:
    counted = "SELECT count(*) FROM (SELECT 1 FROM tags WHERE tag = ? LIMIT ?)"
    return bool(connection.execute(counted, (tag, FEW_SOURCES + 1)).fetchone()[0] <= FEW_SOURCES)


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


def _matches(connection: sqlite3.Connection, query: ItemQuery) -> str:
    source, tag = query.source, mended(query.tag)
    if source is None and tag is None:
        return _MATCHES
    where, value = ("= ?", source) if source is not None else ("IN (SELECT source FROM tags WHERE tag = ?)", tag)
    counted = f"SELECT count(*) FROM (SELECT 1 FROM items WHERE source {where} LIMIT ?)"
    few = connection.execute(counted, (value, FEW_ITEMS + 1)).fetchone()[0] <= FEW_ITEMS
    return _MATCHES_AMONG_FEW if few else _MATCHES


def _search(matches: str, order: ItemOrder) -> str:
    if order != "relevance":
        return f"SELECT {_COLUMNS} {matches} LIMIT ? OFFSET ?"
    latest = f"SELECT items.id AS id, items_text.rank AS score {matches} LIMIT {RANKED}"
    best = f"SELECT id, score FROM ({latest}) ORDER BY score, id DESC LIMIT ? OFFSET ?"
    return f"SELECT {_COLUMNS} FROM ({best}) AS best JOIN items USING (id) ORDER BY score, id DESC"
