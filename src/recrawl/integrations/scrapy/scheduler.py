"""Between Scrapy's engine and recrawl's scheduler.

*Sources.* A marked request is taken in, not queued. An alarm rings when the budget allows a visit and a source is free;
the most wanted one then becomes a request and is given to `engine.crawl()`, the way spiders inject requests, which also
wakes the engine: it asks an idle scheduler only every five seconds. At most one such request waits to be fetched for,
so that the choice is made as late as can be.

*Visits.* Redirects and retries come back here with the visit in their `meta`. They are paid for like every request, and
go before new visits. Every visit is settled once: by what its callback brought, by a failure, or as lost when no
request carries it any more. Until it is, its source is not handed out again.

*Everything else* is :class:`scrapy.core.scheduler.Scheduler`.
"""

from __future__ import annotations

import logging
import math
import time
import weakref
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self, cast

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import Scheduler as ScrapyScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.httpobj import urlparse_cached
from twisted.python.failure import Failure

from recrawl.clock import Clock
from recrawl.errors import ParameterError, RecrawlError, StoreError
from recrawl.integrations.scrapy.exchange import (
    BUSY,
    GONE,
    NOT_MODIFIED,
    answer_of,
    ask_conditionally,
    ask_plainly,
    asked_to_wait,
    nothing,
    separate,
    wants,
)
from recrawl.integrations.scrapy.marks import FORGOTTEN, MARK, key_of, memo_of, read_mark, request_of
from recrawl.integrations.scrapy.options import check_names, choice, make_scheduler, switch
from recrawl.integrations.scrapy.visits import VISIT, Visit, digest_of, visit_of
from recrawl.integrations.scrapy.waking import Alarm
from recrawl.integrations.scrapy.watching import Errback, RecrawlSpiderMiddleware
from recrawl.redaction import without_credentials
from recrawl.scheduler import Scheduler

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

logger = logging.getLogger(__name__)
CHORES_S = 0.25
"""Time between two writes to the store, and two looks for visits that got lost."""
REFRESH_S = 2.0
"""Time between two looks at what others edited in the store."""
GATHER_S, GATHER = 0.05, 500
"""Marked requests are taken in together: so many, or what came in so long."""
FORGOTTEN_S = 60.0
"""How long a source waits whose request could not be kept, for the spider to yield it again."""
RECENT = 1000
"""How many visits the lag is reported of."""


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
        self._obeys_robots = settings.getbool("ROBOTSTXT_OBEY")
        self._robots_paid: set[str] = set()
        self._marked: dict[str, dict[str, Any]] = {}
        self._marked_at = 0.0
        self._templates: dict[str, Request] = {}
        self._ready: deque[Request] = deque()
        self._unpaid: deque[Request] = deque()
        self._visits: dict[str, weakref.ref[Visit]] = {}
        self._lost: deque[str] = deque()
        self._lags_s: deque[float] = deque(maxlen=RECENT)
        self._warned: set[str] = set()
        self._turn = False
        self._refreshed = 0.0
        self._alarm, self._chores = Alarm(self._wake), Alarm(self._do_chores)
        self._opened = self._engaged = self._stuck = False
        self._writing: Future[None] | None = None

    # -- life

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Open the store, and go on where it was left."""
        opened = super().open(spider)
        assert self.crawler is not None
        self.recrawl = make_scheduler(self._settings, spider, self.clock)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="recrawl-store")
        self._opened = True
        self._chores.set(REFRESH_S)
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
        self._sum_up()
        self._chores.set(CHORES_S)
        self._alarm.set(0.0)

    def close(self, reason: str) -> Deferred[None] | None:
        """Settle what is left to settle, and let others have the store."""
        if self._opened:
            self._opened = False
            self._alarm.cancel()
            self._chores.cancel()
            assert self.crawler is not None
            for receiver, signal in self._receivers() if self._engaged else ():
                self.crawler.signals.disconnect(receiver, signal=signal)
            self._count("released", len(self._visits))
            self._ready.clear()
            self._unpaid.clear()
            self._visits.clear()
            try:
                self._take_in()
            except RecrawlError as error:
                logger.error("recrawl: the last marked requests were not taken in: %s", error)
            self._sum_up()
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
        ours[0].watcher = self

    # -- the contract with the engine

    def has_pending_requests(self) -> bool:
        """A spider with sources has always something to come: it ends when it is told to."""
        return bool(self._ready or self._unpaid or self._marked or len(self.recrawl)) or super().has_pending_requests()

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
        return self._mark(request)

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

    # -- sources

    def _mark(self, request: Request) -> bool:
        try:
            key, terms = read_mark(request)
            self.recrawl.check(terms)
        except ParameterError as error:
            shown = without_credentials(str(request))
            logger.error("recrawl: %s cannot be a source and is dropped: %s", shown, error, extra=self._extra)
            self._count("refused")
            return False
        memo = memo_of(request, key, self.spider)
        if memo == FORGOTTEN:
            self._templates[key] = request
            self._warn_once(
                "forgotten",
                "recrawl: %s cannot be kept for after a restart (its callback is no method of the spider, or it "
                "carries what JSON has no word for): from then on it waits until the spider yields it again",
                request,
            )
        self._engage()
        if not self._marked:
            self._marked_at = time.monotonic()
        self._marked[key] = terms | {"memo": memo}
        self._alarm.set(GATHER_S if len(self._marked) < GATHER else 0.0)
        return True

    def _take_in(self) -> None:
        """Marked requests become sources, many in one transaction."""
        if self._marked:
            self._count("added", sum(self.recrawl.add_many(self._marked).values()))
            self._marked = {}

    # -- visits begin

    def _set_alarm(self) -> None:
        """Ring when the next visit can begin, unless one is waiting to be fetched already."""
        if not self._opened:
            return
        if self._marked:
            self._alarm.set(max(self._marked_at + GATHER_S - time.monotonic(), 0.0))
        if self._unpaid:
            self._alarm.set(self.recrawl.wait_s(_owed(self._unpaid[0])))
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
            if len(self._marked) >= GATHER or time.monotonic() >= self._marked_at + GATHER_S - 1e-3:
                self._take_in()
            request = self._next_visit()
        except StoreError as error:
            self._warn_once(str(error), "recrawl: no visits until the store can be written again: %s", error)
            self._alarm.set(REFRESH_S)
            return
        if request is not None:
            assert self.crawler is not None
            assert self.crawler.engine is not None
            self.crawler.engine.crawl(request)
        self._set_alarm()

    def _next_visit(self) -> Request | None:
        if self._unpaid:
            return self._pay(self._unpaid[0])
        if self._ready or self.recrawl.wait_s() > 0.0:
            return None
        due = min(self._alarm.rang_for, time.monotonic())
        for key in self.recrawl.due(1):
            request = self._request_for(key, due)
            if request is not None:
                return self._pay(request)
        return None

    def _pay(self, request: Request) -> Request | None:
        """The request if it is paid for; if not, it waits until it can be."""
        visit = cast(Visit, request.meta[VISIT])
        if visit.owed and not self.recrawl.spend(visit.owed):
            if not self._unpaid or self._unpaid[0] is not request:
                self._unpaid.append(request)
            return None
        if self._unpaid and self._unpaid[0] is request:
            self._unpaid.popleft()
        visit.owed, visit.paid = 0.0, True
        return request

    def _request_for(self, key: str, due: float) -> Request | None:
        """The request of a source with a visit in its meta; None, and the visit settled, if there can be none."""
        source, progress = self.recrawl.source(key), self.recrawl.progress(key)
        assert source is not None
        assert progress is not None
        try:
            template = self._templates.get(key)
            if template is None:
                if source.memo == FORGOTTEN:
                    raise ValueError("its request could not be kept: the spider has to yield it again")
                template = request_of(source.memo, key, self.spider)
        except Exception as error:
            self._warn_once(str(error), "recrawl: %s cannot be visited: %s", key, error)
            self.recrawl.report(key, failed=True, error=str(error), hold=FORGOTTEN_S)
            self._count("failed")
            return None
        visit = Visit(key, template.url, progress.last is not None, due)
        meta = {name: value for name, value in template.meta.items() if name != MARK}
        request = template.replace(
            meta=meta | {VISIT: visit}, errback=Errback(self, template.errback), dont_filter=True
        )
        if self._cached:
            request.headers.setdefault("Cache-Control", "max-age=0")
        if self._conditional:
            ask_conditionally(request, progress)
        visit.owed = self._toll(request)
        self._visits[key] = weakref.ref(visit, lambda _, key=key: self._lost.append(key))  # type: ignore[misc]
        self._count("visits")
        self._count("revisits", int(visit.revisit))
        return request

    def _toll(self, request: Request) -> float:
        """What is to be paid for robots.txt, which Scrapy fetches with the first request to a host."""
        host = urlparse_cached(request).netloc
        if not self._obeys_robots or request.meta.get("dont_obey_robotstxt") or host in self._robots_paid:
            return 0.0
        self._robots_paid.add(host)
        return 1.0

    # -- visits go on

    def _goes_on(self, request: Request) -> Visit | None:
        """The visit a request belongs to: not one that its spider made from a response, with the same meta."""
        visit = visit_of(request.meta)
        if visit is None or self._live(visit.key) is not visit:
            return None
        return visit if not visit.answered or key_of(request) == visit.key else None

    def _live(self, key: str) -> Visit | None:
        there = self._visits.get(key)
        return None if there is None else there()

    def _go_on(self, request: Request, visit: Visit) -> bool:
        """A visit begins, or goes on: redirected, or tried again."""
        if visit.paid:
            visit.paid = False
            self._ready.append(request)
            return True
        held_s = self.recrawl.held_s(request.url)
        if held_s:
            self._settle_failure(visit, "the host asked to be left alone", hold_s=held_s)
            return False
        if request.url != visit.url:
            ask_plainly(request)
        visit.answered = visit.downloaded = False
        visit.owed = 1.0 + self._toll(request)
        self._count("extra_requests")
        if self._unpaid or self._pay(request) is None:
            if request not in self._unpaid:
                self._unpaid.append(request)
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
            self._settle_failure(visit, "the host asked to be left alone", hold_s=held_s)
            return False
        if not visit.requests:
            self._lags_s.append(time.monotonic() - visit.due)
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
            self._count("holds")
        if visit is not None:
            visit.downloaded = True

    def _response_received(self, response: Response, request: Request, spider: Spider) -> None:
        """After all middlewares: what is on its way to the spider."""
        visit = visit_of(request.meta)
        if visit is None or self._live(visit.key) is not visit:
            return
        visit.answered = True
        if response.status == NOT_MODIFIED and self._conditional and not wants(request, self.spider, NOT_MODIFIED):
            # There is nothing for the spider in it, and nothing is wrong either.
            request.meta["handle_httpstatus_list"] = [NOT_MODIFIED]
            request.callback = nothing
            request.cb_kwargs.clear()

    # -- visits end

    def ended(self, visit: Visit, response: Response) -> None:
        """A callback is through with an answer; unless it asked for the same again, that is the end of the visit."""
        if self._live(visit.key) is not visit or not visit.answered:
            return
        told, status, trouble = visit.observation, response.status, visit.trouble
        if trouble is not None:
            self._settle_failure(visit, f"the callback failed: {type(trouble).__name__}: {trouble}", response)
        elif "cached" in response.flags and not visit.downloaded:
            self._settle_failure(visit, "answered by Scrapy's HTTP cache: the server was not asked", response)
        elif told is not None:
            self._settle(visit, response, changed=told.changed, new=told.new, listed=told.listed)
        elif status == NOT_MODIFIED:
            self._settle(visit, response)
        elif 200 <= status < 300:
            self._settle(visit, response, digest=digest_of(response, self._raw))
        else:
            self._settle_failure(visit, f"HTTP status {status}", response)

    def failed(self, visit: Visit, failure: Failure) -> None:
        """Nothing reached the callback."""
        if self._live(visit.key) is not visit:
            return
        error, response = failure.value, None
        reason = f"{type(error).__name__}: {error}".strip(": ")
        if isinstance(error, HttpError):
            response = error.response
            reason = f"HTTP status {response.status}"
        refused = isinstance(error, IgnoreRequest) and not isinstance(error, HttpError)
        self._settle_failure(visit, reason, response, refused=refused)

    def _settle(self, visit: Visit, response: Response, **told: Any) -> None:
        crawl = self.recrawl.report(visit.key, answer=answer_of(visit, response, self._conditional), **told)
        self._finish(visit)
        self._count(crawl.outcome)
        if crawl.outcome != "first":
            self._count("found", crawl.new)
            self._count("captured", crawl.captured)

    def _settle_failure(
        self,
        visit: Visit,
        error: str,
        response: Response | None = None,
        hold_s: float | None = None,
        refused: bool = False,
    ) -> None:
        gone = response is not None and response.status == GONE
        answer = answer_of(visit, response, self._conditional)
        self.recrawl.report(
            visit.key, failed=True, refused=refused, gone=gone, error=error[:500], hold=hold_s, answer=answer
        )
        self._finish(visit)
        self._count("failed")

    def _finish(self, visit: Visit) -> None:
        del self._visits[visit.key]
        self._set_alarm()

    # -- chores

    def _do_chores(self) -> None:
        """What does not have to be done at once: write, look for the lost, follow edits."""
        if not self._opened:
            return
        self._chores.set(CHORES_S if self._engaged else REFRESH_S)
        try:
            if self._writing is not None and self._writing.done():
                writing, self._writing = self._writing, None
                writing.result()
                self._stuck = False
            while self._lost:
                self._report_lost(self._lost.popleft())
            now = time.monotonic()
            if now - self._refreshed >= REFRESH_S:
                self._refreshed = now
                if self.recrawl.refresh() and len(self.recrawl):
                    self._engage()
                self._sum_up()
                self._set_alarm()
        except StoreError as error:
            self._stuck = True
            self._warn_once(str(error), "recrawl: no visits until the store can be written again: %s", error)
        if self._writing is None and self.recrawl.unwritten:
            self._writing = self._writer.submit(self.recrawl.flush)

    def _sum_up(self) -> None:
        """The stats that are no counts."""
        if not self._engaged:
            return
        self._note("sources", len(self.recrawl))
        self._note("price", self.recrawl.price)
        if self._lags_s:
            lags = sorted(self._lags_s)
            self._note("lag_s/median", lags[len(lags) // 2])
            self._note("lag_s/p95", lags[min(int(0.95 * len(lags)), len(lags) - 1)])

    def _report_lost(self, key: str) -> None:
        """No request carries this visit any more, and nobody said how it ended: a middleware swallowed it."""
        there = self._visits.get(key)
        if there is not None and there() is None:
            del self._visits[key]
            self.recrawl.report(key, failed=True, error="lost: its request vanished without an answer or an error")
            self._count("lost")
            self._set_alarm()

    # -- words

    @property
    def _extra(self) -> dict[str, Any]:
        return {"spider": self.spider}

    def _count(self, name: str, amount: float = 1) -> None:
        if amount and self.stats is not None:
            self.stats.inc_value(f"recrawl/{name}", amount)  # type: ignore[arg-type]

    def _note(self, name: str, value: float) -> None:
        if self.stats is not None and not math.isnan(value):
            self.stats.set_value(f"recrawl/{name}", value)

    def _warn_once(self, about: str, message: str, *words: Any) -> None:
        if about not in self._warned:
            self._warned.add(about)
            logger.warning(message, *words, extra=self._extra)


class RecrawlAddon:
    """The same as an add-on, for those who like to have all in the settings:
    ``ADDONS = {"recrawl.integrations.scrapy.RecrawlAddon": 300}``."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Choose the scheduler and its middleware, unless the project chose otherwise."""
        settings.set("SCHEDULER", RecrawlScheduler, "addon")
        middlewares = settings["SPIDER_MIDDLEWARES"]
        if RecrawlSpiderMiddleware not in middlewares:
            middlewares[RecrawlSpiderMiddleware] = 990


def _owed(request: Request) -> float:
    return cast(Visit, request.meta[VISIT]).owed
