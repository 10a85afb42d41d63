"""What has to be done from time to time beside crawling: listen, follow the budget, keep accounts, sweep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import structlog

from recrawl.clock import Clock
from recrawl.crawl import list_notes, live_budget
from recrawl.crawl.click_reader import ClickReader, NewClicks
from recrawl.crawl.committer import Begin
from recrawl.crawl.decider import Decider
from recrawl.crawl.intervals import Intervals
from recrawl.crawl.looking import keep_looking
from recrawl.crawl.request_budget import Allotment, RequestBudget
from recrawl.crawl.roster_store import RosterStore
from recrawl.crawl.signals import BATCH, Told, gather
from recrawl.crawl.stats import Stats
from recrawl.crawl.store_writer import StoreWriter
from recrawl.errors import StoreError
from recrawl.store.records import Batch, Keep, Price, Signal
from recrawl.units import show_rate

FIRST_S = 2.0
"""Before the first accounts; the time to the next doubles up to the usual one."""
TIDY_FIRST_S = 300.0
"""Before the first sweep: a program that is restarted every day has to sweep, too."""


class Maintenance:
    """Tasks that never end by themselves. One that fails ends the run.

    Parameters
        learning: held from learning to the end of the commit
        begin: starts what must be seen through
        keep: what to sweep by; None for nothing
        budgets: what may be spent if somebody asks for another budget, per second; None if it takes none
        told: called when the budget has changed
    """

    def __init__(
        self,
        decider: Decider,
        store_writer: StoreWriter,
        request_budget: RequestBudget,
        clock: Clock,
        stats: Stats,
        intervals: Intervals,
        *,
        learning: asyncio.Lock,
        begin: Begin,
        keep: Keep | None,
        budgets: Callable[[float], Allotment] | None,
        told: Callable[[], None],
    ) -> None:
        self._decider, self._store_writer, self._request_budget = decider, store_writer, request_budget
        self._clock, self._stats, self._intervals, self._keep = clock, stats, intervals, keep
        self._learning, self._begin, self._budgets, self._told = learning, begin, budgets, told
        self._roster_store = RosterStore(decider.roster, store_writer)
        self._click_reader = ClickReader()
        self._priced: tuple[int, float, int] = (0, 0.0, 0)
        self._judged: dict[int, float] = {}
        """By how many visits each list was judged, by source."""
        self._log = structlog.get_logger("recrawl")

    def tasks(self) -> tuple[Coroutine[None, None, None], ...]:
        """All of them."""
        return self.listen(), self.follow_budget(), self.keep_accounts(), self.tidy()

    # -- clicks and signals

    async def listen(self) -> None:
        """Hear of readers' clicks, and of sources said to have changed, and let both move the schedule."""
        listen_s = self._intervals.listen_s
        await keep_looking(self._clock, listen_s, self._hear, "clicks and signals could not be read")

    async def _hear(self) -> None:
        while await self._hear_clicks():
            pass
        while await self._hear_signals():
            pass

    async def _hear_clicks(self) -> bool:
        """Take in the next clicks; whether there may be more."""
        mark, now = self._decider.mark, self._clock.now()
        if mark is None:
            return False
        heard = await self._store_writer.ask(lambda store: self._click_reader.listen(store, mark, now))
        if heard.mark == mark:
            return False
        await asyncio.shield(self._begin(self._learn(heard, now)))
        return heard.more

    async def _learn(self, heard: NewClicks, now: float) -> None:
        async with self._learning:
            touched = self._decider.hear(heard, now)
            async with self._roster_store.at_hand(progress=touched):
                progress = self._decider.scheduled(touched)
            await self._roster_store.commit(Batch(progress=progress, shared=self._decider.memory.shared()))

    async def _hear_signals(self) -> bool:
        """Take in the next signals; whether there may be more."""
        waiting = await self._store_writer.ask(lambda store: store.signals(BATCH))
        return bool(await self.hear_signals(waiting)) and len(waiting) == BATCH

    async def hear_signals(self, signals: list[Signal]) -> int:
        """Learn from signals, and take them off the queue; how many were of sources that are known here."""
        told = gather(signals, self._decider.roster.numbers, self._clock.now())
        if told.heard:
            await asyncio.shield(self._begin(self._learn_of_changes(told)))
            self._told()
        return len(told.heard)

    async def _learn_of_changes(self, told: Told) -> None:
        """What is learned of those who say so is written with the accounts, as what visits teach is."""
        async with self._learning:
            async with self._roster_store.at_hand(progress=[*told.at]):
                progress = self._decider.signal(told, self._clock.now())
            await self._roster_store.commit(Batch(progress=progress, heard=told.heard))

    # -- the budget

    async def follow_budget(self) -> None:
        """Take over the budget that somebody asks for."""
        watch_s = self._intervals.watch_s
        await keep_looking(self._clock, watch_s, self._take_budget, "the budget asked for could not be read")

    async def _take_budget(self) -> None:
        if self._budgets is None:
            return
        note = await self._store_writer.ask(live_budget.read)
        if note is not None and note.per_second != self._request_budget.per_second:
            self._request_budget.allot(self._budgets(note.per_second), standing=True)
            self._told()
            self._log.info("another budget from now on", budget=show_rate(note.per_second))

    # -- accounts

    async def keep_accounts(self) -> None:
        """Write the price history, and now and then the learner's record of the catalogue.

        Both sooner at first: other processes would know nothing of what was learned meanwhile.
        """
        recorded, gap = self._clock.now(), FIRST_S
        while True:
            await self._clock.sleep(min(gap, self._intervals.price_s))
            due = self._clock.now() - recorded >= min(gap, self._intervals.record_s)
            recorded, gap = (self._clock.now(), 2.0 * gap) if due else (recorded, gap)
            await self._store_writer.commit(self.accounts(with_record=due))
            if due:
                await self.note_lists()

    async def note_lists(self) -> None:
        """Say what is thought of lists, for other processes to show, and keep what visits to their pages taught."""
        async with self._learning:
            lists = list_notes.noted(self._decider, self._clock.now())
            if lists or self._judged:
                changed, self._judged = list_notes.judged_anew(lists, self._judged)
                numbers = self._decider.roster.numbers_of(changed)
                async with self._roster_store.at_hand(progress=numbers):
                    progress = self._decider.scheduled(numbers)
                await self._roster_store.commit(Batch(progress=progress))
                await self._store_writer.persist(lambda store: list_notes.write(store, lists))

    def accounts(self, *, with_record: bool) -> Batch:
        """The price history since the last time."""
        stats, (requests, captured, errors) = self._stats, self._priced
        self._priced = (stats.requests, stats.captured, stats.failed)
        price = Price(
            at=self._clock.now(),
            price=self._decider.policy.price,
            budget=self._request_budget.per_second,
            requests=stats.requests - requests,
            captured=stats.captured - captured,
            errors=stats.failed - errors,
        )
        return Batch(price=price, shared=self._decider.memory.shared() if with_record else None)

    # -- sweeping

    async def tidy(self) -> None:
        """Drop what is past its time, soon after the start and then every so often."""
        keep, wait_s = self._keep, min(TIDY_FIRST_S, self._intervals.tidy_s)
        while True:
            await self._clock.sleep(wait_s)
            wait_s = self._intervals.tidy_s
            if keep is None:
                continue
            try:
                await self._store_writer.ask_beside(lambda store, stop: store.vacuum(keep, self._clock.now(), stop))
            except StoreError as error:
                self._log.warning("what is past its time could not be dropped", reason=str(error))
