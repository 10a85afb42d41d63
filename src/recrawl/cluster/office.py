"""The office of the coordinator: at most one holds it, and knows by its own clock for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

SCOPE = "coordinator"
LEASE_S = 5.0
"""Well below what a grant lasts: whoever follows takes office while shards still have what they were granted."""


class Leases(Protocol):
    """The part of the store that gives leases with epochs."""

    def lease(self, scopes: Iterable[str], owner: str, seconds: float) -> Mapping[str, int]:
        """Those that were free, with their epochs."""
        ...

    def renew(self, epochs: Mapping[str, int], seconds: float) -> set[str]:
        """Those still owned."""
        ...

    def let_go(self, epochs: Mapping[str, int]) -> None:
        """Give them up."""
        ...


class Office:
    """One candidate. Calls block on the store; `epoch` may be read from any thread."""

    def __init__(self, store: Leases, owner: str, now: Callable[[], float], seconds: float = LEASE_S) -> None:
        self._store, self._owner, self._now, self._seconds = store, owner, now, seconds
        self._epoch, self._until = 0, -1.0

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
            self._epoch = self._store.lease([SCOPE], self._owner, self._seconds).get(SCOPE, 0)
        self._until = asked + self._seconds
        return self.epoch

    def leave(self) -> None:
        """Let another have it at once."""
        if self._epoch:
            self._store.let_go({SCOPE: self._epoch})
            self._epoch = 0
