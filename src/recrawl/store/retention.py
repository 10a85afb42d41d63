"""Dropping what is past its time in short steps, so that a running crawler is not kept waiting.

What is to be dropped is looked for in a reader's view; a step that writes drops a number of rows and ends.

An item that its source still lists when retention drops it leaves its key behind (table `dropped`): its content is gone
when its age says so and the space is given back, and yet it is not found anew on the next visit. A key stays as long as
the source lists it. Keeping such items whole instead would keep a sitemap's fifty thousand for ever.

The latest version of a page is never dropped: the next change is shown against it. Events go once every outlet has
passed them, and at the age of items in any case, so that an outlet nobody uses any more does not keep them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any, Protocol

from recrawl.store.records import Keep, Vacuumed, keys_in, packed
from recrawl.store.rows import Row

_NOT_LATEST = "at < (SELECT max(at) FROM versions AS later WHERE later.source = versions.source)"
KEPT = (
    "EXISTS (SELECT 1 FROM reader_items WHERE reader_items.item = items.id AND reader_items.starred IS NOT NULL) "
    "OR EXISTS (SELECT 1 FROM reader_labels WHERE reader_labels.item = items.id)"
)
"""Items that a reader has starred or labelled stay."""
_AGED = {
    "items": f"SELECT id, first_seen FROM items WHERE first_seen < $1 AND NOT ({KEPT}) "
    "ORDER BY first_seen, id LIMIT $2",
    "crawls": "SELECT id, at FROM crawls WHERE at < $1 ORDER BY at, id LIMIT $2",
    "prices": "SELECT id, at FROM prices WHERE at < $1 ORDER BY at, id LIMIT $2",
    "versions": f"SELECT id, at FROM versions WHERE at < $1 AND {_NOT_LATEST} ORDER BY at, id LIMIT $2",
    "events": "SELECT seq, at FROM events WHERE at < $1 ORDER BY seq LIMIT $2",
}
_TIMES = {"items": "first_seen"}
"""What rows are dropped by, where it is not called `at`."""
_SURPLUS = """
SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY source, note > '' ORDER BY at DESC, id DESC) AS place
FROM versions) AS numbered WHERE place > $1
"""
"""States that are no change are counted by themselves: one may come at every visit, and changes must outlast them."""
_DELIVERED = """
SELECT seq FROM events WHERE seq <= (SELECT coalesce(min(seq), 9223372036854775807) FROM outlets) ORDER BY seq LIMIT $1
"""
BY_SIZE = ("items", "crawls", "versions")
"""Tables that are cut where the store is too large."""
_READ = 20_000
"""Rows looked for at a time."""
_FEW_KEYS = 50
_LISTINGS = 100
"""Read at a time: one may have fifty thousand keys."""
_STALE = {"holds": "until < $1", "robots": "fetched < $1", "signals": "proof > '' AND came < $1"}
_STALE_S = 30 * 86400.0
"""Robots files, holds and signals without a proof are of use for days at most."""


def never() -> bool:
    """Nobody wants it to stop."""
    return False


class StoppedError(Exception):
    """Somebody wants it to stop: what was dropped stays dropped."""


class Statements(Protocol):
    """A connection in a transaction."""

    def fetch(self, statement: str, *given: Any) -> list[Row]:
        """All rows."""
        ...

    def run(self, statement: str, *given: Any) -> None:
        """A statement without rows."""
        ...


class SqlRetention(ABC):
    """Retention in one database. The oldest go first; where the size is bounded, a share at a time until it fits.

    Parameters
        stop: asked before every step whether to leave it at that
        step, room: the part dropped at once of what is too much for so much of the bound
        numbers: the numbers in the first value of a statement, as rows with a `value`
    """

    step: float
    room: float
    numbers: str

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop

    def vacuum(self, keep: Keep, now: float) -> Vacuumed:
        """By age, then by number, then by size; then give the space back."""
        gone = Vacuumed(before=self._begin())
        try:
            self._vacuum(keep, now, gone)
        except StoppedError:
            gone.after = self._size()
        return gone

    def _vacuum(self, keep: Keep, now: float, gone: Vacuumed) -> None:
        ages = (("items", keep.items), ("crawls", keep.crawls), ("prices", keep.prices), ("events", keep.items))
        for table, age in ages:
            self._drop_aged(gone, table, now - age)
        self._drop_surplus_versions(gone, max(keep.versions, 1))
        self._drop_delivered(gone)
        for table, condition in _STALE.items():
            self._drop_stale(table, condition, now - _STALE_S)
        self._forget_keys_no_longer_listed()
        if keep.content:
            self._fit_contents(gone, keep.content)
        self._let_go(full=False)
        if keep.size:
            self._fit(keep.size, gone)
        gone.after = self._give_back(gone)

    def _drop_aged(self, gone: Vacuumed, table: str, before: float, most: int | None = None) -> None:
        """The oldest rows from before a time, at most so many."""
        # A number can have gone to another row between the look and the step; that row is younger.
        still = f" AND {_TIMES.get(table, 'at')} <= $2" + (f" AND NOT ({KEPT})" if table == "items" else "")
        left = most
        while left is None or left > 0:
            wanted = _READ if left is None else min(_READ, left)
            with self._view() as connection:
                rows = connection.fetch(_AGED[table], before, wanted)
            if rows:
                self._drop(gone, table, [row[0] for row in rows], still, max(row[1] for row in rows))
            if len(rows) < wanted:
                break
            left = None if left is None else left - len(rows)

    def _drop_surplus_versions(self, gone: Vacuumed, kept: int) -> None:
        # Without another look: numbers of versions and of events are never given to another row.
        self._drop(gone, "versions", self._found(_SURPLUS, kept))

    def _drop_delivered(self, gone: Vacuumed) -> None:
        while ids := self._found(_DELIVERED, _READ):
            self._drop(gone, "events", ids)

    def _fit_contents(self, gone: Vacuumed, most: int) -> None:
        """What the oldest items say in full goes first, until the rest fits."""
        while (
            over := self._found("SELECT CAST(coalesce(sum(length(record)), 0) AS bigint) FROM contents")[0] - most
        ) > 0:
            with self._view() as connection:
                oldest = connection.fetch("SELECT item, length(record) FROM contents ORDER BY item LIMIT $1", _READ)
            sizes = [row[1] for row in oldest]
            count = next((k for k, size in enumerate(accumulate(sizes), 1) if size >= over), len(sizes))
            for some in self._portions("contents", [row[0] for row in oldest[:count]]):
                with self._step("contents", len(some)) as connection:
                    connection.run(f"DELETE FROM contents WHERE item IN (SELECT value FROM {self.numbers})", some)
                gone.contents += len(some)

    def _found(self, statement: str, *given: Any) -> list[int]:
        with self._view() as connection:
            return [row[0] for row in connection.fetch(statement, *given)]

    def _drop(self, gone: Vacuumed, table: str, ids: list[int], still: str = "", *given: float) -> None:
        column = "seq" if table == "events" else "id"
        for some in self._portions(table, ids):
            with self._step(table, len(some)) as connection:
                if table == "items":
                    self._remember_listed(connection, some)
                among = f"{column} IN (SELECT value FROM {self.numbers})"
                connection.run(f"DELETE FROM {table} WHERE {among}{still}", some, *given)
            setattr(gone, table, getattr(gone, table) + len(some))

    def _portions(self, table: str, ids: Sequence[int]) -> Iterator[list[int]]:
        """What is dropped of a table in one step each."""
        start = 0
        while start < len(ids):
            if self._stop():
                raise StoppedError
            end = start + self._at_once(table)
            yield [*ids[start:end]]
            start = end

    def _remember_listed(self, connection: Statements, ids: list[int]) -> None:
        rows = connection.fetch(f"SELECT source, key FROM items WHERE id IN (SELECT value FROM {self.numbers})", ids)
        remember = f"INSERT INTO dropped SELECT $2, value FROM {self.numbers} WHERE TRUE ON CONFLICT DO NOTHING"
        for source, keys, listed in self._listed(connection, rows):
            kept = [key for key in keys if key in listed]
            if kept:
                connection.run(remember, kept, source)

    def _forget_keys_no_longer_listed(self) -> None:
        read = f"SELECT source, key FROM dropped WHERE source IN (SELECT value FROM {self.numbers})"
        forget = f"DELETE FROM dropped WHERE source = $2 AND key IN (SELECT value FROM {self.numbers})"
        for some in self._portions("dropped", self._found("SELECT DISTINCT source FROM dropped")):
            with self._step("dropped", len(some)) as connection:
                for source, keys, listed in self._listed(connection, connection.fetch(read, some)):
                    left = [key for key in keys if key not in listed]
                    if left:
                        connection.run(forget, left, source)

    def _listed(self, connection: Statements, rows: list[Row]) -> Iterator[tuple[int, list[int], set[int]]]:
        """The keys of each source in (source, key), and those of them that it lists."""
        keys: dict[int, list[int]] = defaultdict(list)
        for source, key in rows:
            keys[source].append(key)
        read = f"SELECT source, listing FROM progress WHERE source IN (SELECT value FROM {self.numbers})"
        sources = list(keys)
        for start in range(0, len(sources), _LISTINGS):
            for source, listing in connection.fetch(read, sources[start : start + _LISTINGS]):
                yield source, keys[source], listed_of(keys[source], listing)

    def _fit(self, size: int, gone: Vacuumed) -> None:
        """Drop the oldest share of items, crawls and versions, until what is left fits."""
        while (used := self._used(size)) > size:
            share = max(self.step * (1.0 - self.room * size / used), 0.01)
            before = gone.items + gone.crawls + gone.versions
            for table in BY_SIZE:
                condition = f" WHERE {_NOT_LATEST}" if table == "versions" else ""
                (rows,) = self._found(f"SELECT count(*) FROM {table}{condition}")
                self._drop_aged(gone, table, float("inf"), most=-int(-rows * share // 1))
            if gone.items + gone.crawls + gone.versions == before:
                return
            self._let_go(full=True)

    @abstractmethod
    def _view(self) -> AbstractContextManager[Statements]:
        """For looking, which keeps nobody from writing."""

    @abstractmethod
    def _step(self, table: str, rows: int) -> AbstractContextManager[Statements]:
        """A transaction that drops so many rows of a table, committed at the end of the block."""

    @abstractmethod
    def _at_once(self, table: str) -> int:
        """Rows of a table that are dropped in one step."""

    @abstractmethod
    def _drop_stale(self, table: str, condition: str, before: float) -> None:
        """Rows that are of no use any more and that nobody counts."""

    @abstractmethod
    def _begin(self) -> int:
        """Make room to work in; the size of the store in bytes."""

    @abstractmethod
    def _size(self) -> int:
        """Of the store, in bytes."""

    @abstractmethod
    def _let_go(self, full: bool) -> None:
        """Rows were dropped; `full`: because of the size, which should show it."""

    @abstractmethod
    def _used(self, size: int) -> int:
        """Bytes in use, exactly where they are more than `size`: once what was dropped is let go of."""

    @abstractmethod
    def _give_back(self, gone: Vacuumed) -> int:
        """Empty space leaves the store; the size it has then."""


def listed_of(keys: Iterable[int], listing: bytes) -> set[int]:
    """Those of some keys that are in a listing.

    >>> listed_of([3, 7], packed([1, 3])), listed_of(range(100), packed([5]))
    ({3}, {5})
    """
    wanted = set(keys)
    return wanted.intersection(keys_in(listing)) if len(wanted) > _FEW_KEYS else {k for k in wanted if _in(k, listing)}


def _in(key: int, listing: bytes) -> bool:
    """Looked for as bytes, which is much quicker than reading a long listing."""
    wanted, place = packed([key]), -1
    while (place := listing.find(wanted, place + 1)) >= 0:
        if place % len(wanted) == 0 and place + len(wanted) <= len(listing):
            return True
    return False
