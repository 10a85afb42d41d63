"""The embedded store: one SQLite file, and nothing to set up. `docs/store.md` describes its tables.

This module gives each method of the contract its transaction; the statements live in the modules beside it, a room per
concern: `catalogue`, `settling` (what crawls led to), `looking`, `feedback` (clicks), `handing` (events), `retention`,
`repair`, `copying`, `claim`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from recrawl.errors import StoreError
from recrawl.store.base import (
    Added,
    Batch,
    Believed,
    Click,
    ClickTotals,
    Crawl,
    Event,
    Hold,
    Item,
    ItemKind,
    Keep,
    Price,
    Progress,
    Robots,
    Source,
    SourceState,
    Totals,
    Vacuumed,
    Version,
)
from recrawl.store.sqlite import catalogue, claim, copying, feedback, handing, looking, repair, retention, settling
from recrawl.store.sqlite.database import Database
from recrawl.store.sqlite.rows import mended


class SqliteStore:
    """A :class:`recrawl.store.base.Store` in one file.

    A commit is durable against the death of the process (kill -9) when it returns. After a power cut the last commits
    may be missing, whole; the file stays sound.

    Parameters
        path: the file, made if it is not there; `path-wal`, `path-shm` and `path.lock` appear beside it
        read_only: never write; a store that is not there is an error
        timeout_s: how long to wait for another program's write before giving up with an error
    """

    def __init__(self, path: str | Path, *, read_only: bool = False, timeout_s: float = 10.0) -> None:
        self.path = Path(path)
        self._database = Database(self.path, read_only=read_only, timeout_s=timeout_s)
        self._lock = claim.Lock(self.path)

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"SqliteStore({str(self.path)!r})"

    def add(self, sources: Sequence[Source]) -> list[Added]:
        """Take in sources by URL; one that is there already is left as it is."""
        sources = mended(list(sources))
        with self._database.writing() as connection:
            return catalogue.add(connection, sources)

    def source(self, target: int | str) -> Source | None:
        """By id or by exact URL."""
        if isinstance(target, int) and not 0 < target <= looking.LARGEST:
            return None
        with self._database.reading() as connection:
            return catalogue.find(connection, mended(target))

    def sources(
        self,
        *,
        ids: Sequence[int] | None = None,
        state: SourceState | None = None,
        tag: str | None = None,
        text: str | None = None,
        since_revision: int = 0,
        order: str = "id",
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Source]:
        """Those that match all that is given, in order; unknown values last either way."""
        with self._database.reading() as connection:
            return catalogue.select(
                connection,
                ids=ids,
                state=state,
                tag=mended(tag),
                text=mended(text),
                since_revision=since_revision,
                order=order,
                limit=limit,
                offset=offset,
            )

    def count(
        self,
        *,
        state: SourceState | None = None,
        tag: str | None = None,
        text: str | None = None,
        never_fetched: bool = False,
    ) -> int:
        """How many match; with `never_fetched`, of those that have not answered so far."""
        with self._database.reading() as connection:
            return catalogue.count(connection, state, mended(tag), mended(text), never_fetched)

    def edit(self, sources: Sequence[Source]) -> None:
        """Replace lines of the catalogue (by id), giving each a new revision."""
        if not sources:
            return
        sources = mended(list(sources))
        with self._database.writing() as connection:
            catalogue.edit(connection, sources)

    def remove(self, ids: Sequence[int]) -> int:
        """Forget sources and all that was found in them; how many there were."""
        if not ids:
            return 0
        with self._database.writing() as connection:
            return catalogue.remove(connection, ids)

    def removed(self, since_revision: int) -> list[int]:
        """Ids of the sources removed after a revision."""
        with self._database.reading() as connection:
            return catalogue.removed(connection, since_revision)

    def revision(self) -> int:
        """The largest revision given so far, removals included."""
        with self._database.reading() as connection:
            return catalogue.revision(connection)

    def claim(self, owner: str, now: float) -> None:
        """Become the one that crawls; StoreError naming the other if one is alive. Ended by `release` or by death."""
        with self._database.alone():
            if not self._lock.take():
                # A passing look at the lock, as `claimed` takes, is over by the second try.
                time.sleep(0.05)
                if not self._lock.take():
                    raise StoreError(f"{self.path} is being crawled by {self._signed()}: stop that one first")
        try:
            with self._database.writing() as connection:
                claim.sign(connection, mended(owner), now)
        except BaseException:
            self._lock.give_up()
            raise

    def claimed(self) -> str | None:
        """Who is crawling now, in words; None if nobody is."""
        return None if self._lock.free() else self._signed()

    def _signed(self) -> str:
        with self._database.reading() as connection:
            return claim.signed(connection)

    def release(self) -> None:
        """Give up the claim."""
        if not self._lock.held:
            return
        try:
            with self._database.writing() as connection:
                claim.unsign(connection)
        finally:
            self._lock.give_up()

    def progress(self, ids: Sequence[int] | None = None) -> Iterator[Progress]:
        """Of these sources, or of all, by id, a few thousand read at a time."""
        if ids is not None:
            for page in catalogue.pages(sorted(ids)):
                with self._database.reading() as connection:
                    found = catalogue.progress_of_some(connection, page)
                yield from found
            return
        last = 0
        while True:
            with self._database.reading() as connection:
                found = catalogue.progress_page(connection, last)
            if not found:
                return
            yield from found
            last = found[-1].source

    def unseen(self, listed: Sequence[tuple[int, Sequence[int]]]) -> list[set[int]]:
        """Per (source, item keys): those keys the store does not have."""
        with self._database.reading() as connection:
            return [settling.unseen(connection, source, keys) for source, keys in listed]

    def commit(self, batch: Batch) -> None:
        """Write it all, or nothing; durable against the death of the process when it returns.

        What a batch holds of a source that was removed meanwhile is left out. An edit of the catalogue made since the
        crawl read its line is kept: a crawl's own changes (kind, title, note, retirement, move) are applied to it.
        """
        try:
            self._committed(batch)
        except UnicodeEncodeError:
            # Text from the web that is no text is rare: it is looked for only when the driver finds some.
            self._committed(mended(batch))

    def _committed(self, batch: Batch) -> None:
        with self._database.writing() as connection:
            settling.write(connection, batch)

    def shared(self) -> bytes | None:
        """The learner's record of the whole catalogue."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = 'shared'").fetchone()
            return row[0] if row else None

    def holds(self, now: float) -> list[Hold]:
        """Those that still stand."""
        with self._database.reading() as connection:
            return looking.holds(connection, now)

    def robots(self, origin: str) -> Robots | None:
        """What is cached for an origin."""
        with self._database.reading() as connection:
            return looking.robots(connection, origin)

    def items(
        self,
        *,
        source: int | None = None,
        tag: str | None = None,
        since: float | None = None,
        until: float | None = None,
        kind: ItemKind | None = None,
        text: str | None = None,
        order: looking.ItemOrder = "found",
        limit: int = 100,
        offset: int = 0,
    ) -> list[Item]:
        """Newest first by first sight ("found") or publication ("newest"); with `text`, a search in which every word
        must occur, the last one found first, or by relevance among the thousands found last."""
        with self._database.reading() as connection:
            return looking.items(
                connection,
                source=source,
                tag=tag,
                since=since,
                until=until,
                kind=kind,
                text=text,
                order=order,
                limit=limit,
                offset=offset,
            )

    def item(self, id: int) -> Item | None:
        """By id."""
        with self._database.reading() as connection:
            return looking.item(connection, id) if 0 < id <= looking.LARGEST else None

    def crawls(self, *, source: int | None = None, since: float | None = None, limit: int = 100) -> list[Crawl]:
        """Latest first."""
        with self._database.reading() as connection:
            return looking.crawls(connection, source, since, limit)

    def versions(self, source: int, limit: int = 20) -> list[Version]:
        """Latest first."""
        with self._database.reading() as connection:
            return looking.versions(connection, source, limit)

    def diffs(self, changes: Sequence[Item]) -> dict[int, str]:
        """What differed, by the id of each of these changes."""
        with self._database.reading() as connection:
            return looking.diffs(connection, changes)

    def prices(self, since: float, limit: int = 2000) -> list[Price]:
        """Oldest first; the latest `limit` of them."""
        with self._database.reading() as connection:
            return looking.prices(connection, since, limit)

    def totals(self, since: float) -> Totals:
        """Sums over the crawl log."""
        with self._database.reading() as connection:
            return looking.totals(connection, since)

    def tags(self, limit: int = 100) -> list[tuple[str, int]]:
        """Tags and how many sources have each, the most common first."""
        with self._database.reading() as connection:
            return feedback.tags(connection, limit)

    def believed(self) -> Believed:
        """What is believed of every active source."""
        with self._database.reading() as connection:
            return feedback.believed(connection)

    def record_clicks(self, clicks: Sequence[Click]) -> int:
        """Take in clicks; how many counted."""
        if not clicks:
            return 0
        with self._database.writing() as connection:
            return feedback.record(connection, mended(list(clicks)))

    def clicks(self, since_id: int = 0, limit: int = 1000) -> list[Click]:
        """Those with a larger id, in order."""
        with self._database.reading() as connection:
            return feedback.clicks(connection, since_id, limit)

    def click_totals(self, source: int) -> ClickTotals:
        """Over all items of a source."""
        with self._database.reading() as connection:
            return feedback.totals(connection, source)

    def events(self, after: int, limit: int = 1000) -> list[Event]:
        """Those with a larger `seq`, in order."""
        with self._database.reading() as connection:
            return handing.events(connection, after, limit)

    def cursor(self, outlet: str) -> int:
        """The last `seq` an outlet has delivered; one never heard of is remembered from the last there is now."""
        outlet = mended(outlet)
        with self._database.reading() as connection:
            known = handing.cursor(connection, outlet)
            if known is not None:
                return known
            if self._database.read_only:
                return handing.last_seq(connection)
        with self._database.writing() as connection:
            return handing.introduce(connection, outlet)

    def advance(self, outlet: str, seq: int) -> None:
        """An outlet has delivered everything up to here."""
        with self._database.writing() as connection:
            handing.advance(connection, mended(outlet), seq)

    def note(self, name: str) -> bytes | None:
        """What a program keeps under a name."""
        with self._database.reading() as connection:
            return handing.note(connection, mended(name))

    def write_note(self, name: str, text: bytes | None) -> None:
        """Keep something small under a name; None forgets it."""
        with self._database.writing() as connection:
            handing.write_note(connection, mended(name), text)

    def vacuum(self, keep: Keep, now: float) -> Vacuumed:
        """Drop what is past its time, and give the space back. Items of the last listing of a source stay known."""
        return retention.vacuum(self._database, keep, now)

    def check(self) -> list[str]:
        """What is wrong with the file; empty if it is sound."""
        return repair.check(self.path)

    def salvage(self, to: str | Path) -> dict[str, int]:
        """Copy what can be read into a new store; how many rows of each table that was."""
        return repair.salvage(self.path, to)

    def backup(self, to: str | Path) -> int:
        """A whole copy of the store as it is now, made while others go on; its size in bytes."""
        return copying.copy(self._database, Path(to))

    def close(self) -> None:
        """Give up the claim and close the file."""
        try:
            self.release()
        finally:
            self._database.close()
