"""Looks at the key files of sites that pinged by IndexNow, and lets their signals count, or not.

A stranger decides which files: so one is looked at at a time, of hosts in the catalogue only, and all of that takes a
small share of the budget. What was found counts for a day, that a key was wrong for minutes (`index_now`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from recrawl.clock import Clock
from recrawl.config import QuietHours, quiet_until
from recrawl.crawl.fetching.fetcher import Fetcher
from recrawl.crawl.push import index_now
from recrawl.crawl.push.budget_share import BudgetShare
from recrawl.crawl.push.index_now import Verdict
from recrawl.crawl.request_budget import RequestBudget
from recrawl.crawl.store_writer import StoreWriter
from recrawl.crawl.urls import origin
from recrawl.errors import StoreError, StoreTakenError
from recrawl.logs import fault
from recrawl.store.records import Batch, Signal
from recrawl.store.roles import Store

LOOK_S = 1.0
SHARE = 0.05
"""Of the budget, for key files."""
PORTION = 1000
"""Signals taken at a time."""


class KeyChecks:
    """Settles signals that wait for a proof.

    Parameters
        learn: takes in signals whose proof was good, and takes them off the queue; how many were of use
    """

    def __init__(
        self,
        fetcher: Fetcher,
        store_writer: StoreWriter,
        request_budget: RequestBudget,
        clock: Clock,
        learn: Callable[[list[Signal]], Awaitable[int]],
        quiet_hours: tuple[QuietHours, ...] = (),
    ) -> None:
        self._fetcher, self._store_writer, self._clock = fetcher, store_writer, clock
        self._learn, self._quiet_hours = learn, quiet_hours
        self._share = BudgetShare(request_budget, clock, SHARE, most=1.0)
        self._log = structlog.get_logger("recrawl")

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._clock.sleep(LOOK_S)
            try:
                await self.look()
            except StoreTakenError:
                raise
            except StoreError as error:
                self._log.warning("signals that wait for a key could not be settled", reason=str(error))

    async def look(self) -> None:
        """Settle what is known, and look at one file that is not."""
        now = self._clock.now()
        waiting = await self._store_writer.ask(lambda store: _known(store, now))
        for proof, good in waiting:
            if good is None and self._may_look(now):
                good = await self._looked_at(proof)
            if good is not None:
                await self._settle(proof, good)

    def _may_look(self, now: float) -> bool:
        if quiet_until(self._quiet_hours, now) > now or not self._share.available():
            return False
        self._share.spend(1)
        return True

    async def _looked_at(self, proof: str) -> bool:
        good, lasts_s = await self._fetched(proof)
        verdict = Verdict(proof, good, self._clock.now() + lasts_s)
        await self._store_writer.ask(lambda store: index_now.keep_verdict(store, verdict))
        return good

    async def _fetched(self, proof: str) -> tuple[bool, float]:
        """Whether the file holds the key, and how long that counts. Another host's file does not."""
        file, key = index_now.file_and_key(proof)
        try:
            answer = await self._fetcher.visit(file, prepaid=0)
        except Exception as error:
            self._log.error("a key file could not be fetched", file=file, **fault(error))
            return False, index_now.UNSEEN_S
        if answer.response is None or answer.response.status >= 500:
            return False, index_now.UNSEEN_S
        at_home = origin(answer.final_url).lower() == origin(file).lower()
        if answer.response.status == 200 and at_home and index_now.holds_key(answer.response.body, key):
            return True, index_now.GOOD_S
        return False, index_now.WRONG_S

    async def _settle(self, proof: str, good: bool) -> None:
        while signals := await self._store_writer.ask(lambda store: store.signals(PORTION, proof)):
            if not good:
                await self._store_writer.commit(Batch(heard=signals))
            elif not await self._learn(signals):
                return  # of sources the crawler has not heard of yet
            await asyncio.sleep(0)


def _known(store: Store, now: float) -> list[tuple[str, bool | None]]:
    """What signals wait for, and what was found of it already."""
    return [(proof, index_now.verdict_of(store, proof, now)) for proof in store.proofs()]
