"""Carries out what the decider decides: fetch, read, settle, store, hand on.

Visits run side by side (`visiting`); what they bring is settled in batches, one after the other (`registrar`), and
committed (`clerk`). Meanwhile edits of the catalogue are followed (`following`), and whatever else has to be done from
time to time is (`duties`). A store that cannot write stops the fetching; nothing that was found is dropped.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Collection

import structlog

from recrawl.clock import Clock
from recrawl.config import quiet_until
from recrawl.crawl import budget_note
from recrawl.crawl.allowance import Allotment, either
from recrawl.crawl.clerk import Clerk
from recrawl.crawl.courier import Courier
from recrawl.crawl.decider import Decider
from recrawl.crawl.duties import Duties
from recrawl.crawl.following import Follower
from recrawl.crawl.gate import GatedTransport
from recrawl.crawl.intents import Intent, Visit
from recrawl.crawl.outlets import Outlets
from recrawl.crawl.purse import Purse
from recrawl.crawl.readers import Readers
from recrawl.crawl.registrar import Registrar
from recrawl.crawl.releasing import Releases
from recrawl.crawl.tally import Tally
from recrawl.crawl.tasks import Tasks
from recrawl.crawl.tempo import Tempo
from recrawl.crawl.visiting import Reading, Visitor
from recrawl.crawl.why_nothing import Circumstances, Why, why_nothing
from recrawl.errors import StoreError
from recrawl.policies.contract import Pooling
from recrawl.policies.surveying import Survey
from recrawl.store.base import Keep, Settlement, Store
from recrawl.units import show_rate

LAUNCH_S = 0.004
"""Least time between two rounds of choosing: rounds serve many visits at once."""
IDLE_S = 0.5
"""Longest time without looking whether a host has become free."""
GRACE_S = 5.0
"""How long visits under way are waited for at the end."""
DRAIN_S = 5.0
"""How long outlets may take at the end; what they have not delivered by then they deliver next time."""
ONCE_DRAIN_S = 90.0
"""With `once`, outlets are waited for as long as they deliver something this often."""
UNSETTLED = 4
"""Nothing new is fetched while so many times `parallel` visits wait to be settled: a store may be slow."""
ONCE_PATIENCE_S = 60.0
"""With `once`, hosts that will not be free for so long are not waited for."""


class Crawler:
    """The running program. `run` returns when it is told to stop, or at its end time, with everything stored.

    Parameters
        revision, released: of the catalogue, and the last release of holds, when the decider was given the store's
        budgets: what may be spent if somebody asks for another budget, per second, while it runs (`budget_note`);
            None if it takes none
    """

    def __init__(
        self,
        *,
        decider: Decider,
        courier: Courier,
        readers: Readers,
        store: Store,
        purse: Purse,
        gate: GatedTransport,
        clock: Clock,
        outlets: Outlets,
        tempo: Tempo | None = None,
        reading: Reading | None = None,
        revision: int = 0,
        released: int = 0,
        keep: Keep | None = None,
        budgets: Callable[[float], Allotment] | None = None,
    ) -> None:
        self.tally, self.courier, self.purse = Tally(), courier, purse
        self._decider, self._clock, self._outlets, self._gate = decider, clock, outlets, gate
        self._tempo, self._budgets = tempo or Tempo(), budgets
        self._stopping, self._room = asyncio.Event(), asyncio.Event()
        self._under_way: Counter[int] = Counter()
        self._visits, self._must_end = Tasks(), Tasks(told=self._room.set)
        self._left: set[int] | None = None
        self._log = structlog.get_logger("recrawl")
        self._clerk = Clerk(store, clock, self.tally, self._stopping)
        self._visitor = Visitor(courier, readers, purse, clock, reading or Reading())
        self._registrar = Registrar(
            decider,
            courier,
            self._clerk,
            clock,
            batch_s=self._tempo.batch_s,
            concluded=self._conclude,
            crowded=self._must_end,
        )
        self._follower = Follower(
            decider, self._clerk, clock, revision=revision, under_way=self._under_way, told=self._room.set
        )
        self._releases = Releases(decider, courier, self._clerk, clock, seen=released, told=self._room.set)
        self._duties = Duties(
            decider,
            self._clerk,
            purse,
            clock,
            self.tally,
            self._tempo,
            learning=self._registrar.learning,
            begun=self._must_end,
            keep=keep,
        )

    # -- life

    async def run(self, until: float = math.inf, *, once: bool = False, only: Collection[int] | None = None) -> None:
        """Crawl until told to stop, until a time, or, with `once`, until every source has had its turn.

        With `only`, ids in the store, until these have had theirs, and nothing else.
        """
        if only is not None:
            self._left = self._decider.only(only)
        elif once:
            self._decider.once = True
            self._left = self._decider.ready(self._clock.now())
        self.tally.sources = len(self._decider)
        await self._outlets.open()
        settling = asyncio.create_task(self._registrar.run())
        telling = asyncio.create_task(self._outlets.run())
        duties = self._duties
        every_s = self._tempo.watch_s
        watching = (self._follower.watch(every_s), self._releases.watch(every_s), self._follow_budget())
        chores = (*watching, duties.listen(), duties.keep_accounts(), duties.tidy())
        others = [asyncio.create_task(each) for each in chores]
        try:
            await self._launch_for_ever(until, [settling, *others])
            # Visits given up after this were never settled, and will be made again.
            await self._visits.wait(GRACE_S)
        finally:
            await self._close(settling, telling, others)

    @property
    def stopping(self) -> bool:
        """Whether it has been told to stop."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Start nothing new; `run` returns when what is under way is done."""
        self._stopping.set()
        self._room.set()

    async def _close(
        self, settling: asyncio.Task[None], telling: asyncio.Task[None], others: list[asyncio.Task[None]]
    ) -> None:
        for task in others:
            task.cancel()
        self._stopping.set()
        outcomes = await self._visits.given_up()
        outcomes += await asyncio.gather(*others, return_exceptions=True)
        self._registrar.close()
        try:
            await settling
            outcomes += await self._must_end.ended()
            await self._clerk.ask(lambda store: store.commit(self._duties.accounts(with_record=True)))
            once = self._left is not None
            await self._outlets.drain(ONCE_DRAIN_S if once else DRAIN_S, renewed=once)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
            await self._must_end.given_up()
            await self._visitor.close()
            await self._follower.close()
            self._clerk.close()
        for failure in (self._registrar.failure, *outcomes):
            if isinstance(failure, Exception):
                raise failure

    # -- what it is told while it runs, on its event loop

    def allot(self, per_second: float, burst: float, until: float) -> None:
        """What may be spent from now on, tokens per second and tokens, until a moment by the crawler's clock.

        From then on nothing new is chosen, and what waits to be sent waits for the next allotment.
        """
        self._allot(Allotment(per_second, burst, until), standing=False)

    def _allot(self, allotment: Allotment, *, standing: bool) -> None:
        self.purse.allot(allotment, standing=standing)
        self._gate.allot(allotment, standing=standing)
        self._room.set()

    async def _follow_budget(self) -> None:
        """Take over the budget that somebody asks for."""
        while True:
            await self._clock.sleep(self._tempo.watch_s)
            if self._budgets is None:
                continue
            try:
                note = await self._clerk.ask(budget_note.read)
            except StoreError as error:
                self._log.warning("the budget asked for could not be read", reason=str(error))
                continue
            if note is not None and note.per_second != self.purse.per_second:
                self._allot(self._budgets(note.per_second), standing=True)
                self._log.info("another budget from now on", budget=show_rate(note.per_second))

    async def refresh(self) -> None:
        """Follow edits of the catalogue now; afterwards nothing new is started for a source that was removed."""
        await self._follower.refresh()

    # -- what it says of itself

    def why_nothing(self) -> list[Why]:
        """Why nothing was fetched, or nothing with success, since it began; empty if anything was."""
        now, purse = self._clock.now(), self.purse
        decider = self._decider
        wait_s = purse.wait_s() if purse.available() < 1.0 - 1e-9 else 0.0
        around = Circumstances(
            now=now,
            known=len(decider),
            active=decider.active,
            waits=tuple(decider.waits(now)) if not self.tally.crawls else (),
            quiet_until=quiet_until(self._tempo.quiet_hours, now),
            next_due=decider.next_due(now) if not self.tally.crawls else math.inf,
            budget_wait_s=wait_s,
            per_second=purse.per_second,
        )
        return why_nothing(self.tally, around)

    @property
    def allotment(self) -> Allotment:
        """What may be spent now; nothing once it has run out."""
        return self.purse.allotment

    def under_way(self) -> set[int]:
        """Ids of the sources that are being visited, or whose visit has not been committed yet."""
        return set(self._under_way)

    @property
    def price(self) -> float:
        """What the last token bought; NaN before the first."""
        return self._decider.policy.price

    @property
    def hosts(self) -> int:
        """How many hosts its sources are on."""
        return self._decider.hosts

    @property
    def dearest(self) -> float:
        """What the dearest crawl of the catalogue costs: a smaller burst never pays for it."""
        return self._decider.dearest()

    def survey(self, price: float, now: float) -> Survey:
        """What its sources would spend at a price."""
        return self._decider.survey(price, now)

    @property
    def pooling(self) -> Pooling | None:
        """Its policy, if that learns from other shards what is common to the catalogue."""
        policy = self._decider.policy
        return policy if isinstance(policy, Pooling) else None

    # -- choosing

    async def _launch_for_ever(self, until: float, duties: list[asyncio.Task[None]]) -> None:
        """Start visits until the time is over or a duty, which has no end of its own, has failed."""
        idle = LAUNCH_S
        while not self._stopping.is_set() and not self._all_done():
            now = self._clock.now()
            if now >= until or self._registrar.failure is not None or any(duty.done() for duty in duties):
                return
            wait, launched = self._launch(now)
            idle = LAUNCH_S if launched else min(2.0 * idle, IDLE_S)
            await self._nap(min(max(wait, LAUNCH_S), until - now) if launched or wait else min(idle, until - now))

    def _launch(self, now: float) -> tuple[float, int]:
        """Start what may be started; how long to wait before trying again (0: unknown), and how many were started."""
        parallel = self._tempo.parallel
        room = parallel - len(self._visits) - len(self._must_end)
        silent = quiet_until(self._tempo.quiet_hours, now)
        if silent > now:
            self.tally.trouble = "quiet hours"
            return min(silent - now, 30.0), 0
        if self.tally.trouble == "quiet hours":
            self.tally.trouble = ""
        if room <= 0 or self._clerk.refused or self._registrar.waiting >= UNSETTLED * parallel:
            return IDLE_S, 0
        self.purse.make_room(self._decider.dearest())
        tokens = min(self.purse.available(), max(float(room), self._decider.dearest()))
        if tokens < 1.0 - 1e-9:
            return min(self.purse.wait_s(), IDLE_S), 0
        intents = self._chosen(now, tokens, room)
        for intent in intents:
            self._under_way[intent.source.id] += 1
            self._visits.begin(self._visit(intent))
        self.tally.in_flight, self.tally.sources = len(self._visits), len(self._decider)
        return 0.0, len(intents)

    def _chosen(self, now: float, tokens: float, room: int) -> list[Intent]:
        """The next crawls, paid for."""
        left = self._visitor.drain_left()
        if left:
            self._decider.leave_hosts(left, now)
        intents = self._decider.choose(now, tokens)
        if len(intents) > room:  # crawls that cost less than a token
            self._decider.give_back(intents[room:], now)
            intents = intents[:room]
        if intents:
            self.purse.spend(self._decider.cost(intents))
        return intents

    async def _nap(self, seconds: float) -> None:
        """Wait, but no longer than until a visit ends."""
        self._room.clear()
        await either(self._room.wait(), self._clock.sleep(seconds))
        if seconds > LAUNCH_S and not self._stopping.is_set():
            await asyncio.sleep(LAUNCH_S)

    async def _visit(self, intent: Intent) -> None:
        try:
            visit = await self._visitor.visit(intent)
        except BaseException:
            self._land(intent.source.id)
            raise
        self._registrar.take(visit)
        self._room.set()

    def _conclude(self, visits: list[Visit], settlements: list[Settlement]) -> None:
        """Count what has been committed, and let others know."""
        for visit, settlement in zip(visits, settlements, strict=True):
            self._land(visit.intent.source.id)
            self.tally.add(visit, settlement)
            self._visitor.stored(visit)
            if self._left is not None:
                self._left.discard(visit.intent.number)
        self.tally.price = self._decider.policy.price
        self._outlets.notify()
        self._room.set()

    def _land(self, source: int) -> None:
        self._under_way[source] -= 1
        if not self._under_way[source]:
            del self._under_way[source]

    def _all_done(self) -> bool:
        """With `once`: whether everybody who can be reached has had their turn."""
        if self._left is None or self._under_way:
            return False
        self._left = self._decider.present(self._left)
        return not self._left or not self._decider.reachable(self._left, self._clock.now() + ONCE_PATIENCE_S)


__all__ = ["Crawler", "Reading", "Tempo"]
