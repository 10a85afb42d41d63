"""The visits under way, and how each ends, once: with the output of a callback, an exception in it, a failure before
it, or as lost.

The spider middleware sees every answer that reaches a callback. Everything that goes wrong before (no answer,
robots.txt, too many redirects, a status that is no success) ends in the errback of the request, so every visit carries
one, which does what the spider's own would do.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.python.failure import Failure

from recrawl.integrations.scrapy.conditional_requests import GONE, NOT_MODIFIED, answer_of, ask_plainly
from recrawl.integrations.scrapy.spider_stats import SpiderStats
from recrawl.integrations.scrapy.visits import VISIT, Visit, digest_of, visit_of
from recrawl.scheduler import Scheduler


class LiveVisits:
    """Visits by key, as long as a request carries them.

    Parameters
        conditional: whether validators are kept
        raw: whether pages are compared byte by byte
        ended: called after each
    """

    def __init__(
        self, recrawl: Scheduler, spider_stats: SpiderStats, *, conditional: bool, raw: bool, ended: Callable[[], None]
    ) -> None:
        self._recrawl, self._spider_stats, self._conditional, self._raw = recrawl, spider_stats, conditional, raw
        self._ended = ended
        self._visits: dict[str, weakref.ref[Visit]] = {}
        self._lost: deque[str] = deque()

    def begin(self, visit: Visit) -> None:
        """A source was handed out."""
        key = visit.key
        self._visits[key] = weakref.ref(visit, lambda _: self._lost.append(key))
        self._spider_stats.count("visits")
        self._spider_stats.count("revisits", int(visit.revisit))

    def is_live(self, visit: Visit) -> bool:
        """Whether it has not ended."""
        there = self._visits.get(visit.key)
        return there is not None and there() is visit

    def give_up(self) -> None:
        """All are given back with the scheduler."""
        self._spider_stats.count("released", len(self._visits))
        self._visits.clear()

    def ended(self, visit: Visit, response: Response) -> None:
        """A callback is through with an answer; unless it asked for the same again, that is the end of the visit."""
        if not self.is_live(visit) or not visit.answered:
            return
        told, status, trouble = visit.observation, response.status, visit.trouble
        if trouble is not None:
            self.fail(visit, f"the callback failed: {type(trouble).__name__}: {trouble}", response)
        elif "cached" in response.flags and not visit.downloaded:
            self.fail(visit, "answered by Scrapy's HTTP cache: the server was not asked", response)
        elif told is not None:
            self._succeed(visit, response, changed=told.changed, new=told.new, listed=told.listed)
        elif status == NOT_MODIFIED:
            self._succeed(visit, response)
        elif 200 <= status < 300:
            self._succeed(visit, response, digest=digest_of(response, self._raw))
        else:
            self.fail(visit, f"HTTP status {status}", response)

    def failed(self, visit: Visit, failure: Failure) -> None:
        """Nothing reached the callback."""
        if not self.is_live(visit):
            return
        error, response = failure.value, None
        reason = f"{type(error).__name__}: {error}".strip(": ")
        if isinstance(error, HttpError):
            response = error.response
            reason = f"HTTP status {response.status}"
        refused = isinstance(error, IgnoreRequest) and not isinstance(error, HttpError)
        self.fail(visit, reason, response, refused=refused)

    def _succeed(self, visit: Visit, response: Response, **told: Any) -> None:
        crawl = self._recrawl.report(visit.key, answer=answer_of(visit, response, self._conditional), **told)
        self._finish(visit.key, crawl.outcome)
        if crawl.outcome != "first":
            self._spider_stats.count("found", crawl.new)
            self._spider_stats.count("captured", crawl.captured)

    def fail(
        self,
        visit: Visit,
        error: str,
        response: Response | None = None,
        hold_s: float | None = None,
        refused: bool = False,
    ) -> None:
        """It brought nothing."""
        gone = response is not None and response.status == GONE
        answer = answer_of(visit, response, self._conditional)
        self._recrawl.report(
            visit.key, failed=True, refused=refused, gone=gone, error=error[:500], hold=hold_s, answer=answer
        )
        self._finish(visit.key, "failed")

    def report_lost(self) -> None:
        """No request carries these any more, and nobody said how they ended: a middleware swallowed them."""
        while self._lost:
            key = self._lost.popleft()
            there = self._visits.get(key)
            if there is not None and there() is None:
                del self._visits[key]  # first: it is known here no more, also where the report fails
                error = "lost: its request vanished without an answer or an error"
                self._recrawl.report(key, failed=True, error=error)
                self._count_end("lost")

    def _finish(self, key: str, outcome: str) -> None:
        del self._visits[key]
        self._count_end(outcome)

    def _count_end(self, outcome: str) -> None:
        self._spider_stats.count(outcome)
        self._ended()


class RecrawlSpiderMiddleware:
    """Tells the scheduler when a callback is through. The scheduler installs it where the settings do not."""

    def __init__(self) -> None:
        self.watcher: LiveVisits | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy's way to make one."""
        return cls()

    def process_spider_output(self, response: Response, result: Iterable[Any], spider: Any = None) -> Iterator[Any]:
        """Pass everything on, and notice the end."""
        visit = self._begin(response)
        yield from result
        self._end(visit, response)

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        """The same for callbacks that are asynchronous."""
        visit = self._begin(response)
        async for each in result:
            yield each
        self._end(visit, response)

    def process_spider_exception(self, response: Response, exception: Exception, spider: Any = None) -> None:
        """A callback failed: at once, or while its output is being read, whose end is then still to come."""
        visit = visit_of(response.meta)
        if visit is not None:
            visit.trouble = exception
            if not visit.watched:
                self._end(visit, response)

    def _begin(self, response: Response) -> Visit | None:
        visit = visit_of(response.meta)
        if visit is not None:
            visit.watched = True
        return visit

    def _end(self, visit: Visit | None, response: Response) -> None:
        if visit is not None:
            visit.watched = False
            if self.watcher is not None:
                self.watcher.ended(visit, response)


class Errback:
    """The errback of a visit: tells the scheduler, then does what the request's own one does, or what none does."""

    def __init__(self, watcher: LiveVisits, own: Callable[[Failure], Any] | None) -> None:
        self.watcher, self.own = watcher, own

    def __call__(self, failure: Failure) -> Any:
        """Scrapy calls it with the request as an attribute of the failure."""
        visit = visit_of(failure.request.meta)  # type: ignore[attr-defined]
        if visit is not None:
            self.watcher.failed(visit, failure)
        return failure if self.own is None else self.own(failure)


def separate(request: Request) -> None:
    """A request made from one of a visit has nothing to do with it."""
    del request.meta[VISIT]
    if isinstance(request.errback, Errback):
        request.errback = request.errback.own
    ask_plainly(request)
