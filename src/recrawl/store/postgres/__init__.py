"""The store for teams and fleets: a schema in a PostgreSQL database. `docs/postgres.md` describes it.

This module gives each method of the contract its transaction; the statements live in the modules beside it, a room per
concern, as in the embedded store. Calls are synchronous; an event loop in a thread of its own (`link`) carries them
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial

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
from recrawl.store.postgres import (
    buckets,
    catalogue,
    feedback,
    handing,
    looking,
    ownership,
    retention,
    settling,
    transfer,
)
from recrawl.store.postgres.address import parsed
from recrawl.store.postgres.doubts import Doubts
from recrawl.store.postgres.link import Link
from recrawl.store.postgres.migrations import migrate, refuse_older, taken
from recrawl.store.postgres.rows import LARGEST, fitting, pages
from recrawl.store.sqlite.rows import mended

MANY = 1000
"""Sources added at once after which the server takes a look at its tables, instead of a minute later."""


class PostgresStore:
    """A :class:`recrawl.store.base.Store` in a PostgreSQL database.

    A commit is durable when it returns, as far as the server's `synchronous_commit` says. A call that fails because the
    server went away raises StoreError; a later one connects anew.

    Parameters
        url: `postgresql://user@host:port/database?schema=recrawl`, without a password
        read_only: never write; a store that is not there is an error
        timeout_s: how long to wait for the server's answer before giving up with an error
    """

    def __init__(self, url: str, *, read_only: bool = False, timeout_s: float = 60.0) -> None:
        self.address = parsed(url)
        self._link = Link(self.address, read_only=read_only, timeout_s=timeout_s)
        self._claim = ownership.Claim(self._link)
        self._doubts = Doubts(self._link)
        try:
            self._prepare(read_only)
        except BaseException:
            self._link.close()
            raise

    def _prepare(self, read_only: bool) -> None:
        name, schema = self.address.name, self.address.schema
        if read_only:
            refuse_older(self._link.reading(lambda connection: taken(connection, name, schema)), name)
        else:
            lock = self.address.lock("migration")
            self._link.alone(lambda connection: migrate(connection, name, schema, lock))

    def __enter__(self) -> PostgresStore:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PostgresStore({self.address.name!r})"

    def add(self, sources: Sequence[Source]) -> list[Added]:
        """Take in sources by URL; one that is there already is left as it is."""
        given = mended(list(sources))
        added = self._link.writing(lambda connection: catalogue.add(connection, given))
        if len(given) >= MANY:
            self._link.alone(lambda connection: connection.execute("ANALYZE sources, progress, tags"))
        return added

    def source(self, target: int | str) -> Source | None:
        """By id or by exact URL."""
        if isinstance(target, int) and not 0 < target <= LARGEST:
            return None
        return self._link.reading(lambda connection: catalogue.find(connection, target))

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
        return self._link.reading(
            lambda connection: catalogue.select(
                connection,
                ids=ids,
                state=state,
                tag=tag,
                text=text,
                since_revision=since_revision,
                order=order,
                limit=limit,
                offset=offset,
            )
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
        return self._link.reading(lambda connection: catalogue.count(connection, state, tag, text, never_fetched))

    def edit(self, sources: Sequence[Source]) -> None:
        """Replace lines of the catalogue (by id), giving each a new revision."""
        if sources:
            given = mended(list(sources))
            self._link.writing(lambda connection: catalogue.edit(connection, given))

    def remove(self, ids: Sequence[int]) -> int:
        """Forget sources and all that was found in them; how many there were."""
        if not ids:
            return 0
        return self._link.writing(lambda connection: catalogue.remove(connection, ids))

    def removed(self, since_revision: int) -> list[int]:
        """Ids of the sources removed after a revision."""
        return self._link.reading(lambda connection: catalogue.removed(connection, since_revision))

    def revision(self) -> int:
        """The largest revision given so far, removals included."""
        return self._link.reading(catalogue.revision)

    def claim(self, owner: str, now: float) -> None:
        """Become the one that crawls; StoreError naming the other if one is alive. Ended by `release` or by death.

        From then on every commit is refused once another has claimed the store.
        """
        if self._link.read_only:
            raise StoreError(f"store {self.address.name} was opened for reading only")
        self._link.run(self._claim.take(owner, now))

    def claimed(self) -> str | None:
        """Who is crawling now, in words; None if nobody is."""
        return self._link.reading(self._claim.held)

    def release(self) -> None:
        """Give up the claim."""
        self._link.run(self._claim.release())

    def progress(self, ids: Sequence[int] | None = None) -> Iterator[Progress]:
        """Of these sources, or of all, by id, a few thousand read at a time."""
        if ids is not None:
            for page in pages(sorted(fitting(ids))):
                yield from self._link.reading(partial(catalogue.progress_of_some, ids=page))
            return
        last = 0
        while True:
            found = self._link.reading(partial(catalogue.progress_page, after=last))
            if not found:
                return
            yield from found
            last = found[-1].source

    def unseen(self, listed: Sequence[tuple[int, Sequence[int]]]) -> list[set[int]]:
        """Per (source, item keys): those keys the store does not have."""
        return self._link.reading(lambda connection: settling.unseen(connection, listed))

    def commit(self, batch: Batch, epochs: Mapping[str, int] | None = None) -> None:
        """Write it all, or nothing; durable when it returns.

        What a batch holds of a source that was removed meanwhile is left out. An edit of the catalogue made since the
        crawl read its line is kept: a crawl's own changes (kind, title, note, retirement, move) are applied to it.

        `epochs` names the scopes it writes for, as `lease` gave them: StoreError, and nothing is written, if one of
        them has passed to another. So has every commit of a store that was claimed and lost its claim to another.
        Where the server went away in the middle, the same batch may be given again: it is written once.
        """
        self.commit_part(batch, settling.Part(batch, epochs or {}))

    def commit_part(self, batch: Batch, part: settling.Part) -> None:
        """Write what one of several writers may write of a batch; given again with any part of it, it is written once.

        StoreTakenError, and nothing is written, if one of the part's scopes has passed to another.
        """
        if self._claim.lost:
            self._link.run(self._claim.keep())
        part.epochs = {**self._claim.epochs, **part.epochs}
        self._doubts.settle(batch, lambda connection: settling.write(connection, part))

    def lease(self, scopes: Iterable[str], owner: str, seconds: float) -> dict[str, int]:
        """Become the owner of those scopes nobody owns now, for a time by the server's clock: their epochs.

        StoreError while the whole store is claimed.
        """
        wanted, lock = list(scopes), self.address.lock("claim")
        return self._link.writing(lambda connection: ownership.lease(connection, wanted, owner, seconds, lock))

    def renew(self, epochs: Mapping[str, int], seconds: float) -> set[str]:
        """Stay the owner for so long from now: the scopes that did not pass to another meanwhile."""
        return self._link.writing(lambda connection: ownership.renew(connection, epochs, seconds))

    def let_go(self, epochs: Mapping[str, int]) -> None:
        """Give up leases before their time."""
        self._link.writing(lambda connection: ownership.let_go(connection, epochs))

    def leases(self, prefix: str = "") -> list[ownership.Lease]:
        """Who owns scopes that begin so, or did last."""
        return self._link.reading(lambda connection: ownership.leases(connection, prefix))

    def live_leases(self) -> int:
        """How many scopes are owned now."""
        return sum(lease.left_s > 0.0 for lease in self.leases())

    def unplaced(self, limit: int = 5000) -> list[tuple[int, str]]:
        """Sources without a bucket: (id, URL), by id."""
        return self._link.reading(lambda connection: buckets.unplaced(connection, limit))

    def count_unplaced(self) -> int:
        """How many sources have no bucket."""
        return self._link.reading(buckets.count_unplaced)

    def place(self, placed: Sequence[tuple[int, str, int]]) -> None:
        """Give each (id, URL, bucket) its bucket and a new revision.

        One that has a bucket, or another URL by now than the bucket was found from, is left as it is.
        """
        if placed:
            self._link.writing(lambda connection: buckets.place(connection, placed))

    def shared(self) -> bytes | None:
        """The learner's record of the whole catalogue."""
        return self._link.reading(
            lambda connection: connection.fetchval("SELECT value FROM meta WHERE name = 'shared'")
        )

    def holds(self, now: float) -> list[Hold]:
        """Those that still stand."""
        return self._link.reading(lambda connection: looking.holds(connection, now))

    def robots(self, origin: str) -> Robots | None:
        """What is cached for an origin."""
        return self._link.reading(lambda connection: looking.robots(connection, origin))

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
        return self._link.reading(
            lambda connection: looking.items(
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
        )

    def item(self, id: int) -> Item | None:
        """By id."""
        if not 0 < id <= LARGEST:
            return None
        return self._link.reading(lambda connection: looking.item(connection, id))

    def crawls(self, *, source: int | None = None, since: float | None = None, limit: int = 100) -> list[Crawl]:
        """Latest first."""
        return self._link.reading(lambda connection: looking.crawls(connection, source, since, limit))

    def versions(self, source: int, limit: int = 20) -> list[Version]:
        """Latest first."""
        return self._link.reading(lambda connection: looking.versions(connection, source, limit))

    def diffs(self, changes: Sequence[Item]) -> dict[int, str]:
        """What differed, by the id of each of these changes."""
        return self._link.reading(lambda connection: looking.diffs(connection, changes))

    def prices(self, since: float, limit: int = 2000) -> list[Price]:
        """Oldest first; the latest `limit` of them."""
        return self._link.reading(lambda connection: looking.prices(connection, since, limit))

    def totals(self, since: float) -> Totals:
        """Sums over the crawl log."""
        return self._link.reading(lambda connection: looking.totals(connection, since))

    def tags(self, limit: int = 100) -> list[tuple[str, int]]:
        """Tags and how many sources have each, the most common first."""
        return self._link.reading(lambda connection: feedback.tags(connection, limit))

    def believed(self) -> Believed:
        """What is believed of every active source."""
        return self._link.reading(feedback.believed)

    def record_clicks(self, clicks: Sequence[Click]) -> int:
        """Take in clicks; how many counted."""
        if not clicks:
            return 0
        given = mended(list(clicks))
        return self._link.writing(lambda connection: feedback.record(connection, given))

    def clicks(self, since_id: int = 0, limit: int = 1000) -> list[Click]:
        """Those with a larger id, in order."""
        return self._link.reading(lambda connection: feedback.clicks(connection, since_id, limit))

    def click_totals(self, source: int) -> ClickTotals:
        """Over all items of a source."""
        return self._link.reading(lambda connection: feedback.totals(connection, source))

    def events(self, after: int, limit: int = 1000) -> list[Event]:
        """Those with a larger `seq`, in order; none appears later among those already seen."""
        return self._link.reading(lambda connection: handing.events(connection, after, limit))

    def cursor(self, outlet: str) -> int:
        """The last `seq` an outlet has delivered; one never heard of is remembered from the last there is now."""
        known = self._link.reading(lambda connection: handing.cursor(connection, outlet))
        if known is not None:
            return known
        if self._link.read_only:
            return self._link.reading(handing.last_seq)
        return self._link.writing(lambda connection: handing.introduce(connection, outlet))

    def advance(self, outlet: str, seq: int) -> None:
        """An outlet has delivered everything up to here."""
        self._link.writing(lambda connection: handing.advance(connection, outlet, seq))

    def note(self, name: str) -> bytes | None:
        """What a program keeps under a name."""
        return self._link.reading(lambda connection: buckets.note(connection, name))

    def write_note(self, name: str, text: bytes | None) -> None:
        """Keep something small under a name; None forgets it."""
        self._link.writing(lambda connection: buckets.write_note(connection, name, text))

    def vacuum(self, keep: Keep, now: float) -> Vacuumed:
        """Drop what is past its time, and give the space back. Items of the last listing of a source stay known."""
        return self._link.alone(lambda connection: retention.vacuum(connection, keep, now))

    def outgoing(self) -> AbstractContextManager[transfer.Leaving]:
        """One moment of it, for `recrawl.store.transfer`."""
        return transfer.outgoing(self._link)

    def incoming(self) -> AbstractContextManager[transfer.Arriving]:
        """A transaction that fills it, for `recrawl.store.transfer`."""
        return transfer.incoming(self._link)

    def close(self) -> None:
        """Give up the claim and cut the connections."""
        try:
            with suppress(StoreError):  # closed already, or away: then the claim is gone as well
                self.release()
        finally:
            self._link.close()
