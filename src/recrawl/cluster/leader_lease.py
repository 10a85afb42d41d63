"""The lease that makes one coordinator the leader: at most one holds it, and knows by its own clock for how long."""

from __future__ import annotations

import math
from collections.abc import Callable

from recrawl.store.roles import Leases

SCOPE = "coordinator"
LEASE_S = 5.0
"""Well below what a grant lasts: whoever follows takes over while shards still have what they were granted."""


class LeaderLease:
    """One candidate. Calls block on the store; `epoch` may be read from any thread."""

    def __init__(self, store: Leases, owner: str, now: Callable[[], float], seconds: float = LEASE_S) -> None:
        self._store, self._owner, self._now, self._seconds = store, owner, now, seconds
        self._epoch, self._until = 0, -1.0
        self.vacant_s = 0.0
        """How long nobody had held it when it was taken, for certain; inf if nobody ever had."""

    @property
    def epoch(self) -> int:
        """Under which it is held; 0 if it is not, or not any more."""
        return self._epoch if self._now() < self._until else 0

    def keep(self) -> int:
        """Take it or prolong it; the epoch, 0 if another has it. An epoch that was lost never comes back."""
        asked = self._now()
        if self._epoch and not self._store.renew({SCOPE: self._epoch}, self._seconds):
            self._epoch = 0
        if not self._epoch:
            self._take()
        self._until = asked + self._seconds
        return self.epoch

    def _take(self) -> None:
        last = next(iter(self._store.leases(SCOPE)), None)
        self._epoch = self._store.lease([SCOPE], self._owner, self._seconds).get(SCOPE, 0)
        if last is None:
            self.vacant_s = math.inf if self._epoch == 1 else 0.0
        else:
            self.vacant_s = max(-last.left_s, 0.0) if self._epoch == last.epoch + 1 else 0.0

    def leave(self) -> None:
        """Let another have it at once."""
        if self._epoch:
            self._store.let_go({SCOPE: self._epoch})
            self._epoch = 0
