"""Carries out what the decider decides: fetch, read, settle, store, hand on.

Visits run side by side; what they bring is settled in batches, one after the other: first the store says which items
nobody has seen, then the decider learns, then everything is committed in one transaction, and only then told to
anybody. A store that cannot write stops the fetching; nothing that was found is dropped.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import structlog

from recrawl.clock import Clock
from recrawl.config import HintSwitches, QuietHours, quiet_until
from recrawl.crawl import renaming
from recrawl.crawl.allowance import Allotment, either
from recrawl.crawl.courier import Courier, Delivery
from recrawl.crawl.decider import Decider
from recrawl.crawl.feedback import Ear, Heard
from recrawl.crawl.findings import UnreadableError
from recrawl.crawl.freight import Freight, Load
from recrawl.crawl.gate import GatedTransport
from recrawl.crawl.intents import Intent, Visit
from recrawl.crawl.outlets import Outlets
from recrawl.crawl.purse import Purse
from recrawl.crawl.readers import Readers
from recrawl.crawl.reading import Document
from recrawl.crawl.settling import settle
from recrawl.crawl.tally import Tally
from recrawl.errors import StoreError, StoreTakenError
from recrawl.policies.surveying import Survey
from recrawl.store.base import Batch, Hold, Keep, Price, Progress, Settlement, Source, Store, item_key, keys_in

Answer = TypeVar("Answer")
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
REPAIR_S = 2.0
"""Time between attempts to write to a store that refuses."""
CROWDED, PIECE = 2000, 500
"""A visit that lists so many items is settled apart, in pieces of so many."""
TIDY_FIRST_S = 300.0
"""The first sweep: a program that is started anew every day shall sweep, too."""
ONCE_PATIENCE_S = 60.0
"""With `once`, hosts that will not be free for so long are not waited for."""


@dataclass(frozen=True, slots=True)
class Tempo:
    """How the pipeline paces itself, in seconds.

    Parameters
        parallel: visits under way at once
        batch_s: how long finished visits are collected before they are settled together
        watch_s: time between looks at the catalogue for edits by others
        price_s: time between two lines of the price history
        record_s: time between two writes of the learner's shared record
        listen_s: time between looks for what readers clicked
        tidy_s: time between two sweeps of what is past its time
    """

    parallel: int = 64
    batch_s: float = 0.02
    watch_s: float = 1.0
    price_s: float = 10.0
    record_s: float = 60.0
    listen_s: float = 5.0
    tidy_s: float = 86400.0
    quiet_hours: tuple[QuietHours, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """How documents are read."""

    digest: Literal["text", "raw"] = "text"
    keep_text: int = 200_000
    switches: HintSwitches = field(default_factory=HintSwitches)


class Crawler:
    """The running program. `run` returns when it is told to stop, or at its end time, with everything stored."""

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
        keep: Keep | None = None,
    ) -> None:
        self._decider, self._courier, self._readers = decider, courier, readers
        self._store, self._clock, self._outlets = store, clock, outlets
        self._purse, self._gate = purse, gate
        self._tempo, self._reading = tempo or Tempo(), reading or Reading()
        self._revision, self._keep = revision, keep
        self._freight = Freight()
        self._ear = Ear()
        self._alone = asyncio.Semaphore(1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._visits: set[asyncio.Task[None]] = set()
        self._under_way: Counter[int] = Counter()
        self._postponed: set[int] = set()
        self._edits = asyncio.Lock()
        self._learning = asyncio.Lock()
        """From learning to the end of the commit, one after the other: the store shall not go back in time."""
        self._must_end: set[asyncio.Task[None]] = set()
        self._finished: list[Visit] = []
        self._left_hosts: list[Intent] = []
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._stopping = asyncio.Event()
        self._closing = False
        self._failure: Exception | None = None
        self._refused = 0
        self._left: set[int] | None = None
        self._priced: tuple[int, float, int] = (0, 0.0, 0)
        self._log = structlog.get_logger("recrawl")
        self.tally = Tally()

    # -- life

    async def run(self, until: float = math.inf, *, once: bool = False) -> None:
        """Crawl until told to stop, until a time, or, with `once`, until every source has had its turn."""
        if once:
            self._decider.once = True
            self._left = self._decider.ready(self._clock.now())
        await self._outlets.open()
        settling = asyncio.create_task(self._settle_for_ever())
        telling = asyncio.create_task(self._outlets.run())
        others = [
            asyncio.create_task(each) for each in (self._watch(), self._listen(), self._keep_accounts(), self._tidy())
        ]
        try:
            await self._launch_for_ever(until, [settling, *others])
            await self._land()
        finally:
            await self._close(settling, telling, others)

    @property
    def stopping(self) -> bool:
        """Whether it has been told to stop."""
        return self._stopping.is_set()

    @property
    def courier(self) -> Courier:
        """Who keeps the turns of its hosts."""
        return self._courier

    @property
    def purse(self) -> Purse:
        """What it may spend."""
        return self._purse

    def allot(self, per_second: float, burst: float, until: float) -> None:
        """What may be spent from now on, tokens per second and tokens, until a moment by the crawler's clock.

        From then on nothing new is chosen, and what waits to be sent waits for the next allotment. Called on the
        event loop; instead of a budget for the whole run, or after it.
        """
        allotment = Allotment(per_second, burst, until)
        self._purse.allot(allotment)
        self._gate.allot(allotment)
        self._room.set()

    @property
    def allotment(self) -> Allotment:
        """What may be spent now; nothing once it has run out."""
        return self._purse.allotment

    @property
    def price(self) -> float:
        """What the last token bought; NaN before the first."""
        return self._decider.policy.price

    def survey(self, price: float, now: float) -> Survey:
        """What its sources would spend at a price."""
        return self._decider.survey(price, now)

    @property
    def hosts(self) -> int:
        """How many hosts its sources are on."""
        return self._decider.hosts

    @property
    def dearest(self) -> float:
        """What the dearest crawl of the catalogue costs: a smaller burst never pays for it."""
        return self._decider.dearest()

    def under_way(self) -> set[int]:
        """Ids of the sources that are being visited, or whose visit has not been committed yet."""
        return set(self._under_way)

    async def refresh(self) -> None:
        """Follow edits of the catalogue now; afterwards nothing new is started for a source that was removed."""
        async with self._edits:
            await self._follow_edits()

    def stop(self) -> None:
        """Start nothing new; `run` returns when what is under way is done."""
        self._stopping.set()
        self._room.set()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._visits.add(task)
        task.add_done_callback(self._visits.discard)

    def _to_the_end(self, work: Coroutine[None, None, None]) -> asyncio.Future[None]:
        """Work that is waited for at the end of the run, even if whoever began it is given up."""
        task = asyncio.create_task(work)
        self._must_end.add(task)
        task.add_done_callback(self._must_end.discard)
        return asyncio.shield(task)

    async def _land(self) -> None:
        """Wait for the visits under way, but only so long; those given up were never settled, and will be again."""
        if self._visits:
            await asyncio.wait(self._visits, timeout=GRACE_S)

    async def _close(
        self, settling: asyncio.Task[None], telling: asyncio.Task[None], others: list[asyncio.Task[None]]
    ) -> None:
        for task in [*others, *self._visits]:
            task.cancel()
        self._stopping.set()
        outcomes = await asyncio.gather(*others, *self._visits, return_exceptions=True)
        self._closing = True
        self._news.set()
        try:
            await settling
            outcomes += await asyncio.gather(*self._must_end, return_exceptions=True)
            await self._in_store(lambda: self._store.commit(self._accounts(with_record=True)))
            once = self._left is not None
            await self._outlets.drain(ONCE_DRAIN_S if once else DRAIN_S, renewed=once)
        finally:
            for task in (telling, *self._must_end):
                task.cancel()
            await asyncio.gather(telling, *self._must_end, return_exceptions=True)
            await self._readers.close()
            await self._courier.close()
            self._thread.shutdown()
        for failure in (self._failure, *outcomes):
            if isinstance(failure, Exception):
                raise failure

    # -- choosing and fetching

    async def _launch_for_ever(self, until: float, duties: list[asyncio.Task[None]]) -> None:
        """Start visits until the time is over or a duty, which has no end of its own, has failed."""
        idle = LAUNCH_S
        while not self._stopping.is_set() and not self._all_done():
            now = self._clock.now()
            if now >= until or self._failure is not None or any(duty.done() for duty in duties):
                return
            wait, launched = self._launch(now)
            idle = LAUNCH_S if launched else min(2.0 * idle, IDLE_S)
            await self._nap(min(max(wait, LAUNCH_S), until - now) if launched or wait else min(idle, until - now))

    def _launch(self, now: float) -> tuple[float, int]:
        """Start what may be started; how long to wait before trying again (0: unknown), and how many were started."""
        room = self._tempo.parallel - len(self._visits) - len(self._must_end)
        silent = quiet_until(self._tempo.quiet_hours, now)
        if silent > now:
            self.tally.trouble = "quiet hours"
            return min(silent - now, 30.0), 0
        if self.tally.trouble == "quiet hours":
            self.tally.trouble = ""
        if room <= 0 or self._refused or len(self._finished) >= UNSETTLED * self._tempo.parallel:
            return IDLE_S, 0
        self._purse.make_room(self._decider.dearest())
        tokens = min(self._purse.available(), max(float(room), self._decider.dearest()))
        if tokens < 1.0 - 1e-9:
            return min(self._purse.wait_s(), IDLE_S), 0
        left, self._left_hosts = self._left_hosts, []
        if left:
            self._decider.leave_hosts(left, now)
        intents = self._decider.choose(now, tokens)
        if len(intents) > room:  # crawls that cost less than a token
            self._decider.give_back(intents[room:], now)
            intents = intents[:room]
        if intents:
            self._purse.spend(self._decider.cost(intents))
        for intent in intents:
            self._under_way[intent.source.id] += 1
            self._spawn(self._visit(intent))
        self.tally.in_flight, self.tally.sources = len(self._visits), len(self._decider)
        return 0.0, len(intents)

    async def _nap(self, seconds: float) -> None:
        """Wait, but no longer than until a visit ends."""
        self._room.clear()
        await either(self._room.wait(), self._clock.sleep(seconds))
        if seconds > LAUNCH_S and not self._stopping.is_set():
            await asyncio.sleep(LAUNCH_S)

    async def _visit(self, intent: Intent) -> None:
        """Fetch and read one source. Whatever goes wrong is told of this source alone."""
        load = self._freight.load()
        try:
            visit = await self._carry_out(intent, load)
        finally:
            load.drop()
        self._finished.append(visit)
        self._news.set()
        self._room.set()

    async def _carry_out(self, intent: Intent, load: Load) -> Visit:
        delivery = await self._fetch(intent, load)
        self._left_hosts.append(intent)
        if delivery.requests == 0:
            self._purse.give_back(intent.source.cost)
        visit = Visit(intent, self._clock.now(), delivery)
        if delivery.response is not None and not delivery.refused and 200 <= delivery.response.status < 300:
            await (self._read_alone(visit) if load.size else self._read(visit))
        visit.let_go()
        return visit

    async def _read_alone(self, visit: Visit) -> None:
        """What a large document holds may be many times its size: one at a time, from here until it is stored."""
        await self._alone.acquire()
        visit.alone = True
        try:
            await self._read(visit)
        except BaseException:
            self._alone.release()
            raise

    async def _fetch(self, intent: Intent, load: Load) -> Delivery:
        source, progress = intent.source, intent.progress
        conditional = {}
        if progress.etag:
            conditional["If-None-Match"] = progress.etag
        if progress.modified:
            conditional["If-Modified-Since"] = progress.modified
        try:
            return await self._courier.visit(source.url, source.headers, conditional, load=load)
        except Exception as error:
            self._log.exception("a fetch went wrong", source=source.id)
            return Delivery(response=None, final_url=source.url, requests=1, error=f"internal error: {error!r}")

    async def _read(self, visit: Visit) -> None:
        response, source = visit.delivery.response, visit.intent.source
        assert response is not None
        document = Document(
            url=visit.delivery.final_url,
            kind=source.kind,
            content_type=response.headers.get("content-type", ""),
            body=response.body,
            headers=response.headers,
            now=visit.at,
            select=source.select,
            digest=self._reading.digest,
            keep_text=self._reading.keep_text,
            switches=self._reading.switches,
        )
        try:
            visit.findings = await self._readers.read(document)
            visit.keys = [item_key(item.key) for item in visit.findings.items]
        except UnreadableError as error:
            visit.error = str(error)
        except Exception as error:
            self._log.exception("a document could not be read", source=source.id)
            visit.error = f"internal error: {error!r}"

    # -- settling

    async def _settle_for_ever(self) -> None:
        """Settle what is finished, until closing and nothing is left."""
        while not (self._closing and not self._finished):
            await self._news.wait()
            if not self._closing:
                await asyncio.sleep(self._tempo.batch_s)
            self._news.clear()
            visits, self._finished = self._finished, []
            usual = [visit for visit in visits if len(visit.keys) < CROWDED]
            if usual:
                await self._settle(usual)
            for visit in visits:
                if len(visit.keys) >= CROWDED:
                    self._to_the_end(self._settle_crowded(visit))

    async def _settle(self, visits: list[Visit]) -> None:
        await self._persist(lambda: self._look_up(visits))
        async with self._learning:
            await self._conclude(visits, self._decider.settle(visits, self._clock.now()))

    async def _settle_crowded(self, visit: Visit) -> None:
        """A visit with very many items: in pieces, between which others are settled.

        Items are committed with their events, so that a crash in between neither loses nor repeats any; the end of the
        run waits for the last piece.
        """
        try:
            await self._settle_in_pieces(visit)
        except Exception as error:
            self._failure = error
            self._room.set()

    async def _settle_in_pieces(self, visit: Visit) -> None:
        await self._persist(lambda: self._look_up([visit]))
        settled = await asyncio.to_thread(settle, visit, self._decider.terms)
        settlement = settled.settlement
        items, events = settlement.items, settlement.events
        for start in range(0, len(items), PIECE):
            piece = Batch(items=items[start : start + PIECE], events=events[start : start + PIECE])
            await self._persist(lambda: self._store.commit(piece))  # noqa: B023 - awaited before the next piece
        settlement.items, settlement.events = [], events[len(items) :]
        async with self._learning:
            await self._conclude([visit], self._decider.absorb([visit.intent.number], [settled], self._clock.now()))

    async def _conclude(self, visits: list[Visit], settlements: list[Settlement]) -> None:
        """Commit what visits led to, count it, and let others know."""
        batch = Batch(settlements=settlements, holds=self._courier.drain_holds(), robots=self._courier.drain_robots())
        await self._persist(lambda: self._store.commit(batch))
        self._decider.forget_records(settlements)
        for visit, settlement in zip(visits, settlements, strict=True):
            self._landed(visit.intent)
            self.tally.add(visit, settlement)
            if visit.alone:
                self._alone.release()
            if self._left is not None:
                self._left.discard(visit.intent.number)
        self.tally.price = self._decider.policy.price
        self._outlets.notify()
        self._room.set()

    def _landed(self, intent: Intent) -> None:
        self._under_way[intent.source.id] -= 1
        if not self._under_way[intent.source.id]:
            del self._under_way[intent.source.id]

    def _look_up(self, visits: list[Visit]) -> None:
        """What settling needs to know from the store: which items are new, what a changed page looked like."""
        listed = []
        for visit in visits:
            known = set(keys_in(visit.intent.progress.listing))
            listed.append((visit.intent.source.id, [key for key in visit.keys if key not in known]))
        for visit, unseen in zip(visits, self._store.unseen(listed), strict=True):
            visit.unseen = unseen
            if renaming.suspected(visit):
                self._recognise(visit)
            before, findings = visit.intent.progress.digest, visit.findings
            if findings is not None and findings.kind == "page" and before and findings.digest != before:
                versions = self._store.versions(visit.intent.source.id, limit=1)
                visit.previous = versions[0].text if versions else ""

    def _recognise(self, visit: Visit) -> None:
        """Nothing listed is known by its id: perhaps it is by its link."""
        findings, source, last = visit.findings, visit.intent.source.id, visit.intent.progress.last
        assert findings is not None
        assert last is not None
        found = self._store.items(source=source, limit=renaming.LOOK_BACK + 2 * len(visit.keys))
        links = {item.link for item in found}
        keys = renaming.links_instead(findings.items, links, last)
        if keys is not None:
            (unseen,) = self._store.unseen([(source, keys)])
            new = {key for key, item in zip(keys, findings.items, strict=True) if item.link not in links}
            visit.keys, visit.unseen, visit.renamed = keys, unseen & new, True

    def _all_done(self) -> bool:
        """With `once`: whether everybody who can be reached has had their turn."""
        if self._left is None or self._under_way:
            return False
        self._left = self._decider.present(self._left)
        return not self._left or not self._decider.reachable(self._left, self._clock.now() + ONCE_PATIENCE_S)

    # -- the store

    async def _in_store(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _persist(self, work: Callable[[], None]) -> None:
        """Do it in the store, again and again if need be: meanwhile nothing is fetched, and nothing is lost."""
        tries = 0
        while True:
            try:
                await self._in_store(work)
            except StoreError as error:
                self._refused += not tries
                tries += 1
                self.tally.trouble = str(error)
                if tries & (tries - 1) == 0:  # the 1st, 2nd, 4th, 8th … time
                    self._log.error("the store refuses: nothing is fetched until it writes again", reason=str(error))
                if self._stopping.is_set() or isinstance(error, StoreTakenError):
                    raise
                await self._clock.sleep(REPAIR_S)
            else:
                break
        if tries:
            self._refused -= 1
            self._log.info("the store writes again")
        if not self._refused:
            self.tally.trouble = ""

    async def _watch(self) -> None:
        """Follow edits of the catalogue by others."""
        while True:
            await self._clock.sleep(self._tempo.watch_s)
            try:
                await self.refresh()
            except StoreError as error:
                self._log.warning("the catalogue could not be read", reason=str(error))

    async def _follow_edits(self) -> None:
        """Take in what changed. A source that comes back while its last visit is under way waits for the end of it."""
        revision, since, back = await self._in_store(self._store.revision), self._revision, self._back()
        if revision == since and not back:
            return
        edited, removed = await self._in_store(lambda: self._edited(since, back))
        self._revision = revision
        self._decider.dismiss(removed)
        self._postponed = (self._postponed - set(back) - set(removed)) | {
            source.id for source in edited if source.id in self._under_way and not self._decider.knows(source.id)
        }
        edited = [source for source in edited if source.id not in self._postponed]
        fresh = [source.id for source in edited if not self._decider.knows(source.id)]
        now = self._clock.now()
        progress, holds = await self._in_store(lambda: self._past(fresh, now))
        self._decider.admit(edited, now, progress, holds)
        self._room.set()

    def _back(self) -> list[int]:
        """Postponed sources whose visits are over."""
        return [id for id in self._postponed if id not in self._under_way]

    def _edited(self, since: int, back: list[int]) -> tuple[list[Source], list[int]]:
        """Lines of the catalogue that changed, with those that were postponed, and ids of those removed."""
        edited = self._store.sources(since_revision=since)
        listed = {source.id for source in edited}
        edited += self._store.sources(ids=[id for id in back if id not in listed]) if back else []
        return edited, self._store.removed(since)

    def _past(self, ids: list[int], now: float) -> tuple[list[Progress], list[Hold]]:
        """What has become of sources before they came here, and of their hosts."""
        return (list(self._store.progress(ids)), self._store.holds(now)) if ids else ([], [])

    async def _listen(self) -> None:
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
        mark, now = self._decider.policy.mark, self._clock.now()
        heard = await self._in_store(lambda: self._ear.listen(self._store, mark, now))
        if heard.mark == mark:
            return False
        await self._to_the_end(self._take_in(heard, now))
        self._room.set()
        return heard.more

    async def _take_in(self, heard: Heard, now: float) -> None:
        """Learn from clicks, and commit what follows."""
        async with self._learning:
            batch = Batch(progress=self._decider.hear(heard, now), shared=self._decider.policy.shared())
            await self._persist(lambda: self._store.commit(batch))

    async def _keep_accounts(self) -> None:
        """Write the price history, and now and then the learner's record of the catalogue."""
        recorded = self._clock.now()
        while True:
            await self._clock.sleep(self._tempo.price_s)
            due = self._clock.now() - recorded >= self._tempo.record_s
            recorded = self._clock.now() if due else recorded
            accounts = self._accounts(with_record=due)
            await self._persist(lambda: self._store.commit(accounts))  # noqa: B023 - awaited before the next round

    async def _tidy(self) -> None:
        """Drop what is past its time, soon after the start and then every so often."""
        keep, wait_s = self._keep, min(TIDY_FIRST_S, self._tempo.tidy_s)
        while True:
            await self._clock.sleep(wait_s)
            wait_s = self._tempo.tidy_s
            if keep is None:
                continue
            try:
                await self._in_store(lambda: self._store.vacuum(keep, self._clock.now()))
            except StoreError as error:
                self._log.warning("what is past its time could not be dropped", reason=str(error))

    def _accounts(self, *, with_record: bool) -> Batch:
        tally, (requests, captured, errors) = self.tally, self._priced
        self._priced = (tally.requests, tally.captured, tally.failed)
        price = Price(
            at=self._clock.now(),
            price=self._decider.policy.price,
            budget=self._purse.per_second,
            requests=tally.requests - requests,
            captured=tally.captured - captured,
            errors=tally.failed - errors,
        )
        return Batch(price=price, shared=self._decider.policy.shared() if with_record else None)
