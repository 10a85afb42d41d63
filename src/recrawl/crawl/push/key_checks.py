"""Looks at the key files of sites that pinged by IndexNow, and lets their signals count, or not.

A stranger decides which files: so one is looked at at a time, of hosts in the catalogue only, and all of that takes a
small share of the budget. What was found counts for a day, that a key was wrong for minutes (`index_now`). A site that
does not answer is asked again after a minute, two, four; what was not proven within an hour is let go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from recrawl.clock import Clock
from recrawl.config import QuietHours, quiet_until
from recrawl.crawl.fetching.fetcher import Fetcher
from recrawl.crawl.looking import keep_looking
from recrawl.crawl.push import index_now
from recrawl.crawl.push.budget_share import BudgetShare
from recrawl.crawl.push.index_now import Verdict
from recrawl.crawl.request_budget import RequestBudget
from recrawl.crawl.store_writer import StoreWriter
from recrawl.logs import fault
from recrawl.store.records import Batch, Signal
from recrawl.store.roles import Store

LOOK_S = 1.0
SHARE = 0.05
"""Of the budget, for key files."""
PORTION = 1000
"""Signals taken at a time."""
WAITS_S, RETRY_S = 3600.0, 60.0
"""How long signals wait for a proof, and how long until a site that did not answer is asked a second time."""
WRONG = (200, 404, 410)
"""Answers that say that the key is not there; others say nothing."""


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
        self._asked: dict[str, tuple[int, float]] = {}
        """How often files were asked for in vain, and when to ask again."""
        self._log = structlog.get_logger("recrawl")

    async def run(self) -> None:
        """Until it is cancelled."""
        await keep_looking(self._clock, LOOK_S, self.look, "signals that wait for a key could not be settled")

    async def look(self) -> None:
        """Settle what is known, and look at one file that is not."""
        now = self._clock.now()
        self._asked = {proof: asked for proof, asked in self._asked.items() if asked[1] > now - WAITS_S}
        waiting = await self._store_writer.ask(lambda store: _known(store, now))
        for proof, verdict in waiting:
            if index_now.is_to_be_seen(verdict, now) and self._may_look(proof, now):
                verdict = await self._looked_at(proof) or verdict
            if verdict is not None:
                await self._settle(proof, verdict.good)

    def _may_look(self, proof: str, now: float) -> bool:
        tries, due = self._asked.get(proof, (0, now))
        if due > now or quiet_until(self._quiet_hours, now) > now or not self._share.available():
            return False
        self._share.spend(1)
        self._asked[proof] = tries + 1, now + RETRY_S * 2.0**tries
        return True

    async def _looked_at(self, proof: str) -> Verdict | None:
        """What is to be seen there, kept for others; None if the site says nothing."""
        good = await self._holds_key(proof)
        if good is None:
            return None
        del self._asked[proof]
        verdict = Verdict(proof, good, self._clock.now() + (index_now.GOOD_S if good else index_now.WRONG_S))
        await self._store_writer.ask(lambda store: index_now.keep_verdict(store, verdict))
        return verdict

    async def _holds_key(self, proof: str) -> bool | None:
        """Whether the file holds the key; None if that cannot be seen. Where a redirect leads is another file."""
        file, key = index_now.file_and_key(proof)
        try:
            answer = await self._fetcher.visit(file, prepaid=0)
        except Exception as error:
            self._log.error("a key file could not be fetched", file=file, **fault(error))
            return None
        if answer.response is None or answer.response.status not in WRONG:
            return None
        right = answer.response.status == 200 and answer.final_url == file
        return right and index_now.holds_key(answer.response.body, key)

    async def _settle(self, proof: str, good: bool) -> None:
        while signals := await self._store_writer.ask(lambda store: store.signals(PORTION, proof)):
            if not good:
                await self._store_writer.commit(Batch(heard=signals))
            elif not await self._learn(signals):
                return  # of sources the crawler has not heard of yet
            await asyncio.sleep(0)


def _known(store: Store, now: float) -> list[tuple[str, Verdict | None]]:
    """What signals wait for, and what was found of it already; without those that have waited too long."""
    if not store.proofs(1):
        return []
    store.drop_unproven(now - WAITS_S)
    return [(proof, index_now.verdict_of(store, proof, now)) for proof in store.proofs()]
