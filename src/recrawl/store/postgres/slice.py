"""The store as one of several writers sees it: the sources of the buckets it has under lease, and nothing else.

To whoever reads it, buckets that come are lines added to the catalogue and buckets that go are lines removed: both
have new revisions. A revision is the store's own, and the number of changes of the tenure below it. What came again
since it went is told by both `removed` and `sources`: forget first, then take in, with progress read afterwards.

To whoever writes, everything a batch holds of a bucket that is another's by now is left out, and the rest is written
under the epochs of its buckets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from recrawl.errors import StoreTakenError
from recrawl.store.base import FLEET_RECORDS, Batch, Hold, Progress, Source, SourceState
from recrawl.store.postgres import PostgresStore, buckets
from recrawl.store.postgres.settling import Part
from recrawl.store.postgres.tenure import Tenure

_CHANGES = 2**32


class Slice:
    """A :class:`recrawl.store.base.Store` of some buckets. What is not narrowed here goes to the whole store.

    Parameters
        store: shared with nobody who claims it
        name: kept over restarts; the record of the learner is kept under it
        owner: of the leases, for people to read
        seconds: for which buckets are leased
        now: seconds by the owner's clock, never running backwards
        scope: the name of a bucket's lease
        bucket_of_host: where the scope of a hold belongs; without it every hold of the store is read, and written along
    """

    def __init__(
        self,
        store: PostgresStore,
        *,
        name: str,
        owner: str,
        seconds: float,
        now: Callable[[], float],
        scope: Callable[[int], str],
        bucket_of_host: Callable[[str], int] | None = None,
    ) -> None:
        self._store, self._link = store, store._link
        self.name, self.owner, self._seconds = name, owner, seconds
        self._now, self._scope, self._bucket_of_host = now, scope, bucket_of_host
        self._tenure = Tenure()
        self.valid, self.bucket_of = self._tenure.valid, self._tenure.bucket_of
        self.add, self.source, self.edit, self.remove = store.add, store.source, store.edit, store.remove
        self.claim, self.claimed, self.release = store.claim, store.claimed, store.release
        self.unseen, self.robots, self.items, self.item = store.unseen, store.robots, store.items, store.item
        self.crawls, self.versions, self.diffs, self.prices = store.crawls, store.versions, store.diffs, store.prices
        self.count, self.totals, self.tags, self.believed = store.count, store.totals, store.tags, store.believed
        self.clicks, self.record_clicks, self.click_totals = store.clicks, store.record_clicks, store.click_totals
        self.events, self.cursor, self.advance = store.events, store.cursor, store.advance
        self.note, self.write_note, self.vacuum, self.close = store.note, store.write_note, store.vacuum, store.close

    def __repr__(self) -> str:
        return f"Slice({self._store!r}, {self.name!r})"

    # -- buckets

    @property
    def held(self) -> frozenset[int]:
        """Buckets under lease, as far as is known here, retiring ones included."""
        return self._tenure.held

    @property
    def retiring(self) -> frozenset[int]:
        """Those of them whose sources are seen no more."""
        return self._tenure.retiring

    @property
    def until(self) -> float:
        """When the first of the leases runs out by the owner's clock; -inf where there are none."""
        return self._tenure.until

    def acquire(self, wanted: Iterable[int]) -> set[int]:
        """Lease those that nobody has; they are seen from now on."""
        scopes = {self._scope(bucket): bucket for bucket in set(wanted) - self.held}
        if not scopes:
            return set()
        before = self._now()
        given = self._store.lease(scopes, self.owner, self._seconds)
        self._tenure.take({scopes[scope]: epoch for scope, epoch in given.items()}, before + self._seconds)
        return {scopes[scope] for scope in given}

    def renew(self) -> set[int]:
        """Prolong all leases, those that ran out and that nobody else took as well; the buckets that were lost."""
        asked = self._tenure.epochs
        if not asked:
            return set()
        before = self._now()
        kept = self._store.renew({self._scope(bucket): epoch for bucket, epoch in asked.items()}, self._seconds)
        still = {bucket for bucket in asked if self._scope(bucket) in kept}
        return self._tenure.renewed(asked, still, before + self._seconds)

    def retire(self, going: Iterable[int]) -> None:
        """Show their sources no more. They stay under lease, so that visits under way can be committed."""
        self._tenure.retire(going)

    def let_go(self, going: Iterable[int]) -> None:
        """Give up leases; what was not committed before is left out of every later commit."""
        epochs = self._tenure.forget(going)
        if epochs:
            self._store.let_go({self._scope(bucket): epoch for bucket, epoch in epochs.items()})

    # -- reading

    def revision(self) -> int:
        """Of the store and of the tenure: unchanged means that nothing was edited, came or went."""
        number = self._tenure.number
        return self._store.revision() * _CHANGES + number

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
        """Those of the buckets seen: edited since a revision, with all of buckets taken since, or by id.

        Looks of any other kind are into the whole store.
        """
        if state or tag or text or order != "id" or limit is not None or offset:
            return self._store.sources(
                ids=ids,
                state=state,
                tag=tag,
                text=text,
                since_revision=since_revision // _CHANGES,
                order=order,
                limit=limit,
                offset=offset,
            )
        revision, number = divmod(since_revision, _CHANGES)
        epochs, shown, taken = self._tenure.epochs, self._tenure.shown(), self._tenure.taken_after(number)
        if ids is not None:
            found = self._link.reading(lambda connection: buckets.some(connection, ids, shown))
        else:
            since = revision if since_revision else -1
            found = self._link.reading(lambda connection: buckets.changed(connection, shown, since, taken))
        kept = self._tenure.show({source.id: bucket for source, bucket in found}, epochs)
        return [source for source, _ in found if source.id in kept]

    def removed(self, since_revision: int) -> list[int]:
        """Sources that were removed, that left the buckets seen, or whose buckets went, after a revision."""
        revision, number = divmod(since_revision, _CHANGES)
        shown = self._tenure.shown()
        strayed = self._link.reading(lambda connection: buckets.strayed(connection, shown, revision))
        gone = strayed.union(self._store.removed(revision))
        return sorted(self._tenure.left_after(number).union(self._tenure.known(gone)))

    def progress(self, ids: Sequence[int] | None = None) -> Iterator[Progress]:
        """Of these sources, or of all that are seen, by id, a few thousand read at a time."""
        if ids is None:
            shown = self._tenure.shown()
            ids = self._link.reading(lambda connection: buckets.ids(connection, shown))
        return self._store.progress(ids)

    def holds(self, now: float) -> list[Hold]:
        """Those that still stand; of the buckets seen, where it is known whose they are."""
        if self._bucket_of_host is None:
            return self._store.holds(now)
        shown = self._tenure.shown()
        found = self._link.reading(lambda connection: buckets.holds(connection, now, shown))
        return [hold for hold in found if self._bucket_of_host(hold.host) in shown]

    def shared(self) -> bytes | None:
        """The learner's record: its own, or any other writer's to begin with, or the whole store's."""
        own = self._store.note(FLEET_RECORDS + self.name)
        if own is not None:
            return own
        other = self._link.reading(lambda connection: buckets.any_note(connection, FLEET_RECORDS))
        return self._store.shared() if other is None else other

    # -- writing

    def commit(self, batch: Batch) -> None:
        """Write what belongs to buckets held, all or nothing of it; the price is another's to write.

        Where a bucket was lost without being noticed yet, what belongs to it is left out. Given again after an error,
        a batch is written once.
        """
        while (part := self._part(batch)) is not None:
            try:
                self._store.commit_part(batch, part)
            except StoreTakenError:
                self.renew()
                if self._holds_all(part):  # then it is not a bucket that was taken
                    raise
            else:
                return

    def _part(self, batch: Batch) -> Part | None:
        """What may be written of a batch; None for nothing."""
        sources = {s.crawl.source for s in batch.settlements}
        sources.update(item.source for item in batch.items)
        sources.update(progress.source for progress in batch.progress)
        epochs, known = self._tenure.epochs, self._tenure.known(sources)
        known = {source: bucket for source, bucket in known.items() if bucket in epochs}
        hosts = {hold.host: self._bucket_of_host(hold.host) for hold in batch.holds} if self._bucket_of_host else {}
        kept = _kept(batch, known, {host for host, bucket in hosts.items() if bucket in epochs} if hosts else None)
        touched = set(known.values()).union(bucket for bucket in hosts.values() if bucket in epochs)
        if not touched and (kept.holds or kept.robots or kept.shared is not None):
            touched = set(sorted(epochs)[:1])
        if not touched:
            return None
        named = {self._scope(bucket): epochs[bucket] for bucket in sorted(touched)}
        return Part(kept, named, buckets=known, hold_buckets=hosts, note=FLEET_RECORDS + self.name)

    def _holds_all(self, part: Part) -> bool:
        mine = {self._scope(bucket): epoch for bucket, epoch in self._tenure.epochs.items()}
        return all(mine.get(scope, epoch if not scope else None) == epoch for scope, epoch in part.epochs.items())


def _kept(batch: Batch, known: dict[int, int], hosts: set[str] | None) -> Batch:
    """What a batch holds of known sources, and of known hosts if those are told."""
    ahead = [place for place, item in enumerate(batch.items) if item.source in known]
    return msgspec.structs.replace(
        batch,
        settlements=[s for s in batch.settlements if s.crawl.source in known],
        items=[batch.items[place] for place in ahead],
        events=[batch.events[place] for place in ahead],
        progress=[each for each in batch.progress if each.source in known],
        holds=[hold for hold in batch.holds if hosts is None or hold.host in hosts],
        price=None,
    )
