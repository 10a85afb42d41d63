"""Visits to hosts of other shards. A redirect may lead anywhere, and only the owner of a host gives its turn.

What is lent, for how long and what becomes of a turn that never comes back is said in
`recrawl.crawl.fetching.borrowed_turns`; this is where the owner is found and asked.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol

from recrawl.cluster.placement import bucket_of, owners
from recrawl.crawl.fetching.borrowed_turns import Turn, TurnReport

PARALLEL = 8
"""Turns asked for at the same time."""
ASK_AGAIN_S = 10.0
"""When to try again where nobody could be asked: by then another has the domain."""


class OtherShards(Protocol):
    """The other shards, by name. Calls block for a bounded time and do not raise."""

    def borrow(self, shard: str, url: str, loan: str, delay_s: float) -> Turn | None:
        """Ask for the turn of an URL's host; None if nobody answers."""
        ...

    def give_back(self, shard: str, url: str, loan: str, report: TurnReport) -> None:
        """The turn is over, and what came of it."""
        ...


class RemoteTurns:
    """The host owners as one shard sees them (`recrawl.crawl.fetching.borrowed_turns.HostOwners`).

    Parameters
        lasts_s: how long a bucket is this shard's for certain, in seconds from now; 0 if it is not
        granted_s: how long it may send anything at all, in seconds from now
    """

    def __init__(
        self,
        name: str,
        others: OtherShards,
        lasts_s: Callable[[int], float],
        granted_s: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self._name, self._others, self._bucket_lasts_s, self._granted_s = name, others, lasts_s, granted_s
        self._members: tuple[str, ...] = ()
        self._lenders: dict[str, str] = {}
        self._asking = ThreadPoolExecutor(PARALLEL, thread_name_prefix="borrowing")
        # Of its own: those who wait for a turn may be waiting for one that is about to be returned.
        self._returning = ThreadPoolExecutor(1, thread_name_prefix="returning")

    def members(self, names: tuple[str, ...]) -> None:
        """Who shares the buckets now."""
        self._members = tuple(sorted(names))

    def ours(self, url: str) -> bool:
        """Whether this shard may decide about the URL's host."""
        return self.lasts_s(url) > 0.0

    def lasts_s(self, url: str) -> float:
        """For how long."""
        return self._bucket_lasts_s(bucket_of(url))

    async def borrow(self, url: str, loan: str, delay_s: float) -> Turn:
        """Ask the owner for the host's turn, and wait for it."""
        owner = owners(self._members)[bucket_of(url)] if self._members else self._name
        if owner == self._name:
            return Turn(refused="its domain has no shard now", wait_s=ASK_AGAIN_S)
        granted_s = self._granted_s()
        self._lenders[loan] = owner
        loop = asyncio.get_running_loop()
        turn = await loop.run_in_executor(self._asking, self._others.borrow, owner, url, loan, delay_s)
        if turn is None:
            self.give_back(url, loan, TurnReport())  # it may have been lent, and the answer lost
            return Turn(refused=f"{owner}, which has its domain, does not answer", wait_s=ASK_AGAIN_S)
        if turn.refused:
            self._lenders.pop(loan, None)
        return replace(turn, seconds=min(turn.seconds, granted_s))

    def give_back(self, url: str, loan: str, report: TurnReport) -> None:
        """Give the turn back, without waiting."""
        owner = self._lenders.pop(loan, None)
        if owner is not None:
            self._returning.submit(self._others.give_back, owner, url, loan, report)

    def close(self) -> None:
        """Ask nobody any more; what is being returned still is."""
        self._asking.shutdown(wait=False, cancel_futures=True)
        self._returning.shutdown(wait=False)
