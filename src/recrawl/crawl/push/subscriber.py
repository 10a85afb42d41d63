"""Subscribes to what sources advertise: the crawler's side of WebSub. The hub's calls come in by the web page.

Every request to a hub is a fetch like any other: paid from the budget, in its host's turn, past the rules on addresses.
What is to be done next stands in the store, so a restart forgets nothing. Nothing here says how often a source is
visited: that follows from what pushes turn out to be worth.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
import structlog

from recrawl.clock import Clock
from recrawl.config import Push, QuietHours, quiet_until
from recrawl.crawl.fetching.fetcher import Fetcher, FetchResult
from recrawl.crawl.looking import keep_looking
from recrawl.crawl.push import subscriptions as rules
from recrawl.crawl.push.budget_share import BudgetShare
from recrawl.crawl.push.subscriptions import Advert
from recrawl.crawl.reading import hub_links
from recrawl.crawl.request_budget import RequestBudget
from recrawl.crawl.store_writer import StoreWriter
from recrawl.crawl.visits import Visit
from recrawl.errors import StoreError, StoreTakenError
from recrawl.logs import fault
from recrawl.store.records import Subscription
from recrawl.store.roles import Store

LOOK_S, SWEEP_S = 1.0, 30.0
"""Time between looks for what is due, and for sources that are gone."""
AT_ONCE, SHARE = 10, 0.1
"""Hubs asked at the same time, and which share of the budget that may take."""
NOT_MODIFIED = 304


class Subscriber:
    """Follows what visits say of hubs, and asks hubs what is due.

    Parameters
        active: whether a source, by the store's id, is there to be crawled here
    """

    def __init__(
        self,
        fetcher: Fetcher,
        store_writer: StoreWriter,
        request_budget: RequestBudget,
        clock: Clock,
        push: Push,
        *,
        active: Callable[[int], bool],
        quiet_hours: tuple[QuietHours, ...] = (),
    ) -> None:
        self._fetcher, self._store_writer, self._clock, self._push = fetcher, store_writer, clock, push
        self._active, self._quiet_hours = active, quiet_hours
        self._known: dict[int, Advert] = {}
        """What each source is subscribed to, or about to be."""
        self._adverts: dict[int, Advert | None] = {}
        """What visits said that is not stored; None for nothing any more."""
        self._came, self._loaded = set[int](), False
        """Sources whose subscriptions are to be looked up."""
        self._following = asyncio.Lock()
        self._swept = clock.now()
        self._share = BudgetShare(request_budget, clock, SHARE, most=AT_ONCE)
        self._log = structlog.get_logger("recrawl")

    def came(self, sources: Sequence[int]) -> None:
        """Sources that were not known here; another crawler may have subscribed to them."""
        self._came.update(sources)

    async def saw(self, visits: Sequence[Visit]) -> None:
        """What documents say of hubs may have changed: it is stored before their validators are.

        Otherwise a crash in between would lose it, since a document that did not change says nothing the next time.
        """
        self._note(visits)
        try:
            await self._follow_adverts()
        except StoreTakenError:
            raise
        except StoreError as error:
            self._log.warning("subscriptions could not be kept", reason=str(error))

    def _note(self, visits: Sequence[Visit]) -> None:
        for visit in visits:
            source, response = visit.intent.source.id, visit.fetched.response
            if visit.findings is not None:
                advert = rules.advert_of(visit.findings, visit.fetched.final_url)
            elif response is not None and response.status == NOT_MODIFIED and "link" in response.headers:
                hubs, topic = hub_links.of_header(response.headers["link"], visit.fetched.final_url)
                advert = Advert(rules.by_https(hubs[0]), topic) if hubs and topic else self._known.get(source)
            else:
                continue
            if advert is None and visit.findings is not None and visit.findings.remark:
                continue  # it could not be read whole
            if advert != self._known.get(source):
                self._adverts[source] = advert
            else:
                self._adverts.pop(source, None)

    async def run(self) -> None:
        """Until it is cancelled."""
        await keep_looking(self._clock, LOOK_S, self._load_and_look, "subscriptions could not be kept")

    async def _load_and_look(self) -> None:
        if not self._loaded:
            self._take_over(await self._store_writer.ask(lambda store: store.subscriptions()))
            self._loaded = True
        await self.look()

    async def look(self) -> None:
        """Do what is to be done now."""
        now = self._clock.now()
        if came := list(self._came):
            self._take_over(await self._store_writer.ask(lambda store: store.subscriptions(sources=came)))
            self._came.difference_update(came)
        await self._follow_adverts()
        if now - self._swept >= SWEEP_S:
            self._swept = now
            await self._sweep(now)
        if quiet_until(self._quiet_hours, now) <= now:
            await self._ask_what_is_due(now)

    async def _ask_what_is_due(self, now: float) -> None:
        most = self._share.available()
        if most:
            due = await self._store_writer.ask(lambda store: store.subscriptions(due=now, limit=most))
            self._share.spend(len(due))
            await asyncio.gather(*map(self._do, due))

    def _take_over(self, kept: Sequence[Subscription]) -> None:
        for each in kept:
            if each.mode == "subscribe":
                self._known.setdefault(each.source, Advert(each.hub, each.topic))

    # -- what is wanted

    async def _follow_adverts(self) -> None:
        """Subscribe to what is new, and leave what is no longer advertised."""
        async with self._following:
            if adverts := dict(self._adverts):
                settled = await self._follow(adverts, self._clock.now())
                said = self._adverts.items()
                self._adverts = {source: advert for source, advert in said if settled.get(source, source) != advert}

    async def _follow(self, adverts: dict[int, Advert | None], now: float) -> dict[int, Advert | None]:
        """Those that are followed now. The others wait: a document that did not change is not read again for them."""
        kept = await self._store_writer.ask(lambda store: store.subscriptions(sources=[*adverts]))
        changes, settled = list[Subscription](), dict[int, Advert | None]()
        for source, advert in adverts.items():
            mine = [each for each in kept if each.source == source]
            if rules.is_settled(mine, advert, now):
                changes += rules.changed(source, advert, mine, now)
                settled[source] = advert
        await self._store_writer.ask(lambda store: store.write_subscriptions(changes))
        for source, advert in settled.items():
            if advert is None:
                self._known.pop(source, None)
            else:
                self._known[source] = advert
        return settled

    async def _sweep(self, now: float) -> None:
        """Leave the hubs of sources that were removed or paused. One that is another crawler's now is its affair."""
        elsewhere = [source for source in self._known if not self._active(source)]
        if not elsewhere:
            return
        gone = await self._store_writer.ask(lambda store: [each for each in elsewhere if not _wanted(store, each)])
        kept = await self._store_writer.ask(lambda store: store.subscriptions(sources=gone))
        over = [rules.leaving(each, now) for each in kept if each.mode == "subscribe"]
        await self._store_writer.ask(lambda store: store.write_subscriptions(over))
        for source in elsewhere:
            del self._known[source]

    # -- asking

    async def _do(self, subscription: Subscription) -> None:
        now = self._clock.now()
        if subscription.mode == "subscribe" and not await self._store_writer.ask(
            lambda store: _wanted(store, subscription.source)
        ):
            subscription = rules.leaving(subscription, now)
        if rules.is_over(subscription, now):
            await self._store_writer.ask(lambda store: store.forget_subscriptions([subscription.token]))
            return
        asked = rules.asked(subscription, now)
        # Before it is sent: a hub may call back before it answers.
        await self._store_writer.ask(lambda store: store.write_subscriptions([asked]))
        await self._conclude(asked, await self._ask(asked))

    async def _ask(self, asked: Subscription) -> FetchResult:
        form = rules.form_of(asked, self._push.callback, self._push.lease_s)
        try:
            return await self._fetcher.visit(asked.hub, prepaid=0, robots=False, form=form)
        except Exception as error:
            self._log.error("a hub could not be asked", source=asked.source, **fault(error))
            return FetchResult(None, asked.hub, error="internal error")

    async def _conclude(self, asked: Subscription, answer: FetchResult) -> None:
        """Take note of a refusal or a failure; whatever else the hub has to say it says to the callback."""
        status = 0 if answer.response is None else answer.response.status
        if 200 <= status < 300:
            return
        words = answer.refused or answer.error or f"HTTP status {status}"
        note = f"the hub was asked in vain: {words}"[:300]
        self._log.info("a hub was asked in vain", source=asked.source, mode=asked.mode, reason=words[:300])
        if status and rules.is_refusal(status):
            if asked.mode == "unsubscribe":
                await self._store_writer.ask(lambda store: store.forget_subscriptions([asked.token]))
                return
            until = self._clock.now() + rules.REFUSED_S
            await self._store_writer.ask(lambda store: store.refuse_subscription(asked.token, until, note))
            return
        failed = msgspec.structs.replace(asked, note=note)
        await self._store_writer.ask(lambda store: store.write_subscriptions([failed]))


def _wanted(store: Store, source: int) -> bool:
    line = store.source(source)
    return line is not None and line.state == "active"
