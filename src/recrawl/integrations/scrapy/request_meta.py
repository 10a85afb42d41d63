"""What a mark says, requests as text, and those that wait to become sources.

A mark is ``meta={"recrawl": True}``, or a dictionary of terms instead of True. The request of a source is kept as JSON
with its callbacks by name, as Scrapy does in its job directory; what JSON does not give back as it was is not kept.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import msgspec
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from recrawl.arguments import meant, shown
from recrawl.crawl import urls
from recrawl.errors import ParameterError
from recrawl.integrations.scrapy.spider_stats import SpiderStats
from recrawl.redaction import without_credentials
from recrawl.scheduler import Scheduler
from recrawl.store.records import Source

MARK = "recrawl"
TERMS = ("importance", "half_life", "max_age", "cost", "tags")
FORGOTTEN = '{"forgotten":true}'
"""The memo of a request that could not be written down."""
GATHER_S, GATHER = 0.05, 500
"""Marked requests are added together: so many, or what came in so long."""
_DEFAULTS: dict[str, Any] = {
    "method": "GET",
    "headers": {},
    "body": b"",
    "cookies": {},
    "meta": {},
    "encoding": "utf-8",
    "priority": 0,
    "dont_filter": False,
    "errback": None,
    "callback": None,
    "flags": [],
    "cb_kwargs": {},
}


class Mark(NamedTuple):
    """The key of a marked request, and the terms given with it."""

    key: str
    terms: dict[str, Any]


def read_mark(request: Request) -> Mark:
    """What a marked request says; ParameterError if it cannot be a source."""
    said = request.meta[MARK]
    if request.method != "GET" or request.body:
        raise ParameterError("method", "GET without a body: only that can be repeated at will", request.method)
    if said is not True and not isinstance(said, dict):
        raise ParameterError(f"meta[{MARK!r}]", "True or a dictionary of terms", shown(said))
    terms = {} if said is True else dict(said)
    for name in terms:
        if name not in TERMS:
            expected = f"some of {', '.join(TERMS)}"
            raise ParameterError(f"meta[{MARK!r}]", expected, shown(name) + meant(name, TERMS))
    return Mark(urls.normalise(request.url), terms)


def key_of(request: Request) -> str | None:
    """The key a request would have; None for one that can have none."""
    try:
        return urls.normalise(request.url)
    except ParameterError:
        return None


def memo_of(request: Request, key: str, spider: Spider) -> str:
    """All that is needed to make a request again; `FORGOTTEN` if it cannot be written down."""
    try:
        said = request.to_dict(spider=spider)
    except ValueError:  # a callback that is no method of the spider
        return FORGOTTEN
    said["headers"] = {_text(name): [_text(each) for each in values] for name, values in said["headers"].items()}
    said["meta"] = {name: value for name, value in said["meta"].items() if name != MARK}
    kept = {name: value for name, value in said.items() if _DEFAULTS.get(name, _DEFAULTS) != value}
    if kept.get("url") == key:
        del kept["url"]
    try:
        text = msgspec.json.encode(kept)
        if msgspec.json.decode(text) != kept:
            return FORGOTTEN
    except (TypeError, ValueError, RecursionError):
        return FORGOTTEN
    return text.decode()


def request_of(memo: str, key: str, spider: Spider) -> Request:
    """The request again; ValueError if the spider has no such callback. Without a memo, what `parse` is to be given."""
    said: dict[str, Any] = {"url": key, **(msgspec.json.decode(memo) if memo else {})}
    return request_from_dict(said, spider=spider)


def _text(name: Any) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else str(name)


class MarkedRequests:
    """Of one spider. Requests that cannot be kept in the store are kept here."""

    def __init__(self, recrawl: Scheduler, spider: Spider, spider_stats: SpiderStats) -> None:
        self._recrawl, self._spider, self._spider_stats = recrawl, spider, spider_stats
        self._waiting: dict[str, dict[str, Any]] = {}
        self._since = 0.0
        self._templates: dict[str, Request] = {}

    def __len__(self) -> int:
        """How many are to be added."""
        return len(self._waiting)

    def collect(self, request: Request) -> bool:
        """Whether it can be a source; it is added with the others then."""
        try:
            key, terms = read_mark(request)
            self._recrawl.check(terms)
        except ParameterError as error:
            shown = without_credentials(str(request))
            self._spider_stats.error("recrawl: %s cannot be a source and is dropped: %s", shown, error)
            self._spider_stats.count("refused")
            return False
        memo = memo_of(request, key, self._spider)
        if memo == FORGOTTEN:
            self._templates[key] = request
            self._spider_stats.warn_once(
                "forgotten",
                "recrawl: %s cannot be kept for after a restart (its callback is no method of the spider, or it "
                "carries what JSON has no word for): from then on it waits until the spider yields it again",
                request,
            )
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting[key] = terms | {"memo": memo}
        return True

    def wait_s(self) -> float:
        """Seconds until those that were collected are to be added; inf if there are none."""
        if not self._waiting:
            return math.inf
        return 0.0 if len(self._waiting) >= GATHER else max(self._since + GATHER_S - time.monotonic(), 0.0)

    def add_all(self) -> None:
        """Make sources of those that were collected."""
        if self._waiting:
            self._spider_stats.count("added", sum(self._recrawl.add_many(self._waiting).values()))
            self._waiting = {}

    def request(self, source: Source) -> Request:
        """The request of a source again; ValueError if there is none, or the spider has no such callback."""
        template = self._templates.get(source.url)
        if template is not None:
            return template
        if source.memo == FORGOTTEN:
            raise ValueError("its request could not be kept: the spider has to yield it again")
        return request_of(source.memo, source.url, self._spider)
