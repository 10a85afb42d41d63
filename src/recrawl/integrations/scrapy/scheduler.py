"""Between Scrapy's engine and recrawl's scheduler.

*Sources.* A marked request is not queued: it becomes a source. An alarm rings when the budget allows a visit and a
source is free; the most wanted one then becomes a request and is given to `engine.crawl()`, the way spiders inject
requests, which also wakes the engine: it asks an idle scheduler only every five seconds. At most one such request waits
to be fetched for, so that the choice is made as late as can be.

*Visits.* Redirects and retries come back here with the visit in their `meta`. They are paid for like every request, and
go before new visits. Every visit ends once: by what its callback brought, by a failure, or as lost when no
request carries it any more. Until it is, its source is not handed out again.

*Everything else* is :class:`scrapy.core.scheduler.Scheduler`.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self, cast

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import Scheduler as ScrapyScheduler
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings

from recrawl.clock import Clock
from recrawl.errors import RecrawlError, StoreError
from recrawl.integrations.scrapy.conditional_requests import (
    BUSY,
    NOT_MODIFIED,
    ask_conditionally,
    ask_plainly,
    asked_to_wait,
    nothing,
    wants,
)
from recrawl.integrations.scrapy.options import check_names, choice, make_scheduler, switch
from recrawl.integrations.scrapy.request_meta import MARK, MarkedRequests, key_of
from recrawl.integrations.scrapy.spider_middleware import Errback, LiveVisits, RecrawlSpiderMiddleware, separate
from recrawl.integrations.scrapy.spider_stats import SpiderStats
from recrawl.integrations.scrapy.timer import Alarm
from recrawl.integrations.scrapy.visits import VISIT, Payments, Visit, visit_of
from recrawl.scheduler import Scheduler

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

MAINTENANCE_S = 0.25
"""Time between two writes to the store, and two looks for visits that got lost."""
REFRESH_S = 2.0
"""Time between two looks at what others edited in the store."""
FORGOTTEN_S = 60.0
"""How long a source waits whose request could not be kept, for the spider to yield it again."""


class RecrawlScheduler(ScrapyScheduler):
    """Scrapy's scheduler, and revisits of marked requests under a budget.

    Settings
        RECRAWL_STORE: path or address of the store; `%(name)s` is the spider's name
        RECRAWL_BUDGET: requests for sources per time, such as `60/min`; redirects, retries and robots.txt count
        RECRAWL_BURST: requests that may be saved up; by default one second's worth, and at least 1
        RECRAWL_POLICY, RECRAWL_OBJECTIVE, RECRAWL_HALF_LIFE, RECRAWL_MAX_AGE, RECRAWL_MIN_INTERVAL: as of
            :class:`recrawl.scheduler.Scheduler`
        RECRAWL_CONDITIONAL: send what the server said to tell its versions apart (If-None-Match, If-Modified-Since);
            with Scrapy's HTTP cache that does so itself
        RECRAWL_DIGEST: what tells whether a page changed: its main "text", or all of it, "raw"
    """

    recrawl: Scheduler
    clock: Clock | None = None
    """What tells the time; None for the machine's."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy's way to make one."""
        scheduler = super().from_crawler(crawler)
        scheduler._prepare(crawler.settings)
        return scheduler

    def _prepare(self, settings: BaseSettings) -> None:
        check_names(settings)
        self._settings = settings
        self._raw = choice(settings, "RECRAWL_DIGEST", ("text", "raw")) == "raw"
        self._cached = settings.getbool("HTTPCACHE_ENABLED")
        self._conditional = switch(settings, "RECRAWL_CONDITIONAL", True) and not self._cached
        self._ready: deque[Request] = deque()
        self._turn = False
        self._refreshed = 0.0
        self._alarm, self._maintenance = Alarm(self._wake), Alarm(self._maintain)
        self._opened = self._engaged = self._stuck = False
        self._writing: Future[None] | None = None

    # -- life

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Open the store, and go on where it was left."""
        opened = super().open(spider)
        assert self.crawler is not None
        self.recrawl = make_scheduler(self._settings, spider, self.clock)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="recrawl-store")
        self._spider_stats = SpiderStats(self.stats, spider)
        self._marked = MarkedRequests(self.recrawl, spider, self._spider_stats)
        self._payments = Payments(self.recrawl, self._settings.getbool("ROBOTSTXT_OBEY"))
        self._visits = LiveVisits(
            self.recrawl, self._spider_stats, conditional=self._conditional, raw=self._raw, ended=self._set_alarm
        )
        self._opened = True
        self._maintenance.set(REFRESH_S)
        if len(self.recrawl):
            self._engage()
        return opened

    def _engage(self) -> None:
        """Watch what the spider does: only from its first source on, so that one without pays nothing for it."""
        if self._engaged:
            return
        assert self.crawler is not None
        self._engaged = True
        self._install_middleware(self.crawler)
        for receiver, signal in self._receivers():
            self.crawler.signals.connect(receiver, signal=signal)
        self._spider_stats.sum_up(self.recrawl)
        self._maintenance.set(MAINTENANCE_S)
        self._alarm.set(0.0)

    def close(self, reason: str) -> Deferred[None] | None:
        """Write what is left to write, and let others have the store."""
        if self._opened:
            self._opened = False
            self._alarm.cancel()
            self._maintenance.cancel()
            assert self.crawler is not None
            for receiver, signal in self._receivers() if self._engaged else ():
                self.crawler.signals.disconnect(receiver, signal=signal)
            self._ready.clear()
            self._payments.waiting.clear()
            self._visits.give_up()
            try:
                self._marked.add_all()
            except RecrawlError as error:
                self._spider_stats.error("recrawl: the last marked requests were not added: %s", error)
            if self._engaged:
                self._spider_stats.sum_up(self.recrawl)
            self._writer.shutdown(wait=True)
            self.recrawl.close()
        return super().close(reason)

    def _receivers(self) -> list[tuple[Any, object]]:
        return [
            (self._response_came, signals.response_downloaded),
            (self._response_received, signals.response_received),
        ]

    def _install_middleware(self, crawler: Crawler) -> None:
        """The settings are read before a scheduler is made, so that it brings its middleware itself."""
        engine = crawler.engine
        if engine is None:
            return
        manager = engine.scraper.spidermw
        ours = [each for each in manager.middlewares if isinstance(each, RecrawlSpiderMiddleware)]
        if not ours:
            ours = [RecrawlSpiderMiddleware()]
            manager.middlewares = (*manager.middlewares, *ours)
            manager._add_middleware(ours[0])
        ours[0].watcher = self._visits

    # -- the contract with the engine

    def has_pending_requests(self) -> bool:
        """A spider with sources has always something to come: it ends when it is told to."""
        return (
            bool(self._ready or self._payments.waiting or self._marked or len(self.recrawl))
            or super().has_pending_requests()
        )

    def enqueue_request(self, request: Request) -> bool:
        """Take in a marked request, go on with a visit, and leave everything else to Scrapy."""
        meta = request.meta
        if VISIT in meta:
            visit = self._goes_on(request)
            if visit is not None:
                return self._go_on(request, visit)
            separate(request)
        if not meta.get(MARK):
            return super().enqueue_request(request)
        if not self._marked.collect(request):
            return False
        self._engage()
        self._alarm.set(self._marked.wait_s())
        return True

    def next_request(self) -> Request | None:
        """A visit whose time has come, or what Scrapy has; in turns where there are both."""
        while self._ready and not (self._turn and super().has_pending_requests()):
            request = self._ready.popleft()
            left = self._leaves(request)
            self._set_alarm()
            if left:
                self._turn = True
                return request
        self._turn = False
        return super().next_request()

    # -- visits begin

    def _set_alarm(self) -> None:
        """Ring when the next visit can begin, unless one is waiting to be fetched already."""
        if not self._opened:
            return
        self._alarm.set(self._marked.wait_s())
        if self._payments.waiting:
            self._alarm.set(self._payments.wait_s())
        elif not self._ready:
            self._alarm.set(self.recrawl.wait_s())

    def _wake(self) -> None:
        """Begin a visit, if it is time for one."""
        if not self._opened:
            return
        if self._stuck:
            self._alarm.set(REFRESH_S)
            return
        try:
            if self._marked.wait_s() <= 1e-3:
                self._marked.add_all()
            request = self._next_visit()
        except StoreError as error:
            self._spider_stats.warn_once(
                str(error), "recrawl: no visits until the store can be written again: %s", error
            )
            self._alarm.set(REFRESH_S)
            return
        if request is not None:
            assert self.crawler is not None
            assert self.crawler.engine is not None
            self.crawler.engine.crawl(request)
        self._set_alarm()

    def _next_visit(self) -> Request | None:
        if self._payments.waiting:
            return self._payments.pay(self._payments.waiting[0])
        if self._ready or self.recrawl.wait_s() > 0.0:
            return None
        due = min(self._alarm.rang_for, time.monotonic())
        for key in self.recrawl.due(1):
            request = self._request_for(key, due)
            if request is not None:
                return self._payments.pay(request)
        return None

    def _request_for(self, key: str, due: float) -> Request | None:
        """The request of a source with a visit in its meta; None, and the visit ended, if there can be none."""
        source, progress = self.recrawl.source(key), self.recrawl.progress(key)
        assert source is not None
        assert progress is not None
        try:
            template = self._marked.request(source)
        except Exception as error:
            self._spider_stats.warn_once(str(error), "recrawl: %s cannot be visited: %s", key, error)
            self.recrawl.report(key, failed=True, error=str(error), hold=FORGOTTEN_S)
            self._spider_stats.count("failed")
            return None
        visit = Visit(key, template.url, progress.last is not None, due)
        meta = {name: value for name, value in template.meta.items() if name != MARK}
        request = template.replace(
            meta=meta | {VISIT: visit}, errback=Errback(self._visits, template.errback), dont_filter=True
        )
        if self._cached:
            request.headers.setdefault("Cache-Control", "max-age=0")
        if self._conditional:
            ask_conditionally(request, progress)
        visit.owed = self._payments.robots_cost(request)
        self._visits.begin(visit)
        return request

    # -- visits go on

    def _goes_on(self, request: Request) -> Visit | None:
        """The visit a request belongs to: not one that its spider made from a response, with the same meta."""
        visit = visit_of(request.meta)
        if visit is None or not self._visits.is_live(visit):
            return None
        return visit if not visit.answered or key_of(request) == visit.key else None

    def _go_on(self, request: Request, visit: Visit) -> bool:
        """A visit begins, or goes on: redirected, or tried again."""
        if visit.paid:
            visit.paid = False
            self._ready.append(request)
            return True
        held_s = self.recrawl.held_s(request.url)
        if held_s:
            self._visits.fail(visit, "the host asked to be left alone", hold_s=held_s)
            return False
        if request.url != visit.url:
            ask_plainly(request)
        visit.answered = visit.downloaded = False
        visit.owed = 1.0 + self._payments.robots_cost(request)
        self._spider_stats.count("extra_requests")
        if not self._payments.pay_in_turn(request):
            self._set_alarm()
            return True
        visit.paid = False
        self._ready.append(request)
        return True

    def _leaves(self, request: Request) -> bool:
        """A request of a visit is on its way, unless its host asked to be left alone while it waited."""
        visit = cast(Visit, request.meta[VISIT])
        held_s = self.recrawl.held_s(request.url)
        if held_s:
            self._visits.fail(visit, "the host asked to be left alone", hold_s=held_s)
            return False
        if not visit.requests:
            self._spider_stats.lags_s.append(time.monotonic() - visit.due)
        visit.requests += 1
        return True

    def _response_came(self, response: Response, request: Request, spider: Spider) -> None:
        """Before any middleware: what the network brought."""
        visit = visit_of(request.meta)
        asked = asked_to_wait(response, self.recrawl.clock.now())
        busy = response.status in BUSY or asked is not None
        if visit is None and not busy:
            return
        held_s = self.recrawl.heed(request.url, response.status, asked)
        if held_s and busy:
            self._spider_stats.count("holds")
        if visit is not None:
            visit.downloaded = True

    def _response_received(self, response: Response, request: Request, spider: Spider) -> None:
        """After all middlewares: what is on its way to the spider."""
        visit = visit_of(request.meta)
        if visit is None or not self._visits.is_live(visit):
            return
        visit.answered = True
        if response.status == NOT_MODIFIED and self._conditional and not wants(request, self.spider, NOT_MODIFIED):
            # There is nothing for the spider in it, and nothing is wrong either.
            request.meta["handle_httpstatus_list"] = [NOT_MODIFIED]
            request.callback = nothing
            request.cb_kwargs.clear()

    # -- maintenance

    def _maintain(self) -> None:
        """What does not have to be done at once: write, look for the lost, follow edits."""
        if not self._opened:
            return
        self._maintenance.set(MAINTENANCE_S if self._engaged else REFRESH_S)
        try:
            if self._writing is not None and self._writing.done():
                writing, self._writing = self._writing, None
                writing.result()
                self._stuck = False
            self._visits.report_lost()
            now = time.monotonic()
            if now - self._refreshed >= REFRESH_S:
                self._refreshed = now
                if self.recrawl.refresh() and len(self.recrawl):
                    self._engage()
                if self._engaged:
                    self._spider_stats.sum_up(self.recrawl)
                self._set_alarm()
        except StoreError as error:
            self._stuck = True
            self._spider_stats.warn_once(
                str(error), "recrawl: no visits until the store can be written again: %s", error
            )
        if self._writing is None and self.recrawl.unwritten:
            self._writing = self._writer.submit(self.recrawl.flush)


class RecrawlAddon:
    """The same as an add-on, for those who like to have all in the settings:
    ``ADDONS = {"recrawl.integrations.scrapy.RecrawlAddon": 300}``."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Choose the scheduler and its middleware, unless the project chose otherwise."""
        settings.set("SCHEDULER", RecrawlScheduler, "addon")
        middlewares = settings["SPIDER_MIDDLEWARES"]
        if RecrawlSpiderMiddleware not in middlewares:
            middlewares[RecrawlSpiderMiddleware] = 990
