"""What has to be done from time to time beside crawling: hear of clicks, keep accounts, sweep."""

from __future__ import annotations

import asyncio

import structlog

from recrawl.clock import Clock
from recrawl.crawl.clerk import Clerk
from recrawl.crawl.decider import Decider
from recrawl.crawl.feedback import Ear, Heard
from recrawl.crawl.purse import Purse
from recrawl.crawl.tally import Tally
from recrawl.crawl.tasks import Tasks
from recrawl.crawl.tempo import Tempo
from recrawl.errors import StoreError, StoreTakenError
from recrawl.store.base import Batch, Keep, Price

FIRST_S = 2.0
"""The first accounts; the time to the next doubles until it is as long as it shall be."""
TIDY_FIRST_S = 300.0
"""The first sweep: a program that is started anew every day shall sweep, too."""


class Duties:
    """None of them ends by itself; one that fails ends the run.

    Parameters
        learning: held from learning to the end of the commit
        begun: where what must be seen through is begun
        keep: what to sweep by; None for nothing
    """

    def __init__(
        self,
        decider: Decider,
        clerk: Clerk,
        purse: Purse,
        clock: Clock,
        tally: Tally,
        tempo: Tempo,
        *,
        learning: asyncio.Lock,
        begun: Tasks,
        keep: Keep | None,
    ) -> None:
        self._decider, self._clerk, self._purse, self._clock = decider, clerk, purse, clock
        self._tally, self._tempo, self._keep = tally, tempo, keep
        self._learning, self._begun = learning, begun
        self._ear = Ear()
        self._priced: tuple[int, float, int] = (0, 0.0, 0)
        self._log = structlog.get_logger("recrawl")

    # -- clicks

    async def listen(self) -> None:
        """Hear of readers' clicks, and let them move the schedule."""
        while True:
            await self._clock.sleep(self._tempo.listen_s)
            try:
                while await self._hear():
                    pass
            except StoreTakenError:
                raise
            except StoreError as error:
                self._log.warning("clicks could not be read", reason=str(error))

    async def _hear(self) -> bool:
        """Take in the next clicks; whether there may be more."""
        mark, now = self._decider.mark, self._clock.now()
        if mark is None:
            return False
        heard = await self._clerk.ask(lambda store: self._ear.listen(store, mark, now))
        if heard.mark == mark:
            return False
        await asyncio.shield(self._begun.begin(self._learn(heard, now)))
        return heard.more

    async def _learn(self, heard: Heard, now: float) -> None:
        async with self._learning:
            progress = self._decider.hear(heard, now)
            await self._clerk.commit(Batch(progress=progress, shared=self._decider.memory.shared()))

    # -- accounts

    async def keep_accounts(self) -> None:
        """Write the price history, and now and then the learner's record of the catalogue.

        Both sooner at first: whoever looks on would know nothing of what was learned meanwhile.
        """
        recorded, gap = self._clock.now(), FIRST_S
        while True:
            await self._clock.sleep(min(gap, self._tempo.price_s))
            due = self._clock.now() - recorded >= min(gap, self._tempo.record_s)
            recorded, gap = (self._clock.now(), 2.0 * gap) if due else (recorded, gap)
            await self._clerk.commit(self.accounts(with_record=due))

    def accounts(self, *, with_record: bool) -> Batch:
        """The price history since the last time."""
        tally, (requests, captured, errors) = self._tally, self._priced
        self._priced = (tally.requests, tally.captured, tally.failed)
        price = Price(
            at=self._clock.now(),
            price=self._decider.policy.price,
            budget=self._purse.per_second,
            requests=tally.requests - requests,
            captured=tally.captured - captured,
            errors=tally.failed - errors,
        )
        return Batch(price=price, shared=self._decider.memory.shared() if with_record else None)

    # -- sweeping

    async def tidy(self) -> None:
        """Drop what is past its time, soon after the start and then every so often."""
        keep, wait_s = self._keep, min(TIDY_FIRST_S, self._tempo.tidy_s)
        while True:
            await self._clock.sleep(wait_s)
            wait_s = self._tempo.tidy_s
            if keep is None:
                continue
            try:
                await self._clerk.ask(lambda store: store.vacuum(keep, self._clock.now()))
            except StoreError as error:
                self._log.warning("what is past its time could not be dropped", reason=str(error))
