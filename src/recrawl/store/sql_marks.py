"""What a rule of the owner's puts on new items: stars and labels, for everybody who reads their source."""

from __future__ import annotations

from collections.abc import Iterable

from recrawl.store.reader_records import MOST_KEPT, MOST_LABELS
from recrawl.store.records import Mark
from recrawl.store.retention import Statements

_WHOSE = (
    "FROM items JOIN reader_sources AS mine ON mine.source = items.source WHERE items.source = $1 AND items.key = $2"
)
# Whoever has as many as anybody may have gets no more.
_STAR = (
    "INSERT INTO reader_items (reader, item, source, starred) "
    f"SELECT mine.reader, items.id, items.source, CAST($3 AS double precision) {_WHOSE} "
    "AND (SELECT count(*) FROM reader_items WHERE reader = mine.reader AND starred IS NOT NULL) < "
    f"{MOST_KEPT} ON CONFLICT (reader, item) DO NOTHING"
)
_LABEL = (
    "INSERT INTO reader_labels (reader, item, label) "
    f"SELECT mine.reader, items.id, CAST($3 AS text) {_WHOSE} "
    f"AND (SELECT count(*) FROM reader_labels WHERE reader = mine.reader) < {MOST_KEPT} "
    f"AND (SELECT count(DISTINCT label) FROM reader_labels WHERE reader = mine.reader) < {MOST_LABELS} "
    "ON CONFLICT DO NOTHING"
)


def put(statements: Statements, marks: Iterable[tuple[int, float, Mark]]) -> None:
    """Put them on items that were just written: (source, when it was found, mark)."""
    for source, at, mark in marks:
        if mark.starred:
            statements.run(_STAR, source, mark.key, at)
        for label in mark.labels:
            statements.run(_LABEL, source, mark.key, label)
