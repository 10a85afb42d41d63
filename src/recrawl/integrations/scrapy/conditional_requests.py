"""What is asked and what is answered: validators, statuses, and what is kept of an exchange."""

from __future__ import annotations

import time

from scrapy import Request, Spider
from scrapy.http import Response

from recrawl.crawl.fetching.retry_after import retry_after
from recrawl.crawl.fetching.transport import usable_validator
from recrawl.crawl.reports import Answer
from recrawl.integrations.scrapy.visits import Visit
from recrawl.store.records import Progress

NOT_MODIFIED, GONE, BUSY = 304, 410, (429, 503)
VALIDATORS = (("If-None-Match", "etag"), ("If-Modified-Since", "modified"))


def ask_conditionally(request: Request, progress: Progress) -> None:
    """Send what the server said to tell its versions apart, unless the spider does so itself."""
    for name, kept in VALIDATORS:
        if (validator := usable_validator(getattr(progress, kept))) and name not in request.headers:
            request.headers[name] = validator


def ask_plainly(request: Request) -> None:
    """Another address has other versions."""
    for name, _ in VALIDATORS:
        request.headers.pop(name, None)


def answer_of(visit: Visit, response: Response | None, conditional: bool) -> Answer:
    """What is kept of the requests of a visit; validators only where they are those of the source's own address."""
    taken_s, requests = time.monotonic() - visit.began, max(visit.requests, 1)
    if response is None:
        return Answer(requests=requests, elapsed_s=taken_s)
    own = conditional and response.request is not None and response.request.url == visit.url
    return Answer(
        status=response.status,
        size=len(response.body),
        elapsed_s=taken_s,
        requests=requests,
        etag=_header(response, "ETag") if own else "",
        modified=_header(response, "Last-Modified") if own else "",
        revalidated=response.status == NOT_MODIFIED,
    )


def asked_to_wait(response: Response, now: float) -> str | None:
    """The Retry-After of an answer, or what amounts to one."""
    headers = {name.decode("latin-1").lower(): _header(response, name.decode("latin-1")) for name in response.headers}
    return retry_after(response.status, headers, now)


def wants(request: Request, spider: Spider, status: int) -> bool:
    """Whether the spider handles a status itself."""
    meta = request.meta
    if meta.get("handle_httpstatus_all"):
        return True
    return status in meta.get("handle_httpstatus_list", getattr(spider, "handle_httpstatus_list", ()))


def nothing(response: Response) -> None:
    """The callback of an answer that says nothing new."""


def _header(response: Response, name: str) -> str:
    value = response.headers.get(name)
    return "" if value is None else value.decode("latin-1")
