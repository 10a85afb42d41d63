"""One request of a source under way.

A visit travels in the `meta` of its request, and so into every copy that redirects and retries make of it. Nobody but
these requests holds it: when the last of them is gone, so is the visit, and its scheduler knows that it was lost,
whatever became of it. Its requests beyond the first are paid for apart, redirects and robots.txt among them.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, cast

from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.utils.httpobj import urlparse_cached

from recrawl.arguments import flag, moment, several, whole
from recrawl.crawl.reading.findings import UnreadableError
from recrawl.crawl.reading.pages import read_page
from recrawl.errors import ParameterError
from recrawl.scheduler import Scheduler

VISIT = "recrawl_visit"
TIMES = "a list of times, each in Unix seconds or a datetime"
Moment = float | datetime


@dataclass(frozen=True, slots=True)
class Observation:
    """What a callback says about a response, as :meth:`recrawl.scheduler.Scheduler.report` takes it."""

    changed: bool | None = None
    new: int = 0
    listed: Sequence[tuple[str, float | None]] | None = None


class Visit:
    """Of one source, from the moment it is due until it has ended.

    Parameters
        key: of the source
        url: of its first request
        revisit: whether there was an answer before
        due: when it could be made at the earliest, by the monotonic clock

    `owed` is what has to be paid before the next request leaves, `requests` counts those that left, `answered` is
    whether an answer is on its way to the spider, `downloaded` whether the network brought it, `watched` whether the
    output of the callback is being read, `trouble` is what the callback raised.
    """

    def __init__(self, key: str, url: str, revisit: bool, due: float) -> None:
        self.key, self.url, self.revisit, self.due = key, url, revisit, due
        self.owed, self.requests, self.began = 0.0, 0, time.monotonic()
        self.answered = self.downloaded = self.watched = self.paid = False
        self.trouble: BaseException | None = None
        self.observation: Observation | None = None

    def __copy__(self) -> Visit:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Visit:
        return self  # whoever copies the meta of a response goes on with the same visit

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (self.key,)  # a visit does not outlive its process


def visit_of(meta: dict[str, Any]) -> Visit | None:
    """The visit a request or response belongs to, by its `meta`."""
    visit = meta.get(VISIT)
    return visit if isinstance(visit, Visit) else None


def recrawl_observation(
    response: Response,
    *,
    published: Iterable[Moment] | None = None,
    ids: Iterable[str] | None = None,
    new: int | None = None,
    changed: bool | None = None,
) -> None:
    """Say, in a callback, what a response of a source brought, so that recrawl need not go by a digest.

    Parameters
        published: publication times of all items listed, Unix seconds or datetimes (UTC where they do not say)
        ids: names of all items listed, in the order of `published` where both are given; without them an item is told
            from others by its publication time
        new: how many items are new, where the spider knows
        changed: whether the page says something else than last time

    Which of the listed items are new is found out by what was listed last time. Say it every time or never: a source is
    either something that lists items or a page. For responses of requests that are no sources nothing happens.
    """
    visit = visit_of(response.meta)
    if visit is None:
        return
    changed = None if changed is None else flag("changed", changed)
    new = None if new is None else whole("new", new)
    times = (
        None
        if published is None
        else [moment("published", each, (place,)) for place, each in enumerate(several("published", published, TIMES))]
    )
    names = None if ids is None else [str(name) for name in several("ids", ids, "a list of names")]
    if times is not None and names is not None and len(times) != len(names):
        raise ParameterError("ids", f"one per publication time ({len(times)})", f"{len(names)} ids")
    listed: list[tuple[str, float | None]] | None = None
    if names is not None:
        listed = [(name, None if times is None else times[place]) for place, name in enumerate(names)]
    elif times is not None:
        listed = _named(times)
    elif new == 0:
        listed = None if changed is not None else []
    visit.observation = Observation(changed=changed, new=new or 0, listed=listed)


def _named(times: Sequence[float]) -> list[tuple[str, float | None]]:
    """Times as names; those that occur more than once with their count."""
    seen: Counter[str] = Counter()
    named: list[tuple[str, float | None]] = []
    for time_s in times:
        name = str(time_s)
        seen[name] += 1
        named.append((f"{name}#{seen[name]}" if seen[name] > 1 else name, time_s))
    return named


def digest_of(response: Response, raw: bool = False) -> str:
    """Of what a page says, as `recrawl run` takes it; of the body where it is no page, or with `raw`."""
    if not raw and isinstance(response, HtmlResponse):
        try:
            return read_page(response.text.encode("utf-8", "replace"), response.url, time.time()).digest
        except UnreadableError:
            pass
    return blake2b(response.body, digest_size=16).hexdigest()


class Payments:
    """Redirects, retries and robots.txt are paid for like every request, in the order they came."""

    def __init__(self, recrawl: Scheduler, obeys_robots: bool) -> None:
        self._recrawl, self._obeys_robots = recrawl, obeys_robots
        self._robots_paid: set[str] = set()
        self.waiting: deque[Request] = deque()

    def robots_cost(self, request: Request) -> float:
        """What is to be paid for robots.txt, which Scrapy fetches with the first request to a host."""
        host = urlparse_cached(request).netloc
        if not self._obeys_robots or request.meta.get("dont_obey_robotstxt") or host in self._robots_paid:
            return 0.0
        self._robots_paid.add(host)
        return 1.0

    def pay(self, request: Request) -> Request | None:
        """The request if it is paid for; if not, it waits until it can be."""
        visit = cast(Visit, request.meta[VISIT])
        first = bool(self.waiting) and self.waiting[0] is request
        if visit.owed and not self._recrawl.spend(visit.owed):
            if not first:
                self.waiting.append(request)
            return None
        if first:
            self.waiting.popleft()
        visit.owed, visit.paid = 0.0, True
        return request

    def pay_in_turn(self, request: Request) -> bool:
        """Whether it is paid for at once: those that wait go first."""
        if not self.waiting:
            return self.pay(request) is not None
        if request not in self.waiting:
            self.waiting.append(request)
        return False

    def wait_s(self) -> float:
        """Seconds until the first of those that wait can be paid for."""
        return self._recrawl.wait_s(cast(Visit, self.waiting[0].meta[VISIT]).owed)
