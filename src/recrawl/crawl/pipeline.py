"""Carries out what the decider decides: the way of a visit, from the choice to the outlets.

::

    decider.choose ················ which sources are worth a request now, whose hosts are free
       │ Intent
    pipeline ······················ pays (request_budget), begins a task; up to `parallel` at a time
       │
    visitor ······················· asks with the validators of the last visit
       ├──► fetching.fetcher        for each request, those to robots.txt and after redirects among them:
       │      robots ·············· is it allowed?
       │      politeness ·········· wait for the host's turn (borrowed_turns, if it is another crawler's to give)
       │      request_budget ······ pay, if it was not foreseen; leave no faster than the budget
       │      http_transport ······ Request ─► http1, or proxy ─► Response, within answer_limits
       │      retry_after ········· how long the host asks for; politeness holds it
       │◄── FetchResult
       ├──► reading.readers         Document ─► feeds, sitemaps, pages; slow ones in another process
       │◄── Findings
       ├──► rendering               pages that are empty without scripts: a browser shows them, and they are read again
       │◄── Rendered
       │ Visit
    committer ····················· collects visits for a moment
       ├──► store                   look_up: which items are new, how a page differs (page_changes)
       ├──► decider.learn_from      visit_outcome (failures): Progress, items, events; the policy learns
       │◄── VisitOutcome
       │ Batch
    store_writer ·················· commits in one transaction, again and again if the store refuses
       │
    pipeline ······················ counts (stats), and wakes the outlets, which read events from the store

Visits run side by side; their outcomes are committed in batches, one after the other. Meanwhile edits of the catalogue
are followed (`catalogue_watcher`), holds released (`hold_release`), others asked to tell of changes (`push`), and
whatever else is due from time to time is done (`maintenance`). A store that cannot write stops the fetching; nothing
that was found is dropped.
"""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Coroutine
from itertools import accumulate

from recrawl.clock import Clock
from recrawl.config import Push, quiet_until
from recrawl.config.item_rules import ItemRule
from recrawl.crawl.articles import Articles
from recrawl.crawl.catalogue_watcher import CatalogueWatcher
from recrawl.crawl.committer import Committer
from recrawl.crawl.decider import Decider
from recrawl.crawl.explaining.why_nothing import RunState, Why, why_nothing
from recrawl.crawl.fetching.fetcher import Fetcher
from recrawl.crawl.hold_release import Releases
from recrawl.crawl.intervals import Intervals
from recrawl.crawl.item_rules_note import follow_rules
from recrawl.crawl.maintenance import Maintenance
from recrawl.crawl.outlets import Outlets
from recrawl.crawl.push.key_checks import KeyChecks
from recrawl.crawl.push.subscriber import Subscriber
from recrawl.crawl.reading.readers import Readers
from recrawl.crawl.rendering.shown_pages import ShownPages
from recrawl.crawl.request_budget import ROUNDING, Allotment, RequestBudget, either
from recrawl.crawl.roster_store import RosterStore
from recrawl.crawl.stats import Stats
from recrawl.crawl.store_writer import StoreWriter
from recrawl.crawl.visitor import Reading, Visitor
from recrawl.crawl.visits import Intent, Visit, VisitOutcome
from recrawl.errors import StoreError
from recrawl.policies.contract import Pooling
from recrawl.store.records import Keep
from recrawl.store.roles import Store

LAUNCH_S = 0.02
"""Between two rounds of choosing, unless half of the visits that may be under way have ended before, or all there were:
a round serves many visits at once."""
IDLE_S = 0.5
"""Longest time without looking whether a host has become free."""
GRACE_S = 5.0
"""How long visits under way are waited for at the end."""
DRAIN_S = 5.0
"""How long outlets may take at the end; what they have not delivered by then they deliver next time."""
ONCE_DRAIN_S = 90.0
"""With `once`, outlets are waited for as long as they deliver something this often."""
UNCOMMITTED = 4
"""Nothing new is fetched while so many times `parallel` visits wait to be committed: a store may be slow."""
ONCE_PATIENCE_S = 60.0
"""With `once`, hosts that will not be free for so long are not waited for."""


class Crawler:
    """The running program. `run` returns when it is told to stop, or at its end time, with everything stored.

    Parameters
        revision, released: of the catalogue, and the last release of holds, when the decider was given the store's
        budgets: what may be spent if somebody asks for another budget, per second, while it runs (`live_budget`);
            None if it takes none
        push: who may tell that sources have changed
        item_rules: what the owner wants done with items, as the crawl begins
        shown_pages: how pages are shown that need a browser; None if none is
    """

    def __init__(
        self,
        *,
        decider: Decider,
        fetcher: Fetcher,
        readers: Readers,
        store: Store,
        request_budget: RequestBudget,
        clock: Clock,
        outlets: Outlets,
        intervals: Intervals | None = None,
        reading: Reading | None = None,
        revision: int = 0,
        released: int = 0,
        keep: Keep | None = None,
        budgets: Callable[[float], Allotment] | None = None,
        push: Push | None = None,
        item_rules: tuple[ItemRule, ...] = (),
        shown_pages: ShownPages | None = None,
    ) -> None:
        self.stats, self.fetcher, self.request_budget = Stats(), fetcher, request_budget
        self.decider, self._clock, self._outlets = decider, clock, outlets
        self._intervals = intervals or Intervals()
        self._stopping, self._changed, self._many_ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._ended = 0
        """Visits since the last round of choosing."""
        self._visits, self._must_end = Tasks(), Tasks(on_end=self._changed.set)
        self._left: set[int] | None = None
        self._store_writer = StoreWriter(store, clock, self.stats, self._stopping)
        self._roster_store = RosterStore(decider.roster, self._store_writer)
        self._visitor = Visitor(fetcher, readers, request_budget, clock, reading or Reading(), shown_pages)
        self._committer = Committer(
            decider,
            fetcher,
            self._store_writer,
            clock,
            batch_s=self._intervals.batch_s,
            foretold=self._foretell,
            concluded=self._conclude,
            begin=self._must_end.begin,
        )
        self._catalogue_watcher = CatalogueWatcher(
            decider,
            self._store_writer,
            clock,
            learning=self._committer.learning,
            revision=revision,
            under_way=self.under_way,
            told=self._changed.set,
            came=self._came,
        )
        self._releases = Releases(
            decider,
            fetcher,
            self._store_writer,
            clock,
            learning=self._committer.learning,
            seen=released,
            told=self._changed.set,
        )
        self._maintenance = Maintenance(
            decider,
            self._store_writer,
            request_budget,
            clock,
            self.stats,
            self._intervals,
            learning=self._committer.learning,
            begin=self._must_end.begin,
            keep=keep,
            budgets=budgets,
            told=self._changed.set,
        )
        defaults = decider.rules.defaults
        self._articles = Articles(
            fetcher, readers, self._store_writer, request_budget, clock, defaults, self._intervals.quiet_hours
        )
        self._subscriber: Subscriber | None = None
        self._visitor.item_rules = item_rules
        self._pushes: list[Callable[[], Coroutine[None, None, None]]] = []
        """What has to run for pushes, without end."""
        if push is not None:
            self._take_pushes(push)

    def _take_pushes(self, push: Push) -> None:
        """Let others tell of changes, as far as the settings say."""
        fetcher, writer, clock, quiet = self.fetcher, self._store_writer, self._clock, self._intervals.quiet_hours
        if push.subscribes:
            active = self.decider.roster.is_active
            budget = self.request_budget
            self._subscriber = Subscriber(fetcher, writer, budget, clock, push, active=active, quiet_hours=quiet)
            self._pushes.append(self._subscriber.run)
        if push.takes_pings:
            learn = self._maintenance.hear_signals
            self._pushes.append(KeyChecks(fetcher, writer, self.request_budget, clock, learn, quiet).run)

    # -- life

    async def run(self, until: float = math.inf, *, once: bool = False, only: Collection[int] | None = None) -> None:
        """Crawl until told to stop, until a time, or, with `once`, until every source has had its turn.

        With `only`, ids in the store, until these have had theirs, and nothing else.
        """
        if only is not None:
            self._left = self.decider.holds.fetch_only(only)
        elif once:
            self.decider.holds.once = True
            self._left = self.decider.holds.ready(self._clock.now())
        await self._outlets.open()
        committing = asyncio.create_task(self._committer.run())
        delivering = asyncio.create_task(self._outlets.run())
        every_s = self._intervals.watch_s
        rules = follow_rules(self._store_writer.ask, self._clock, every_s, self._visitor.take_rules)
        watching = (self._catalogue_watcher.watch(every_s), self._releases.watch(every_s), rules, self._articles.run())
        pushes = (begin() for begin in self._pushes)
        others = [asyncio.create_task(each) for each in (*watching, *pushes, *self._maintenance.tasks())]
        try:
            await self._start_visits(until, [committing, *others])
            # Visits given up after this were never committed, and will be made again.
            await self._visits.wait(GRACE_S)
        finally:
            await self._close(committing, delivering, others)

    @property
    def stopping(self) -> bool:
        """Whether it has been told to stop."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Start nothing new; `run` returns when what is under way is done."""
        self._stopping.set()
        self._changed.set()
        self._many_ended.set()

    async def _close(
        self, committing: asyncio.Task[None], delivering: asyncio.Task[None], others: list[asyncio.Task[None]]
    ) -> None:
        for task in others:
            task.cancel()
        self._stopping.set()
        outcomes = await self._visits.given_up()
        outcomes += await asyncio.gather(*others, return_exceptions=True)
        self._committer.close()
        try:
            await committing
            outcomes += await self._must_end.ended()
            await self._store_writer.ask(lambda store: store.commit(self._maintenance.accounts(with_record=True)))
            await self._maintenance.note_lists()
            once = self._left is not None
            await self._outlets.drain(ONCE_DRAIN_S if once else DRAIN_S, renewed=once)
        finally:
            delivering.cancel()
            await asyncio.gather(delivering, return_exceptions=True)
            await self._must_end.given_up()
            await self._visitor.close()
            await self._catalogue_watcher.close()
            self._store_writer.close()
        for failure in (self._committer.failure, *outcomes):
            if isinstance(failure, Exception):
                raise failure

    # -- what it is told while it runs, on its event loop

    def allot(self, per_second: float, burst: float, until: float) -> None:
        """What may be spent from now on, tokens per second and tokens, until a moment by the crawler's clock.

        From then on nothing new is chosen, and what waits to be sent waits for the next allotment.
        """
        self.request_budget.allot(Allotment(per_second, burst, until))
        self._changed.set()

    async def refresh(self) -> None:
        """Follow edits of the catalogue now; afterwards nothing new is started for a source that was removed."""
        await self._catalogue_watcher.refresh()

    # -- what it says of itself

    def why_nothing(self) -> list[Why]:
        """Why nothing was fetched, or nothing with success, since it began; empty if anything was."""
        now, request_budget = self._clock.now(), self.request_budget
        decider = self.decider
        wait_s = request_budget.wait_s() if request_budget.available() < 1.0 - 1e-9 else 0.0
        around = RunState(
            now=now,
            known=len(decider),
            active=decider.roster.count_active(),
            waits=tuple(decider.holds.waits(now)) if not self.stats.crawls else (),
            quiet_until=quiet_until(self._intervals.quiet_hours, now),
            next_due=decider.holds.next_due(now) if not self.stats.crawls else math.inf,
            budget_wait_s=wait_s,
            per_second=request_budget.per_second,
        )
        return why_nothing(self.stats, around)

    def under_way(self) -> set[int]:
        """Ids of the sources that are being visited, or whose visit has not been committed yet."""
        return self.decider.roster.visited_ids().union(visit.intent.source.id for visit in self._committer.committing)

    @property
    def in_flight(self) -> int:
        """How many visits are being made."""
        return len(self._visits)

    @property
    def pooling(self) -> Pooling | None:
        """Its policy, if that learns from other shards what is common to the catalogue."""
        policy = self.decider.policy
        return policy if isinstance(policy, Pooling) else None

    # -- choosing

    async def _start_visits(self, until: float, others: list[asyncio.Task[None]]) -> None:
        """Start visits until the time is over or one of the other tasks, none of which ends by itself, has failed."""
        idle = LAUNCH_S
        while not self._stopping.is_set() and not self._all_done():
            now = self._clock.now()
            if now >= until or self._committer.failure is not None or any(task.done() for task in others):
                return
            self._changed.clear()
            self._many_ended.clear()
            self._ended = 0
            wait, launched = await self._start_what_may(now, until)
            idle = LAUNCH_S if launched else min(2.0 * idle, IDLE_S)
            if launched:
                await either(self._many_ended.wait(), self._clock.sleep(min(LAUNCH_S, until - now)))
            else:
                await self._pause(min(max(wait, LAUNCH_S) if wait else idle, until - now))

    async def _start_what_may(self, now: float, until: float) -> tuple[float, int]:
        """Start what may be started; how long to wait before trying again (0: unknown), and how many were started."""
        parallel = self._intervals.parallel
        room = parallel - len(self._visits) - len(self._must_end)
        silent = quiet_until(self._intervals.quiet_hours, now)
        if silent > now:
            self.stats.trouble = "quiet hours"
            return min(silent - now, 30.0), 0
        if self.stats.trouble == "quiet hours":
            self.stats.trouble = ""
        if room <= 0 or self._store_writer.refused or self._committer.waiting >= UNCOMMITTED * parallel:
            return IDLE_S, 0
        self.request_budget.make_room(self.decider.dearest)
        tokens = min(self.request_budget.available(), max(float(room), self.decider.dearest))
        if tokens < 1.0 - 1e-9:
            return min(self.request_budget.wait_s(), IDLE_S), 0
        try:
            intents = await self._chosen(now, tokens)
        except StoreError as error:
            self.stats.trouble = str(error)
            return IDLE_S, 0
        paid = self._paid(intents[:room], until)
        if len(intents) > len(paid):
            self.decider.give_back(intents[len(paid) :], now)
        for intent in paid:
            self._visits.begin(self._visit(intent))
        return 0.0, len(paid)

    async def _chosen(self, now: float, tokens: float) -> list[Intent]:
        """The next crawls. What the store knows of them is read off the event loop: it may take long to answer."""
        left = self._visitor.drain_left()
        if left:
            self.decider.holds.end_visits(left, now)
        numbers = self.decider.chosen(now, tokens)
        try:
            async with self._roster_store.chosen_at_hand(numbers):
                read, numbers = numbers, []
                return self.decider.intents(read, now)
        finally:
            if numbers:  # they could not be read
                self.decider.pass_over(numbers)

    def _paid(self, intents: list[Intent], until: float) -> list[Intent]:
        """The first of these, as many as may still be begun now that they are read (crawls may cost less than a token),
        paid for."""
        now = self._clock.now()
        if self._stopping.is_set() or now >= until or quiet_until(self._intervals.quiet_hours, now) > now:
            return []
        costs = list(accumulate(intent.source.cost for intent in intents))
        count = bisect_right(costs, self.request_budget.available() + ROUNDING)
        if count:
            self.request_budget.spend(costs[count - 1])
        return intents[:count]

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until a visit ends."""
        await either(self._changed.wait(), self._clock.sleep(seconds))
        if seconds > LAUNCH_S and not self._stopping.is_set():
            await asyncio.sleep(LAUNCH_S)

    async def _visit(self, intent: Intent) -> None:
        try:
            visit = await self._visitor.visit(intent)
        except BaseException:
            self.decider.give_up([intent])
            raise
        self._committer.take(visit)
        self._ended += 1
        self._changed.set()
        if 2 * self._ended >= self._intervals.parallel or len(self._visits) == 1:  # the last one
            self._many_ended.set()

    def _came(self, sources: list[int]) -> None:
        if self._subscriber is not None:
            self._subscriber.came(sources)

    async def _foretell(self, visits: list[Visit]) -> None:
        if self._subscriber is not None:
            await self._subscriber.saw(visits)

    def _conclude(self, visits: list[Visit], outcomes: list[VisitOutcome]) -> None:
        """Count what has been committed, and let others know."""
        for visit, outcome in zip(visits, outcomes, strict=True):
            self.stats.add(visit, outcome)
            self._visitor.stored(visit)
            if self._left is not None:
                self._left.discard(visit.intent.number)
        self._outlets.notify()
        self._changed.set()

    def _all_done(self) -> bool:
        """With `once`: whether everybody who can be reached has had their turn."""
        if self._left is None or self.under_way():
            return False
        roster, holds = self.decider.roster, self.decider.holds
        self._left = {number for number in self._left if number in roster and roster.active(number)}
        return not self._left or not holds.reachable(self._left, self._clock.now() + ONCE_PATIENCE_S)


class Tasks:
    """Any number of tasks; those that have ended are forgotten.

    Parameters
        on_end: called whenever one has ended
    """

    def __init__(self, on_end: Callable[[], None] | None = None) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_end = on_end

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Start one."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._on_end is not None:
            self._on_end()

    async def wait(self, timeout_s: float) -> None:
        """Until all have ended, but only so long."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)

    async def ended(self) -> list[BaseException | None]:
        """Wait for all; what they ended with."""
        return await asyncio.gather(*self._tasks, return_exceptions=True)

    async def given_up(self) -> list[BaseException | None]:
        """Cancel all; what they ended with."""
        for task in self._tasks:
            task.cancel()
        return await self.ended()


__all__ = ["Crawler", "Intervals", "Reading"]
