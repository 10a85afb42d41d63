"""The store as one of several writers sees it: the sources of the buckets it has under lease, and nothing else.

To whoever reads it, buckets that come are lines added to the catalogue and buckets that go are lines removed: both
have new revisions. A revision is the store's own and, below it, the number of changes of the buckets held. What came
again since it went is told by both `removed` and `sources`: forget first, then take in, with progress read afterwards.

To whoever writes, everything a batch holds of a bucket that is another's by now is left out, and the rest is written
under the epochs of its buckets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from recrawl.errors import StoreTakenError
from recrawl.store.postgres import PostgresRoles, PostgresStore
from recrawl.store.postgres.commit import Part
from recrawl.store.postgres.held_buckets import HeldBuckets
from recrawl.store.records import FLEET_RECORDS, Batch, Hold, Progress, Signal, Source, Subscription
from recrawl.store.rows import columns, fitting, pages, record_of, source_of
from recrawl.store.sql import SourceQuery
from recrawl.store.sql_push import PROOFS_FOUND

_CHANGES = 2**32
_SOME = f"SELECT {columns(Source)}, bucket FROM sources WHERE id = ANY($2) AND bucket = ANY($1::integer[]) ORDER BY id"
_CHANGED = f"""
SELECT {columns(Source)}, bucket FROM sources WHERE bucket = ANY($1::integer[]) AND revision > $2
UNION ALL SELECT {columns(Source)}, bucket FROM sources WHERE bucket = ANY($3::integer[]) AND revision <= $2 ORDER BY id
"""
_PLACED = "SELECT id, bucket FROM sources WHERE id = ANY($2) AND bucket = ANY($1::integer[])"
_IDS = "SELECT id FROM sources WHERE bucket = ANY($1::integer[]) ORDER BY id"
_STRAYED = "SELECT source FROM strayed WHERE revision > $2 AND bucket = ANY($1::integer[])"
_HOLDS = f"SELECT {columns(Hold)} FROM holds WHERE until > $2 AND (bucket IS NULL OR bucket = ANY($1::integer[]))"
_OURS = "source IN (SELECT id FROM sources WHERE bucket = ANY($1::integer[]))"
_SIGNALS = f"SELECT {columns(Signal)} FROM signals WHERE {_OURS} AND proof = $2 ORDER BY id LIMIT $3"
# All sources of a host are in one bucket: the first one's tells whose proof it is.
_PROOFS = f"""
{PROOFS_FOUND} SELECT waiting.proof FROM waiting JOIN signals ON signals.id = waiting.first
JOIN sources ON sources.id = signals.source WHERE bucket = ANY($1::integer[]) ORDER BY first LIMIT $2
"""
# Of a source that is gone, the bucket it was in last; where that is not known, anybody's.
_DUE = f"""
SELECT {columns(Subscription, "subscriptions")} FROM subscriptions LEFT JOIN sources ON sources.id = source
WHERE due <= $2 AND (coalesce(sources.bucket, subscriptions.bucket) = ANY($1::integer[])
    OR sources.id IS NULL AND subscriptions.bucket IS NULL)
ORDER BY due, token LIMIT $3
"""
_ARTICLES = f"""
SELECT item, tries FROM articles JOIN items ON items.id = item WHERE due <= $2 AND items.{_OURS}
ORDER BY item DESC LIMIT $3
"""
_ANY_NOTE = "SELECT text FROM notes WHERE starts_with(name, $1) ORDER BY name LIMIT 1"


class Slice(PostgresRoles):
    """A :class:`recrawl.store.roles.Store` of some buckets. What is not narrowed here is of the whole store.

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
        super().__init__(store.access)
        self._store = store
        self.name, self.owner, self._seconds = name, owner, seconds
        self._now, self._scope, self._bucket_of_host = now, scope, bucket_of_host
        self._buckets = HeldBuckets()
        self.valid, self.bucket_of = self._buckets.valid, self._buckets.bucket_of

    def __repr__(self) -> str:
        return f"Slice({self._store!r}, {self.name!r})"

    # -- buckets

    @property
    def held(self) -> frozenset[int]:
        """Buckets under lease, as far as is known here, retiring ones included."""
        return self._buckets.held

    @property
    def retiring(self) -> frozenset[int]:
        """Those of them whose sources are seen no more."""
        return self._buckets.retiring

    @property
    def until(self) -> float:
        """When the first of the leases runs out by the owner's clock; -inf where there are none."""
        return self._buckets.until

    def acquire(self, wanted: Iterable[int]) -> set[int]:
        """Lease those that nobody has; they are seen from now on."""
        scopes = {self._scope(bucket): bucket for bucket in set(wanted) - self.held}
        if not scopes:
            return set()
        before = self._now()
        given = self._store.lease(scopes, self.owner, self._seconds)
        self._buckets.take({scopes[scope]: epoch for scope, epoch in given.items()}, before + self._seconds)
        return {scopes[scope] for scope in given}

    def renew(self) -> set[int]:
        """Prolong all leases, those that ran out and that nobody else took as well; the buckets that were lost."""
        asked = self._buckets.epochs
        if not asked:
            return set()
        before = self._now()
        kept = self._store.renew({self._scope(bucket): epoch for bucket, epoch in asked.items()}, self._seconds)
        still = {bucket for bucket in asked if self._scope(bucket) in kept}
        return self._buckets.renewed(asked, still, before + self._seconds)

    def retire(self, going: Iterable[int]) -> None:
        """Show their sources no more. They stay under lease, so that visits under way can be committed."""
        self._buckets.retire(going)

    def let_go(self, going: Iterable[int]) -> None:
        """Give up leases; what was not committed before is left out of every later commit."""
        epochs = self._buckets.forget(going)
        if epochs:
            self._store.let_go({self._scope(bucket): epoch for bucket, epoch in epochs.items()})

    # -- reading

    def revision(self) -> int:
        """Of the store and of the buckets held: unchanged means that nothing was edited, came or went."""
        number = self._buckets.number
        return super().revision() * _CHANGES + number

    def _sources(self, query: SourceQuery) -> list[Source]:
        """Those of the buckets seen: edited since a revision, with all of buckets taken since, or by id.

        Looks of any other kind are into the whole store.
        """
        ids, since_revision = query.ids, query.since_revision
        if query != SourceQuery(ids=ids, since_revision=since_revision):
            return super()._sources(msgspec.structs.replace(query, since_revision=since_revision // _CHANGES))
        revision, number = divmod(since_revision, _CHANGES)
        epochs, shown, taken = self._buckets.epochs, self._buckets.shown(), self._buckets.taken_after(number)
        if ids is not None:
            rows = self._fetch(_SOME, sorted(shown), fitting(ids))
        else:
            rows = self._fetch(_CHANGED, sorted(shown), revision if since_revision else -1, sorted(taken))
        kept = self._buckets.show({row[0]: row[-1] for row in rows}, epochs)
        return [source_of(row) for row in rows if row[0] in kept]

    def with_progress(self, ids: Sequence[int]) -> list[tuple[Source, Progress]]:
        """Those of these that are in the buckets seen."""
        epochs, shown = self._buckets.epochs, self._buckets.shown()
        seen = self._buckets.show(dict(self._fetch(_PLACED, sorted(shown), fitting(ids))), epochs)
        return [each for each in super().with_progress(fitting(ids)) if each[0].id in seen]

    def every_source(self) -> Iterator[Source]:
        """Those of the buckets seen, by id, a few thousand read at a time."""
        for page in pages([row[0] for row in self._fetch(_IDS, sorted(self._buckets.shown()))]):
            yield from self.sources(ids=page)

    def removed(self, since_revision: int) -> list[int]:
        """Sources that were removed, that left the buckets seen, or whose buckets went, after a revision."""
        revision, number = divmod(since_revision, _CHANGES)
        strayed = self._fetch(_STRAYED, sorted(self._buckets.shown()), revision)
        gone = {row[0] for row in strayed}.union(super().removed(revision))
        return sorted(self._buckets.left_after(number).union(self._buckets.known(gone)))

    def progress(self, ids: Sequence[int] | None = None) -> Iterator[Progress]:
        """Of these sources, or of all that are seen, by id, a few thousand read at a time."""
        if ids is None:
            ids = [row[0] for row in self._fetch(_IDS, sorted(self._buckets.shown()))]
        return super().progress(ids)

    def holds(self, now: float) -> list[Hold]:
        """Those that still stand; of the buckets seen, where it is known whose they are."""
        if self._bucket_of_host is None:
            return super().holds(now)
        shown = self._buckets.shown()
        found = [record_of(Hold, row) for row in self._fetch(_HOLDS, sorted(shown), now)]
        return [hold for hold in found if self._bucket_of_host(hold.host) in shown]

    def signals(self, limit: int = 1000, proof: str = "") -> list[Signal]:
        """Those of the buckets seen."""
        rows = self._fetch(_SIGNALS, sorted(self._buckets.shown()), proof, limit)
        return [record_of(Signal, row) for row in rows]

    def articles(self, now: float, limit: int) -> list[tuple[int, int]]:
        """Those of the buckets seen."""
        rows = self._fetch(_ARTICLES, sorted(self._buckets.shown()), now, limit)
        return [(row[0], row[1]) for row in rows]

    def proofs(self, limit: int = 100) -> list[str]:
        """What signals of the buckets seen wait for."""
        return [row[0] for row in self._fetch(_PROOFS, sorted(self._buckets.shown()), limit)]

    def subscriptions(
        self, *, sources: Sequence[int] | None = None, due: float | None = None, limit: int | None = None
    ) -> list[Subscription]:
        """Of some sources, whosever they are; otherwise those of the buckets seen."""
        if sources is not None:
            return super().subscriptions(sources=sources, limit=limit)
        rows = self._fetch(_DUE, sorted(self._buckets.shown()), math.inf if due is None else due, limit)
        return [record_of(Subscription, row) for row in rows]

    def shared(self) -> bytes | None:
        """The learner's record: its own, or any other writer's to begin with, or the whole store's."""
        own = self.note(FLEET_RECORDS + self.name)
        if own is not None:
            return own
        others = self._fetch(_ANY_NOTE, FLEET_RECORDS)
        return others[0][0] if others else super().shared()

    # -- writing

    def commit(self, batch: Batch) -> None:
        """Write what belongs to buckets held, all or nothing of it; the price is another's to write.

        Where a bucket was lost without being noticed yet, what belongs to it is left out. Given again after an error,
        a batch is written once.
        """
        while (part := self._part(batch)) is not None:
            try:
                self._commit(batch, part)
            except StoreTakenError:
                self.renew()
                if self._holds_all(part):  # then it is not a bucket that was taken
                    raise
            else:
                return

    def _part(self, batch: Batch) -> Part | None:
        """What may be written of a batch; None for nothing."""
        sources = {s.crawl.source for s in batch.updates}
        sources.update(item.source for item in batch.items)
        sources.update(progress.source for progress in batch.progress)
        sources.update(signal.source for signal in batch.heard)
        epochs, known = self._buckets.epochs, self._buckets.known(sources)
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
        mine = {self._scope(bucket): epoch for bucket, epoch in self._buckets.epochs.items()}
        return all(mine.get(scope, epoch if not scope else None) == epoch for scope, epoch in part.epochs.items())


def _kept(batch: Batch, known: dict[int, int], hosts: set[str] | None) -> Batch:
    """What a batch holds of known sources, and of known hosts if those are told."""
    ahead = [place for place, item in enumerate(batch.items) if item.source in known]
    return msgspec.structs.replace(
        batch,
        updates=[s for s in batch.updates if s.crawl.source in known],
        items=[batch.items[place] for place in ahead],
        events=[batch.events[place] for place in ahead],
        progress=[each for each in batch.progress if each.source in known],
        holds=[hold for hold in batch.holds if hosts is None or hold.host in hosts],
        price=None,
        heard=[signal for signal in batch.heard if signal.source in known],
    )
