"""How visits end: with the output of a callback, an exception in it, or a failure before it.

The spider middleware sees every answer that reaches a callback. Everything that goes wrong before (no answer,
robots.txt, too many redirects, a status that is no success) ends in the errback of the request, so every visit carries
one, which does what the spider's own would do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Protocol, Self

from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from recrawl.integrations.scrapy.visits import Visit, visit_of


class Watcher(Protocol):
    """Who wants to know how visits end."""

    def ended(self, visit: Visit, response: Response) -> None:
        """A callback is through with an answer."""
        ...

    def failed(self, visit: Visit, failure: Failure) -> None:
        """There was no answer for the callback."""
        ...


class RecrawlSpiderMiddleware:
    """Tells the scheduler when a callback is through. The scheduler installs it where the settings do not."""

    def __init__(self) -> None:
        self.watcher: Watcher | None = None

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

    def __init__(self, watcher: Watcher, own: Callable[[Failure], Any] | None) -> None:
        self.watcher, self.own = watcher, own

    def __call__(self, failure: Failure) -> Any:
        """Scrapy calls it with the request as an attribute of the failure."""
        visit = visit_of(failure.request.meta)  # type: ignore[attr-defined]
        if visit is not None:
            self.watcher.failed(visit, failure)
        return failure if self.own is None else self.own(failure)
