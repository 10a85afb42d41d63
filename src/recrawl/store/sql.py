"""The parts of a store that both databases answer to the same statement, a class per role.

`$1` is the first value given. What one database needs otherwise is in its own classes, which extend these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Unpack

import msgspec

from recrawl.errors import ParameterError
from recrawl.store.records import (
    SEARCHER,
    Believed,
    Click,
    ClickTotals,
    Content,
    Crawl,
    Event,
    Hold,
    Item,
    ItemChoice,
    ItemKind,
    ItemOrder,
    Price,
    Progress,
    Robots,
    Source,
    SourceChoice,
    SourceState,
    Totals,
    Version,
)
from recrawl.store.rows import (
    LARGEST,
    PAGE,
    Row,
    columns,
    crawl_of,
    fitting,
    names,
    pages,
    progress_of,
    record_of,
    source_of,
)

SOURCE_ORDERS = ("id", "url", "title", "importance", "added", "last", "due", "value", "failures")
RANKED = 2000
"""Relevance is computed among this many latest matches: a frequent word in a large store has too many to score."""
FOUND = "items.first_seen DESC, items.id DESC"
ITEM_ORDERS = {
    "found": FOUND,
    "relevance": FOUND,
    "newest": "coalesce(items.published, items.first_seen) DESC, items.id DESC",
}
# Written out, because changes have an index of their own that no argument leads to.
KINDS: dict[ItemKind, str] = {"item": "items.kind = 'item'", "change": "items.kind = 'change'"}
FEW_SOURCES, FEW_ITEMS = 200, 2000
"""So many are gathered one by one; of more, the latest items are walked."""
READ_NOTE = "SELECT text FROM notes WHERE name = $1"


_WITH_PROGRESS = (
    f"SELECT {columns(Source, 'sources')}, {columns(Progress, 'progress')} "
    "FROM sources JOIN progress ON progress.source = sources.id WHERE "
)
_WIDTH = len(names(Source))
"""Columns of a line of the catalogue."""


class SourceQuery(msgspec.Struct, kw_only=True):
    """A :class:`recrawl.store.records.SourceChoice`, whole."""

    ids: Sequence[int] | None = None
    state: SourceState | None = None
    tag: str | None = None
    text: str | None = None
    since_revision: int = 0
    order: str = "id"
    limit: int | None = None
    offset: int = 0


class ItemQuery(msgspec.Struct, kw_only=True):
    """A :class:`recrawl.store.records.ItemChoice`, whole."""

    source: int | None = None
    tag: str | None = None
    since: float | None = None
    until: float | None = None
    kind: ItemKind | None = None
    text: str | None = None
    order: ItemOrder = "found"
    limit: int = 100
    offset: int = 0


def numbered(conditions: Iterable[tuple[str, Any]]) -> tuple[str, list[Any]]:
    """The WHERE clause of conditions, if there are any, and their values; `${0}` in a condition is its own value.

    >>> numbered([("a = ${0}", 5), ("(b = ${0} OR c = ${0})", 6)])
    (' WHERE a = $1 AND (b = $2 OR c = $2)', [5, 6])
    """
    given = list(conditions)
    parts = [condition.format(place) for place, (condition, _) in enumerate(given, 1)]
    return (" WHERE " + " AND ".join(parts) if parts else ""), [value for _, value in given]


def _checked(query: SourceQuery) -> SourceQuery:
    if query.order.removeprefix("-") not in SOURCE_ORDERS:
        expected = f"one of {', '.join(SOURCE_ORDERS)}, with or without a leading -"
        raise ParameterError("order", expected, repr(query.order))
    return query


class SqlRole(ABC):
    """A database that can be asked."""

    _by_bytes: str
    """The collation that compares texts by their bytes."""

    @abstractmethod
    def _fetch(self, statement: str, *values: Any) -> list[Row]:
        """Rows of one statement; a list of numbers is one value."""

    @abstractmethod
    def _write(self, statement: str, *values: Any) -> None:
        """One statement, in a transaction of its own."""

    @abstractmethod
    def _among(self, column: str) -> str:
        """The condition that a column is one of the numbers in the first value."""

    @abstractmethod
    def _named(self, column: str, text: str) -> tuple[str, Any]:
        """The column by whose value a row is found that has this text in a column, and that value."""


class SqlCatalogue(SqlRole):
    """Reads of the catalogue."""

    def sources(self, **choice: Unpack[SourceChoice]) -> list[Source]:
        """Those that match, by id unless another order is given."""
        return self._sources(_checked(SourceQuery(**choice)))

    def ids_in_order(
        self, order: str, *, state: SourceState | None = None, tag: str | None = None, text: str | None = None
    ) -> array[int]:
        """The ids of all that match, in an order: for whoever shows pages that are far from its beginning."""
        return self._ids_in_order(_checked(SourceQuery(state=state, tag=tag, text=text, order=order)))

    @abstractmethod
    def _ids_in_order(self, query: SourceQuery) -> array[int]:
        """The ids of all that match, in the query's order."""

    @abstractmethod
    def _sources(self, query: SourceQuery) -> list[Source]:
        """Those that match."""

    def count(
        self,
        *,
        state: SourceState | None = None,
        tag: str | None = None,
        text: str | None = None,
        never_fetched: bool = False,
    ) -> int:
        """How many match; with `never_fetched`, of those that have not answered so far."""
        query = SourceQuery(state=state, tag=tag, text=text)
        where, values = numbered(self._conditions(query, along_state=not never_fetched))
        if never_fetched:
            unknown = "sources.id IN (SELECT source FROM progress WHERE last IS NULL)"
            where = f"{where} AND {unknown}" if where else f" WHERE {unknown}"
        return int(self._fetch(f"SELECT count(*) FROM sources{where}", *values)[0][0])

    @abstractmethod
    def _conditions(self, query: SourceQuery, *, along_state: bool = False) -> Iterator[tuple[str, Any]]:
        """What a query asks for, as for `numbered`; `along_state` where an index on the state is of use."""

    def source(self, target: int | str) -> Source | None:
        """By id or by exact URL."""
        if isinstance(target, int) and not 0 < target <= LARGEST:
            return None
        column, value = self._named("url", target) if isinstance(target, str) else ("id", target)
        rows = self._fetch(f"SELECT {columns(Source)} FROM sources WHERE {column} = $1", value)
        return source_of(rows[0]) if rows else None

    def every_source(self) -> Iterator[Source]:
        """All, by id, a few thousand read at a time."""
        last = 0
        selected = f"SELECT {columns(Source)} FROM sources WHERE id > $1 ORDER BY id LIMIT {PAGE}"
        while rows := self._fetch(selected, last):
            yield from map(source_of, rows)
            last = rows[-1][0]

    def with_progress(self, ids: Sequence[int]) -> list[tuple[Source, Progress]]:
        """Those of these that are there, each with what crawling it has led to, in any order."""
        rows = self._fetch(_WITH_PROGRESS + self._among("sources.id"), list(ids))
        return [(source_of(row[:_WIDTH]), progress_of(row[_WIDTH:])) for row in rows]

    def removed(self, since_revision: int) -> list[int]:
        """Ids of the sources removed after a revision."""
        rows = self._fetch("SELECT source FROM removed WHERE revision > $1 ORDER BY source", since_revision)
        return [row[0] for row in rows]

    def tags(self, limit: int = 100) -> list[tuple[str, int]]:
        """Tags and how many sources have each, the most common first."""
        statement = f"SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY count(*) DESC, tag {self._by_bytes} LIMIT $1"
        return [(row[0], row[1]) for row in self._fetch(statement, limit)]

    def believed(self) -> Believed:
        """What is believed of every active source."""
        # Every source has its progress: a left join keeps SQLite from walking that one first.
        rows = self._fetch(
            "SELECT id, importance, cost, half_life, max_age, value, rate, last "
            "FROM sources LEFT JOIN progress ON progress.source = sources.id WHERE state = 'active' ORDER BY id"
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


class SqlCrawlLog(SqlRole):
    """Reads of what crawling has led to."""

    def progress(self, ids: Sequence[int] | None = None) -> Iterator[Progress]:
        """Of these sources, or of all, by id, a few thousand read at a time."""
        selected = f"SELECT {columns(Progress)} FROM progress WHERE"
        if ids is not None:
            for page in pages(sorted(fitting(ids))):
                yield from map(progress_of, self._fetch(f"{selected} {self._among('source')} ORDER BY source", page))
            return
        last = 0
        while rows := self._fetch(f"{selected} source > $1 ORDER BY source LIMIT {PAGE}", last):
            yield from map(progress_of, rows)
            last = rows[-1][0]

    def shared(self) -> bytes | None:
        """The learner's record of the whole catalogue."""
        rows = self._fetch("SELECT value FROM meta WHERE name = 'shared'")
        return rows[0][0] if rows else None

    def holds(self, now: float) -> list[Hold]:
        """Those that still stand, soonest over first."""
        statement = f"SELECT {columns(Hold)} FROM holds WHERE until > $1 ORDER BY until, host {self._by_bytes}"
        return [record_of(Hold, row) for row in self._fetch(statement, now)]

    def robots(self, origin: str) -> Robots | None:
        """What is cached for an origin."""
        column, value = self._named("origin", origin)
        rows = self._fetch(f"SELECT {columns(Robots)} FROM robots WHERE {column} = $1", value)
        return record_of(Robots, rows[0]) if rows else None

    def crawls(self, *, source: int | None = None, since: float | None = None, limit: int = 100) -> list[Crawl]:
        """Latest first."""
        asked = (("source = ${0}", source), ("at >= ${0}", since))
        where, values = numbered((condition, value) for condition, value in asked if value is not None)
        last = f"ORDER BY at DESC, id DESC LIMIT ${len(values) + 1}"
        statement = f"SELECT {columns(Crawl)} FROM crawls{where} {last}"
        return [crawl_of(row) for row in self._fetch(statement, *values, limit)]

    def prices(self, since: float, limit: int = 2000) -> list[Price]:
        """Oldest first; the latest `limit` of them."""
        statement = f"SELECT {columns(Price)} FROM prices WHERE at >= $1 ORDER BY at DESC, id DESC LIMIT $2"
        rows = reversed(self._fetch(statement, since, limit))
        return [record_of(Price, tuple(float("nan") if value is None else value for value in row)) for row in rows]

    def totals(self, since: float) -> Totals:
        """Sums over the crawl log; a crawl without a usable answer, refused by robots included, counts as failed."""
        rows = self._fetch(
            "SELECT count(*), CAST(coalesce(sum(requests), 0) AS bigint), "
            "CAST(coalesce(sum(new) FILTER (WHERE outcome <> 'changed'), 0) AS bigint), "
            "count(*) FILTER (WHERE outcome = 'changed'), count(*) FILTER (WHERE outcome IN ('failed', 'refused')), "
            "coalesce(sum(captured), 0.0) FROM crawls WHERE at >= $1",
            since,
        )
        return record_of(Totals, rows[0])


_WRITE_ARTICLE = """
INSERT INTO contents SELECT id, CAST($2 AS text), $3 FROM items WHERE id = $1
ON CONFLICT (item) DO UPDATE SET record = excluded.record
"""


class SqlItems(SqlRole):
    """Reads of what was found."""

    def items(self, **choice: Unpack[ItemChoice]) -> list[Item]:
        """Those that match, found last first unless another order is given."""
        query = ItemQuery(**choice)
        if query.order not in ITEM_ORDERS:
            raise ParameterError("order", f"one of {', '.join(ITEM_ORDERS)}", repr(query.order))
        return self._items(query)

    @abstractmethod
    def _items(self, query: ItemQuery) -> list[Item]:
        """Those that match."""

    def item(self, id: int) -> Item | None:
        """By id."""
        if not 0 < id <= LARGEST:
            return None
        rows = self._fetch(f"SELECT {columns(Item)} FROM items WHERE id = $1", id)
        return record_of(Item, rows[0]) if rows else None

    def versions(self, source: int, limit: int = 20) -> list[Version]:
        """Latest first."""
        statement = f"SELECT {columns(Version)} FROM versions WHERE source = $1 ORDER BY at DESC, id DESC LIMIT $2"
        return [record_of(Version, row) for row in self._fetch(statement, source, limit)]

    def contents(self, items: Sequence[int]) -> dict[int, Content]:
        """What these items say in full, by number."""
        rows = self._fetch(f"SELECT item, author, record FROM contents WHERE {self._among('item')}", fitting(items))
        return {row[0]: Content(row[1], bytes(row[2])) for row in rows}

    def ask_for_article(self, item: int, at: float) -> None:
        """The page of an item is to be fetched for what it says in full."""
        statement = "INSERT INTO articles SELECT id, CAST($2 AS double precision), 0 FROM items WHERE id = $1"
        for id in fitting([item]):
            self._write(f"{statement} ON CONFLICT (item) DO NOTHING", id, at)

    def articles(self, now: float, limit: int) -> list[tuple[int, int]]:
        """Items whose pages are to be fetched now, the latest first."""
        statement = "SELECT item, tries FROM articles WHERE due <= $1 ORDER BY item DESC LIMIT $2"
        return [(row[0], row[1]) for row in self._fetch(statement, now, limit)]

    def put_off_article(self, item: int, due: float) -> None:
        """It was tried in vain, and is to be tried again then."""
        self._write("UPDATE articles SET tries = tries + 1, due = $2 WHERE item = $1", item, due)

    def write_article(self, item: int, content: Content | None) -> None:
        """It was fetched: what it says takes the place of what was kept, unless it says nothing."""
        if content is not None and content.record:
            self._write(_WRITE_ARTICLE, item, content.author, content.record)
        self._write("DELETE FROM articles WHERE item = $1", item)

    def watched_number(self, source: int) -> bytes | None:
        """The history of the number that is watched on its page."""
        return self._record("numbers", source)

    def restless(self, source: int) -> bytes | None:
        """What is known of text on its page that changes at nearly every visit."""
        return self._record("restless", source)

    def rendering(self, source: int) -> bytes | None:
        """What is known of its page in a browser."""
        return self._record("rendering", source)

    def screenshots(self, source: int) -> bytes | None:
        """How its page looked in its last two states."""
        return self._record("screenshots", source)

    def _record(self, table: str, source: int) -> bytes | None:
        rows = self._fetch(f"SELECT record FROM {table} WHERE source = $1", source)
        return bytes(rows[0][0]) if rows else None


class SqlClicks(SqlRole):
    """Reads of what readers opened."""

    def clicks(self, since_id: int = 0, limit: int = 1000) -> list[Click]:
        """Those with a larger id, in order."""
        statement = f"SELECT {columns(Click)} FROM clicks WHERE id > $1 ORDER BY id LIMIT $2"
        return [record_of(Click, row) for row in self._fetch(statement, since_id, limit)]

    def click_totals(self, source: int) -> ClickTotals:
        """Over all items of a source; walks the clicks of this source alone."""
        searched = f"client LIKE '{SEARCHER}%'"
        counted = (
            f"CAST(coalesce(sum(CASE WHEN {searched} THEN 0 ELSE count END), 0) AS bigint), "
            f"count(DISTINCT CASE WHEN {searched} THEN NULL ELSE item END), "
            f"max(CASE WHEN {searched} THEN NULL ELSE at END), "
            f"CAST(coalesce(sum(CASE WHEN {searched} THEN count ELSE 0 END), 0) AS bigint)"
        )
        return record_of(ClickTotals, self._fetch(f"SELECT {counted} FROM clicks WHERE source = $1", source)[0])


class SqlEvents(SqlRole):
    """What outlets deliver, and the notes of programs."""

    def events(self, after: int, limit: int = 1000) -> list[Event]:
        """Those with a larger `seq`, in order; none appears later among those already seen."""
        statement = f"SELECT {columns(Event)} FROM events WHERE seq > $1 ORDER BY seq LIMIT $2"
        return [record_of(Event, row) for row in self._fetch(statement, after, limit)]

    def cursor(self, outlet: str) -> int:
        """The last `seq` an outlet has delivered; one never heard of is remembered from the last there is now."""
        column, key = self._named("name", outlet)
        statement = f"SELECT seq FROM outlets WHERE {column} = $1"
        rows = self._fetch(statement, key)
        if not rows:
            self._introduce(outlet)
            rows = self._fetch(statement, key)
        return int(rows[0][0]) if rows else self._last_seq()

    @abstractmethod
    def _introduce(self, outlet: str) -> None:
        """Remember an outlet from now on, so that what happens before its first delivery is not lost to it.

        A store that is only read does not."""

    @abstractmethod
    def _last_seq(self) -> int:
        """The largest number ever given, also when its event is gone."""

    def note(self, name: str) -> bytes | None:
        """What a program keeps under a name."""
        rows = self._fetch(READ_NOTE, name)
        return rows[0][0] if rows else None

    def write_note(self, name: str, text: bytes | None) -> None:
        """Keep something small under a name, in place of what was there; None forgets it."""
        self._write(*write_note(name, text))


def write_note(name: str, text: bytes | None) -> tuple[Any, ...]:
    """The statement that keeps a note or, for None, forgets it, and its values."""
    if text is None:
        return "DELETE FROM notes WHERE name = $1", name
    return "INSERT INTO notes VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET text = excluded.text", name, text
