"""Carries one visit through: as many requests as it takes, each of them polite, paid for and allowed.

A visit may need more than one request: the site's robots.txt first, then wherever redirects lead, which may be another
host with a robots.txt of its own. Each request, whichever it is,

1. is allowed by the robots.txt of its own host (`robots`), robots.txt itself apart;
2. waits for its host's turn (`politeness`): one visit never gets more than the host's delay allows;
3. borrows that turn, too, where another crawler is responsible for the host (`borrowed_turns`);
4. is paid for beyond the `prepaid` ones (`request_budget`): robots.txt and redirects spend budget too;
5. passes the transport's rules on schemes and addresses, and its permit (`http_transport`).

A request counts, and costs, when something was sent for it, were it only to find that nobody answers.

What belongs to the source's owner (its headers, credentials among them) is sent to the source's own origin and nowhere
else. The fetcher retries nothing and reads nothing; it always comes back, with a :class:`FetchResult` that says what
happened.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from recrawl.clock import Clock
from recrawl.config import Fetching
from recrawl.config.page_secrets import with_secrets
from recrawl.crawl import urls
from recrawl.crawl.fetching.answer_limits import MemoryShare
from recrawl.crawl.fetching.borrowed_turns import BorrowedTurn, HostOwners, NoTurnError, TurnLender
from recrawl.crawl.fetching.http_transport import authorisation, without_userinfo
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.retry_after import retry_after
from recrawl.crawl.fetching.robots import MAX_TEXT_BYTES, RobotsCache, Rules
from recrawl.crawl.fetching.transport import (
    FALTERING,
    UNREACHABLE,
    UNSENT,
    Request,
    Response,
    Transport,
    TransportError,
)
from recrawl.crawl.request_budget import NoBudget, RequestBudget
from recrawl.store.records import Hold, Robots

MAX_WAIT_S = 30.0
"""For the turn of a host; whoever would wait longer comes back later."""
SOON_S = 30.0
"""When to come back if nobody knows better."""
ROBOTS_REDIRECTS = 5
"""[RFC 9309, 2.3.1.2]"""
LARGE_ROBOTS_BYTES = 32_768
"""Files larger than this are parsed in another thread."""
PERMANENT = (301, 308)
REDIRECTS, KEEPING = (301, 302, 303, 307, 308), (307, 308)
FORM_ANSWER_BYTES = 4096
_ORIGIN = re.compile(r"https?://[^/?#]+", re.IGNORECASE)


@dataclass(slots=True)
class FetchResult:
    """A visit under way, and what came of it: an answer, a refusal or an error.

    Parameters
        response: the last answer, after redirects; its status may be anything
        final_url: where it came from
        requests: how many were made, robots.txt and redirects included; refused ones were not
        moved_to: where the permanent redirects (301, 308) at the start of the way lead, if an answer came of it
        refused: why it was not to be fetched, in words: robots.txt, address, scheme, permit, a host that has to wait
        error: why there is no usable answer, in words
        reason: the same in one word, for counting
        retry_at: when asking again makes sense, Unix seconds; 0 if that is not known
        host_held_until: when the hold ends under which its host is now, Unix seconds; 0 for none
        paid: how many requests are paid for
        memory: where memory for large answers is asked for
        form: what is sent there, if it is not only asked for
    """

    response: Response | None
    final_url: str
    requests: int = 0
    moved_to: str = ""
    refused: str = ""
    error: str = ""
    reason: str = ""
    retry_at: float = 0.0
    host_held_until: float = 0.0
    paid: int = field(default=1, repr=False, compare=False)
    memory: MemoryShare | None = field(default=None, repr=False, compare=False)
    form: bytes | None = field(default=None, repr=False, compare=False)


class _StoppedError(Exception):
    """The visit ends here without an answer; why goes into its result."""

    def __init__(self, *, refused: str = "", error: str = "", reason: str = "", retry_at: float = 0.0) -> None:
        self.refused, self.error, self.reason, self.retry_at = refused, error, reason, retry_at
        super().__init__(refused or error)


class Fetcher:
    """Makes visits; any number at a time.

    Parameters
        max_wait_s: for the turn of a host
        obey_robots: False only for sites of one's own
        owners: which hosts are another crawler's; None if all are this one's
        turn_changed: told of an URL whenever the turn of its host is lent or comes back
    """

    def __init__(
        self,
        transport: Transport,
        robots: RobotsCache,
        slots: HostSlots,
        request_budget: RequestBudget | NoBudget,
        clock: Clock,
        fetching: Fetching,
        *,
        obey_robots: bool = True,
        max_wait_s: float = MAX_WAIT_S,
        owners: HostOwners | None = None,
        turn_changed: Callable[[str], None] = lambda url: None,
    ) -> None:
        self._transport, self._robots, self._slots = transport, robots, slots
        self._request_budget, self._clock = request_budget, clock
        self._max_redirects, self._max_bytes = fetching.max_redirects, fetching.max_size_bytes
        self._obey_robots, self._max_wait_s, self._owners = obey_robots, max_wait_s, owners
        self.lender = TurnLender(self, slots, owners, clock, fetching.timeout_s, turn_changed)
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._asking: dict[str, asyncio.Future[None]] = {}

    async def visit(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        conditional: Mapping[str, str] | None = None,
        prepaid: int = 1,
        memory: MemoryShare | None = None,
        robots: bool | None = None,
        form: bytes | None = None,
    ) -> FetchResult:
        """Fetch a document.

        Parameters
            headers: for the origin of `url` alone
            conditional: If-None-Match and If-Modified-Since, sent all the way
            prepaid: requests already paid for
            memory: where memory for large answers is asked for; the last one's is the caller's to give back
            robots: whether robots.txt is obeyed; by default as for all
            form: sent there, where no document is asked for; only redirects that keep it (307, 308) are followed, and
                none from https to http: forms hold secrets
        """
        own: Mapping[str, str] = headers or {}
        credentials = authorisation(url)
        if credentials is not None:
            own = {"Authorization": credentials, **own}
        visit = FetchResult(None, without_userinfo(url), paid=prepaid, memory=memory, form=form)
        try:
            own, obeys_robots = _filled_in(own), self._obey_robots if robots is None else robots
            visit.response = await self._follow(visit, own, conditional or {}, obeys_robots)
        except _StoppedError as stop:
            visit.refused, visit.error = stop.refused, stop.error
            visit.reason, visit.retry_at = stop.reason, stop.retry_at
            if visit.paid > max(visit.requests, prepaid):
                self._request_budget.give_back(visit.paid - max(visit.requests, prepaid))
        if visit.response is None or visit.response.status >= 400:
            visit.moved_to = ""
        visit.host_held_until = self._slots.held(self._slots.key_of(visit.final_url), self._clock.now())[0]
        return visit

    def drain_holds(self) -> list[Hold]:
        """Holds to be stored, those of other crawlers' hosts among them: they may have become ours."""
        return self._slots.drain_holds()

    def drain_robots(self) -> list[Robots]:
        """Copies of robots.txt to be stored."""
        return self._robots.drain()

    def forget_rules(self, origin: str) -> None:
        """Have the robots.txt of an origin read anew."""
        self._robots.expire(origin)

    async def close(self) -> None:
        """Give back connections."""
        self.lender.close()
        await self._transport.close()

    def in_use(self) -> list[str]:
        """What politeness calls hosts, of those whose turn a visit has now: one of our own, or somebody else's."""
        return self._slots.in_use()

    # -- the way

    async def _follow(
        self, visit: FetchResult, own: Mapping[str, str], conditional: Mapping[str, str], obeys_robots: bool
    ) -> Response:
        """Ask, and go where redirects lead."""
        home, been, permanent = _origin(visit.final_url), set[str](), True
        while True:
            url = visit.final_url
            been.add(url)
            origin = _origin(url)
            delay_s = await self._check_robots(visit, origin) if obeys_robots else 0.0
            headers = {**own, **conditional} if origin == home else conditional
            request = self._request(url, headers, visit)
            response = await self._send(request, visit, delay_s)
            followed = REDIRECTS if visit.form is None else KEEPING
            location = response.headers.get("location", "") if response.status in followed else ""
            if not location:
                return response
            target = _redirected(url, location)
            if visit.form is not None and url.startswith("https:") and not target.startswith("https:"):
                raise _StoppedError(refused="redirected from https to http", reason="scheme")
            if target in been:
                raise _StoppedError(error="redirects go round in circles", reason="protocol")
            if len(been) > self._max_redirects:
                raise _StoppedError(error=f"more than {self._max_redirects} redirects", reason="redirects")
            permanent = permanent and response.status in PERMANENT
            visit.final_url = target
            visit.moved_to = target if permanent else visit.moved_to

    def _request(self, url: str, headers: Mapping[str, str], visit: FetchResult) -> Request:
        if visit.form is not None:
            return Request(url, headers, FORM_ANSWER_BYTES, cut=True, form=visit.form)
        return Request(url, headers, self._max_bytes, memory=visit.memory)

    async def _send(self, request: Request, visit: FetchResult, delay_s: float) -> Response:
        """One request, in its host's turn."""
        if visit.memory is not None:
            visit.memory.free()  # of the answer before this one
        key = self._slots.key_of(request.url)
        if (free := await self.take_turn(key)) is not None:
            raise _busy(self._slots.waits_for(key, self._clock.now()), free)
        try:
            if self._owners is None or self._owners.ours(request.url):
                response = await self._fetch(visit, request)
            else:
                borrowed = BorrowedTurn(self._owners, request.url, delay_s, self._clock, self._max_wait_s)
                response = await borrowed.fetch(request, partial(self._fetch, visit))
        except NoTurnError as late:
            raise _busy(str(late), self._clock.now() + (late.wait_s or SOON_S)) from late
        except TransportError as failure:
            self.note_failure(request.url, failure.reason)
            if failure.reason in UNSENT:
                soon = self._clock.now() + SOON_S if failure.reason == "permit" else 0.0
                raise _StoppedError(refused=str(failure), reason=failure.reason, retry_at=soon) from failure
            raise _StoppedError(error=str(failure), reason=failure.reason) from failure
        finally:
            self.end_turn(key, delay_s)
        self._slots.answered(key, response.status, self._asked_to_wait(response), self._clock.now(), request.url)
        return response

    def note_failure(self, url: str, reason: str) -> None:
        """A request brought no answer: it may be its host's fault."""
        key, now = self._slots.key_of(url), self._clock.now()
        if reason in UNREACHABLE:
            self._slots.failed(key, reason, now)
        elif reason in FALTERING:
            self._slots.faltered(key, reason, now, url)

    def _asked_to_wait(self, response: Response) -> str | None:
        return retry_after(response.status, response.headers, self._clock.now())

    async def _fetch(self, visit: FetchResult, request: Request) -> Response:
        """Pay and send."""
        if visit.requests >= visit.paid:
            await self._request_budget.pay()
            visit.paid += 1
        visit.requests += 1
        try:
            return await self._transport.fetch(request)
        except TransportError as failure:
            if failure.reason in UNSENT:
                visit.requests -= 1
            raise

    # -- turns of our hosts, for visits of our own and for the lender

    async def take_turn(self, key: str) -> float | None:
        """Wait until the host may be asked, and take the turn; when it may be, if that is too long to wait."""
        now = self._clock.now()
        last = now + self._max_wait_s
        while (free := self._slots.free_at(key)) > now:
            if free > last and (math.isfinite(free) or now >= last):
                return free if math.isfinite(free) else now
            if math.isfinite(free):
                await self._clock.sleep(free - now)
            else:
                await self._turn_ended(key, last - now)
            now = self._clock.now()
        self._slots.take(key, now)
        return None

    async def _turn_ended(self, key: str, at_most_s: float) -> None:
        """Wait until a request to the host ends."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(waiter)
        await asyncio.wait((waiter,), timeout=at_most_s)

    def end_turn(self, key: str, delay_s: float = 0.0) -> None:
        """A request to the host has ended, which asks for a delay before the next."""
        self._slots.done(key, self._clock.now(), delay_s)
        for waiter in self._waiting.pop(key, ()):
            if not waiter.done():
                waiter.set_result(None)

    # -- robots.txt

    async def _check_robots(self, visit: FetchResult, origin: str) -> float:
        """Pass if robots.txt allows it; the delay the host asks for, in seconds."""
        rules = await self._known(origin) or await self._asked(origin, visit)
        if rules.refusal:
            raise _StoppedError(refused=rules.refusal, reason="robots", retry_at=rules.expires)
        large = rules.characters > LARGE_ROBOTS_BYTES
        if not (await asyncio.to_thread(rules.allow, visit.final_url) if large else rules.allow(visit.final_url)):
            raise _StoppedError(refused="robots.txt does not allow it", reason="robots", retry_at=rules.expires)
        if rules.crawl_delay_s:
            self._slots.asks(self._slots.key_of(visit.final_url), rules.crawl_delay_s, self._clock.now())
        return rules.crawl_delay_s

    async def _known(self, origin: str) -> Rules | None:
        """The rules in force that are in memory or in the store."""
        record = self._robots.stored(origin, self._clock.now())
        if record is not None:
            self._robots.recall(record, await self._read_robots(record))
        return self._robots.rules(origin, self._clock.now())

    async def _read_robots(self, record: Robots) -> Rules:
        """The rules of a copy; a large one is read in another thread."""
        if len(record.body) > LARGE_ROBOTS_BYTES:
            return await asyncio.to_thread(self._robots.read, record)
        return self._robots.read(record)

    async def _asked(self, origin: str, visit: FetchResult) -> Rules:
        """Fetch robots.txt, unless somebody else is doing so: then wait for that."""
        while origin in self._asking:
            await asyncio.wait((self._asking[origin],))
            rules = await self._known(origin)
            if rules is not None:
                return rules
        done = self._asking[origin] = asyncio.get_running_loop().create_future()
        try:
            return await self._fetch_robots(origin, visit)
        finally:
            del self._asking[origin]
            done.set_result(None)

    async def _fetch_robots(self, origin: str, visit: FetchResult) -> Rules:
        try:
            response = await self._robots_response(f"{origin}/robots.txt", visit)
        except _StoppedError as stop:
            if stop.refused:
                raise
            record = self._robots.unreachable(origin, 0, self._clock.now())
            if record.good is None and stop.reason in UNREACHABLE:
                raise  # nobody is there, which says nothing of rules: it is tried again like any connection
            rules = self._robots.keep(record, await self._read_robots(record))
            if rules.refusal:
                stop.retry_at = rules.expires
                raise
            return rules
        status, now = response.status, self._clock.now()
        if self._asked_to_wait(response) is not None:  # whatever the status: it says nothing about rules
            record = self._robots.unreachable(origin, status, now)
        else:
            record = self._robots.judged(origin, status, response.body, response.headers.get("cache-control"), now)
        return self._robots.keep(record, await self._read_robots(record))

    async def _robots_response(self, url: str, visit: FetchResult) -> Response:
        """The answer after redirects; too many of them count as no file [RFC 9309, 2.3.1.2]."""
        for hop in range(ROBOTS_REDIRECTS + 1):
            accept = {"Accept": "text/plain, */*;q=0.5"}
            request = Request(url, accept, MAX_TEXT_BYTES + 1, cut=True, memory=visit.memory)
            try:
                response = await self._send(request, visit, 0.0)
                location = response.headers.get("location", "") if response.status in REDIRECTS else ""
                if not location:
                    return response
                url = _redirected(url, location)
            except _StoppedError as stop:
                if hop and stop.reason in ("address", "scheme"):
                    raise _StoppedError(error=f"robots.txt leads astray: {stop}", reason=stop.reason) from stop
                raise
        return response


def _busy(why: str, until: float) -> _StoppedError:
    return _StoppedError(refused=why, reason="busy", retry_at=until)


def _origin(url: str) -> str:
    """Scheme, host and port as written: other spellings of the same origin count as another, which is safe."""
    found = _ORIGIN.match(url)
    if found is None:
        raise _StoppedError(refused="only http and https URLs are fetched", reason="scheme")
    return found[0].lower()


def _redirected(base: str, location: str) -> str:
    """Where a redirect leads, without credentials it may carry."""
    target = urls.join(base, location)
    if target is not None:
        return target
    scheme = location.strip().partition(":")[0].lower()
    if scheme.isalpha() and scheme not in ("http", "https") and ":" in location:
        raise _StoppedError(refused=f"redirected to another scheme: {scheme[:20]}", reason="scheme")
    raise _StoppedError(error="redirected to what is no address", reason="protocol")


def _filled_in(headers: Mapping[str, str]) -> Mapping[str, str]:
    """An owner's headers with what the environment holds for them."""
    try:
        filled = {name: with_secrets(value, os.environ) for name, value in headers.items()}
    except KeyError as missing:
        words = f"a header needs the environment variable {missing.args[0]}, which is not set"
        raise _StoppedError(error=words, reason="secret") from None
    for name, value in filled.items():
        if value != headers[name] and not (value.isascii() and value.isprintable()):
            raise _StoppedError(error=f"the environment holds what no header can be, for {name}", reason="secret")
    return filled
