"""A store's leases with one scope and a clock: what a candidate for the coordinator's office asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recrawl.clock import ManualClock
from recrawl.cluster.leader_lease import SCOPE
from recrawl.errors import StoreError
from recrawl.store.records import Lease


class OneLease:
    """A store's leases with one scope and a clock."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock, self.epoch, self.until, self.away = clock, 0, 0.0, False

    def lease(self, scopes: Iterable[str], owner: str, seconds: float) -> Mapping[str, int]:
        self._answer()
        if self.clock.now() < self.until:
            return {}
        self.epoch, self.until = self.epoch + 1, self.clock.now() + seconds
        return {SCOPE: self.epoch}

    def renew(self, epochs: Mapping[str, int], seconds: float) -> set[str]:
        self._answer()
        if epochs[SCOPE] != self.epoch:
            return set()
        self.until = self.clock.now() + seconds
        return {SCOPE}

    def leases(self, prefix: str) -> list[Lease]:
        left = self.until - self.clock.now()
        return [Lease(SCOPE, self.epoch, "", left)] if self.epoch else []

    def let_go(self, epochs: Mapping[str, int]) -> None:
        if epochs[SCOPE] == self.epoch:
            self.until = 0.0

    def _answer(self) -> None:
        if self.away:
            raise StoreError("away")
