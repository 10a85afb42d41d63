"""A Scrapy without a network: an engine that does nothing but pass requests, and a clock that is moved by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

scrapy = pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install 'recrawl[scrapy]'")

from scrapy import Request, Spider, signals  # noqa: E402
from scrapy.http import HtmlResponse, Response  # noqa: E402
from scrapy.utils.test import get_crawler  # noqa: E402
from twisted.python.failure import Failure  # noqa: E402

from recrawl.clock import ManualClock  # noqa: E402
from recrawl.integrations.scrapy import RecrawlScheduler, request_meta, timer  # noqa: E402


class Watching(Spider):
    """A spider with callbacks to name."""

    name = "watching"
    custom_settings = {"LOG_ENABLED": False}  # noqa: RUF012

    def parse(self, response: Any) -> None: ...

    def parse_feed(self, response: Any) -> None: ...

    def complain(self, failure: Any) -> None: ...


class FakeEngine:
    """A scheduler as the engine sees it."""

    def __init__(self, folder: Path, clock: ManualClock, **settings: Any) -> None:
        self.clock = clock
        self.dropped: list[Request] = []
        options = {"RECRAWL_STORE": str(folder / "%(name)s.db"), "RECRAWL_BUDGET": "1/s", "RECRAWL_BURST": 5} | settings
        self.crawler = get_crawler(Watching, options)
        self.crawler.spider = Watching.from_crawler(self.crawler)
        self.spider = self.crawler.spider
        manager = SimpleNamespace(middlewares=(), _add_middleware=lambda middleware: None)
        self.crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            crawl=self.crawl,
            scraper=SimpleNamespace(spidermw=manager),
            downloader=SimpleNamespace(slots={}, get_slot_key=lambda request: request.url.split("/")[2]),
        )
        self.scheduler = RecrawlScheduler.from_crawler(self.crawler)
        self.scheduler.clock = clock
        self.scheduler.open(self.spider)
        self.manager = manager

    @property
    def middleware(self) -> Any:
        (middleware,) = self.manager.middlewares
        return middleware

    def crawl(self, request: Request) -> bool:
        taken = self.scheduler.enqueue_request(request)
        if not taken:
            self.dropped.append(request)
        return taken

    def mark(self, url: str, said: Any = True, **more: Any) -> bool:
        return self.crawl(Request(url, meta={"recrawl": said}, **more))

    def wake(self, seconds: float = 0.0) -> None:
        """Let time pass, and the alarm ring."""
        self.clock.advance(seconds)
        self.scheduler._wake()

    def next(self, seconds: float = 1.0) -> Request:
        """The next request within so many seconds; there must be one."""
        self.wake(seconds)
        request = self.scheduler.next_request()
        assert request is not None
        return request

    def download(self, request: Request, status: int = 200, body: bytes = b"<p>page</p>", **more: Any) -> Response:
        """What the network brings."""
        response = HtmlResponse(request.url, status=status, body=body, request=request, **more)
        self.crawler.signals.send_catch_log(
            signals.response_downloaded, response=response, request=request, spider=self.spider
        )
        return response

    def receive(self, response: Response, callback: Callable[[Any], Any] = lambda response: []) -> Response:
        """What the middlewares leave of it goes to the callback."""
        self.crawler.signals.send_catch_log(
            signals.response_received, response=response, request=response.request, spider=self.spider
        )
        list(self.middleware.process_spider_output(response, callback(response) or []))
        return response

    def answer(self, request: Request, status: int = 200, body: bytes = b"<p>page</p>", **more: Any) -> Response:
        return self.receive(self.download(request, status, body, **more))

    def fail(self, request: Request, error: Exception) -> Any:
        failure = Failure(error)
        failure.request = request  # type: ignore[attr-defined]
        assert request.errback is not None
        return request.errback(failure)

    def outcomes(self) -> list[tuple[str, str]]:
        self.scheduler.recrawl.flush()
        return [(crawl.outcome, crawl.error) for crawl in reversed(self.scheduler.recrawl._store.crawls())]

    def stat(self, name: str) -> Any:
        return self.crawler.stats.get_value(f"recrawl/{name}", 0)  # type: ignore[union-attr]

    def close(self) -> None:
        if self.scheduler._opened:
            self.scheduler.close("finished")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_700_000_000.0)


@pytest.fixture
def make(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeEngine]]:
    """Engines over one store, one after the other; alarms never ring by themselves."""
    silent = SimpleNamespace(cancel=lambda: None)
    monkeypatch.setattr(timer, "call_later", lambda delay_s, function: silent)
    monkeypatch.setattr(request_meta, "GATHER_S", 0.0)
    opened: list[FakeEngine] = []

    def make(**settings: Any) -> FakeEngine:
        opened.append(FakeEngine(tmp_path, clock, **settings))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def engine(make: Callable[..., FakeEngine]) -> FakeEngine:
    return make()
