"""Which buckets one owner holds, under which epochs, until when, and which of its sources came and went with them.

`number` counts what happened to it: buckets taken, given up and lost. Whoever remembers a number can ask what came and
went since. Times are by the owner's own clock, counted from before the store was asked: never later than the store's.
Every method may be called by any thread.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Iterable, Mapping


class HeldBuckets:
    """The state of a slice. `held` and `retiring` are replaced, never changed: they may be kept while others work."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._until: dict[int, float] = {}
        self._taken: dict[int, int] = {}
        self._bucket: dict[int, int] = {}
        self._left: dict[int, int] = {}
        self.epochs: Mapping[int, int] = {}
        self.held: frozenset[int] = frozenset()
        self.retiring: frozenset[int] = frozenset()
        self.number = 0

    @property
    def until(self) -> float:
        """When the first of the leases runs out; -inf where there are none."""
        with self._lock:
            return min(self._until.values(), default=-math.inf)

    def valid(self, bucket: int, now: float) -> bool:
        """Whether a bucket is held, and its lease has not run out."""
        return now < self._until.get(bucket, -math.inf)

    def bucket_of(self, source: int) -> int | None:
        """Of a source that was shown; None once its bucket is gone."""
        return self._bucket.get(source)

    def shown(self) -> frozenset[int]:
        """Buckets whose sources are to be seen."""
        return self.held - self.retiring

    # -- what happens

    def take(self, epochs: Mapping[int, int], until: float) -> None:
        """Buckets were leased."""
        if not epochs:
            return
        with self._lock:
            self.number += 1
            self.epochs = {**self.epochs, **epochs}
            for bucket in epochs:
                self._until[bucket], self._taken[bucket] = until, self.number
            self.held = frozenset(self.epochs)

    def renewed(self, asked: Mapping[int, int], kept: Collection[int], until: float) -> set[int]:
        """The store said which of the leases it was asked for still stand; the others are forgotten."""
        with self._lock:
            same = {bucket for bucket, epoch in asked.items() if self.epochs.get(bucket) == epoch}
            for bucket in same.intersection(kept):
                self._until[bucket] = max(until, self._until[bucket])
            lost = same.difference(kept)
            self.forget(lost)
        return lost

    def retire(self, buckets: Iterable[int]) -> None:
        """Their sources shall be seen no more; leases and what is known of the sources stay."""
        with self._lock:
            going = self.held.intersection(buckets) - self.retiring
            if going:
                self.number += 1
                self._leave(going)
                self.retiring |= going

    def forget(self, buckets: Iterable[int]) -> dict[int, int]:
        """They are another's, or anybody's; the epochs they were held under."""
        with self._lock:
            going = self.held.intersection(buckets)
            if not going:
                return {}
            self.number += 1
            for source in self._leave(going - self.retiring) + self._members(self.retiring & going):
                del self._bucket[source]
            epochs = {bucket: self.epochs[bucket] for bucket in going}
            self.epochs = {bucket: epoch for bucket, epoch in self.epochs.items() if bucket not in going}
            for bucket in going:
                del self._until[bucket], self._taken[bucket]
            self.held, self.retiring = self.held - going, self.retiring - going
        return epochs

    def _members(self, buckets: frozenset[int]) -> list[int]:
        return [source for source, bucket in self._bucket.items() if bucket in buckets] if buckets else []

    def _leave(self, buckets: frozenset[int]) -> list[int]:
        sources = self._members(buckets)
        self._left.update(dict.fromkeys(sources, self.number))
        return sources

    # -- sources

    def taken_after(self, number: int) -> frozenset[int]:
        """Buckets to be seen that were taken since."""
        with self._lock:
            return frozenset(bucket for bucket in self.shown() if self._taken[bucket] > number)

    def left_after(self, number: int) -> set[int]:
        """Sources that went with their buckets since; some may have come again. Earlier ones are not told any more."""
        with self._lock:
            self._left = {source: when for source, when in self._left.items() if when > number}
            return set(self._left)

    def show(self, sources: Mapping[int, int], epochs: Mapping[int, int]) -> set[int]:
        """Remember the buckets of sources read under these epochs; those that may be shown are still held so."""
        with self._lock:
            shown = self.shown()
            same = {bucket: bucket for bucket in shown if epochs.get(bucket) == self.epochs[bucket]}
            kept = {source: same[bucket] for source, bucket in sources.items() if bucket in same}
            self._bucket.update(kept)
        return set(kept)

    def known(self, sources: Iterable[int]) -> dict[int, int]:
        """The buckets of those sources whose buckets are held, retiring or not."""
        with self._lock:
            return {source: self._bucket[source] for source in sources if source in self._bucket}
