"""Carries one visit through: as many requests as it takes, each of them polite, paid for and allowed.

A visit may need more than one request: the site's robots.txt first, then wherever redirects lead, which may be another
host with a robots.txt of its own. Each request, whichever it is,

1. waits for its host's turn (`politeness.Slots`): one visit never gets more than the host's delay allows;
2. is paid for beyond the `prepaid` ones (`Purse`): robots.txt and redirects spend budget too;
3. is allowed by the robots.txt of its own host, robots.txt itself apart;
4. passes the transport's rules on schemes and addresses, and its permit;
5. has the turn of whoever is responsible for its host, too, where that is another crawler (`borders`).

A request counts, and costs, when something was sent for it, were it only to find that nobody answers.

What belongs to the source's owner (its headers, credentials among them) is sent to the source's own origin and nowhere
else. The courier retries nothing and reads nothing; it always comes back, with a :class:`Delivery` that says what
happened.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import uuid4

from recrawl.clock import Clock
from recrawl.config import Fetching
from recrawl.crawl import urls
from recrawl.crawl.borders import MARGIN_S, SEND_S, Borders, Loans, Said, Turn
from recrawl.crawl.freight import Load
from recrawl.crawl.http import authorisation, without_userinfo
from recrawl.crawl.politeness import Slots
from recrawl.crawl.rate_limits import retry_after
from recrawl.crawl.robots import MAX_TEXT_BYTES, RobotsCache, Rules
from recrawl.crawl.transport import UNSENT, Reason, Request, Response, Transport, TransportError
from recrawl.store.base import Hold, Robots

MAX_WAIT_S = 30.0
"""For the turn of a host; whoever would wait longer comes back later."""
ANSWER_S = 5.0
"""Beyond that, for the answer of another crawler that waits for it."""
SOON_S = 30.0
"""When to come back if nobody knows better."""
ROBOTS_REDIRECTS = 5
"""[RFC 9309, 2.3.1.2]"""
LARGE_ROBOTS_BYTES = 32_768
"""Files larger than this are parsed in another thread."""
PERMANENT = (301, 308)
REDIRECTS = (301, 302, 303, 307, 308)
_ORIGIN = re.compile(r"https?://[^/?#]+", re.IGNORECASE)
UNREACHABLE = ("connect", "dns")
"""Failures that are the host's rather than one document's."""
FALTERING = ("timeout", "reset", "tls")
"""Failures that are the host's if several documents meet with them."""


class Pays(Protocol):
    """Where requests are paid."""

    async def pay(self) -> None:
        """Wait until the budget has a token, and spend it."""
        ...

    def give_back(self, amount: float) -> None:
        """Tokens for what was never sent."""
        ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a visit came back with: an answer, a refusal or an error.

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
    """

    response: Response | None
    final_url: str
    requests: int = 0
    moved_to: str = ""
    refused: str = ""
    error: str = ""
    reason: Reason | str = ""
    retry_at: float = 0.0
    host_held_until: float = 0.0


class _StoppedError(Exception):
    """The visit ends here without an answer; what of it goes into the delivery."""

    def __init__(self, *, refused: str = "", error: str = "", reason: str = "", retry_at: float = 0.0) -> None:
        self.refused, self.error, self.reason, self.retry_at = refused, error, reason, retry_at
        super().__init__(refused or error)


@dataclass(slots=True)
class _Visit:
    """One visit under way: where it is, what is paid for, what was sent and where permanent redirects led."""

    url: str
    paid: int
    requests: int = 0
    moved_to: str = ""
    been: set[str] = field(default_factory=set)
    load: Load | None = None
    obeys_robots: bool = True


class Courier:
    """Makes visits; any number at a time.

    Parameters
        max_wait_s: for the turn of a host
        obey_robots: False only for sites of one's own
        borders: which hosts are another crawler's; None if all are this one's
        heed: told of an URL whenever the turn of its host is lent or comes back
    """

    def __init__(
        self,
        transport: Transport,
        robots: RobotsCache,
        slots: Slots,
        purse: Pays,
        clock: Clock,
        fetching: Fetching,
        *,
        obey_robots: bool = True,
        max_wait_s: float = MAX_WAIT_S,
        borders: Borders | None = None,
        heed: Callable[[str], None] | None = None,
    ) -> None:
        self._transport, self._robots, self._slots = transport, robots, slots
        self._purse, self._clock = purse, clock
        self._max_redirects, self._max_bytes = fetching.max_redirects, fetching.max_size_bytes
        self._obey_robots, self._max_wait_s = obey_robots, max_wait_s
        self._borders, self._heed, self._loans = borders, heed, Loans()
        self._fetch_s = fetching.timeout_s
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._asking: dict[str, asyncio.Future[None]] = {}

    async def visit(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        conditional: Mapping[str, str] | None = None,
        prepaid: int = 1,
        load: Load | None = None,
        robots: bool | None = None,
    ) -> Delivery:
        """Fetch a document.

        Parameters
            headers: for the origin of `url` alone
            conditional: If-None-Match and If-Modified-Since, sent all the way
            prepaid: requests already paid for
            load: where room for large answers is asked for; the last one's is the caller's to give back
            robots: whether robots.txt is obeyed; by default as for all
        """
        obeys = self._obey_robots if robots is None else robots
        visit = _Visit(without_userinfo(url), prepaid, load=load, obeys_robots=obeys)
        own = dict(headers or {})
        credentials = authorisation(url)
        if credentials is not None:
            own.setdefault("Authorization", credentials)
        try:
            response = await self._follow(visit, own, conditional or {})
        except _StoppedError as stop:
            if visit.paid > max(visit.requests, prepaid):
                self._purse.give_back(visit.paid - max(visit.requests, prepaid))
            held = self._held_until(visit.url)
            return Delivery(
                None, visit.url, visit.requests, "", stop.refused, stop.error, stop.reason, stop.retry_at, held
            )
        moved = visit.moved_to if response.status < 400 else ""
        return Delivery(response, visit.url, visit.requests, moved, host_held_until=self._held_until(visit.url))

    def _held_until(self, url: str) -> float:
        return self._slots.held(self._slots.key_of(url), self._clock.now())[0]

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
        self._loans.close()
        await self._transport.close()

    # -- for other crawlers

    async def lend(self, url: str, loan: str, delay_s: float = 0.0) -> Turn:
        """Wait for the turn of an URL's host like a visit of our own, and let another crawler have it.

        It is taken back if it does not come back; and given for no longer than the host is ours.

        Parameters
            loan: a name nothing else has, to give it back by
            delay_s: that the host asks for in its robots.txt, as far as the other knows
        """
        if not self._ours(url):
            return Turn("another crawler's")
        key, asked = self._slots.key_of(url), self._clock.now()
        if delay_s:
            self._slots.asks(key, delay_s, asked)
        self._loans.expect(loan)
        try:
            await self._turn(key)
        except _StoppedError as stop:
            now = self._clock.now()
            why = self._slots.held(key, now)[1] or "its turn does not come in time"
            return Turn(why, wait_s=max(stop.retry_at - now, 0.0))
        finally:
            wanted = self._loans.expected(loan)
        usable_s = min(SEND_S, math.inf if self._borders is None else self._borders.lasts_s(url))
        if not wanted or usable_s <= 0.0:
            self._end_turn(key)
            return Turn("not wanted any more" if not wanted else "another crawler's")
        self._loans.lend(loan, url, usable_s + self._fetch_s + MARGIN_S, lambda: self._over(url))
        self._tell(url)
        return Turn(seconds=self._clock.now() - asked + usable_s)

    def returned(self, url: str, loan: str, said: Said) -> None:
        """A turn comes back with what came of it: in time, too late, or before it was given."""
        key = self._slots.key_of(url)
        if self._loans.back(loan):
            self._end_turn(key, said.delay_s)
        if said.failed:
            self._note_failure(url, said.failed)
        elif said.status is not None:
            self._slots.answered(key, said.status, said.retry_after, self._clock.now(), url)
        self._tell(url)

    def lent(self) -> list[str]:
        """URLs whose hosts' turns others have now."""
        return self._loans.urls()

    def in_use(self) -> list[str]:
        """What politeness calls hosts, of those whose turn a visit has now: one of our own, or somebody else's."""
        return self._slots.in_use()

    def _over(self, url: str) -> None:
        """A turn did not come back: whoever had it cannot use it any more."""
        self._end_turn(self._slots.key_of(url))
        self._tell(url)

    def _tell(self, url: str) -> None:
        if self._heed is not None:
            self._heed(url)

    # -- the way

    async def _follow(self, visit: _Visit, own: Mapping[str, str], conditional: Mapping[str, str]) -> Response:
        """Ask, and go where redirects lead."""
        home = _origin(visit.url)
        permanent = True
        while True:
            visit.been.add(visit.url)
            origin = _origin(visit.url)
            delay_s = await self._permitted(visit, origin)
            headers = {**own, **conditional} if origin == home else conditional
            request = Request(visit.url, headers, self._max_bytes, load=visit.load)
            response = await self._send(request, visit, delay_s)
            location = response.headers.get("location", "") if response.status in REDIRECTS else ""
            if not location:
                return response
            target = _redirected(visit.url, location)
            if target in visit.been:
                raise _StoppedError(error="redirects go round in circles", reason="protocol")
            if len(visit.been) > self._max_redirects:
                raise _StoppedError(error=f"more than {self._max_redirects} redirects", reason="redirects")
            permanent = permanent and response.status in PERMANENT
            visit.url = target
            visit.moved_to = target if permanent else visit.moved_to

    async def _send(self, request: Request, visit: _Visit, delay_s: float) -> Response:
        """One request, in its host's turn."""
        if visit.load is not None:
            visit.load.drop()  # of the answer before this one
        key = self._slots.key_of(request.url)
        await self._turn(key)
        try:
            if self._borders is None or self._borders.ours(request.url):
                response = await self._fetch(request, visit)
            else:
                response = await self._fetch_abroad(request, visit, delay_s, self._borders)
        except TransportError as failure:
            self._note_failure(request.url, failure.reason)
            if failure.reason in UNSENT:
                soon = self._clock.now() + SOON_S if failure.reason == "permit" else 0.0
                raise _StoppedError(refused=str(failure), reason=failure.reason, retry_at=soon) from failure
            raise _StoppedError(error=str(failure), reason=failure.reason) from failure
        finally:
            self._end_turn(key, delay_s)
        self._slots.answered(key, response.status, self._asked_to_wait(response), self._clock.now(), request.url)
        return response

    def _note_failure(self, url: str, reason: str) -> None:
        """A request brought no answer: it may be its host's fault."""
        key, now = self._slots.key_of(url), self._clock.now()
        if reason in UNREACHABLE:
            self._slots.failed(key, reason, now)
        elif reason in FALTERING:
            self._slots.faltered(key, reason, now, url)

    def _asked_to_wait(self, response: Response) -> str | None:
        return retry_after(response.status, response.headers, self._clock.now())

    async def _fetch(self, request: Request, visit: _Visit) -> Response:
        """Pay and send."""
        if visit.requests >= visit.paid:
            await self._purse.pay()
            visit.paid += 1
        visit.requests += 1
        try:
            return await self._transport.fetch(request)
        except TransportError as failure:
            if failure.reason in UNSENT:
                visit.requests -= 1
            raise

    async def _fetch_abroad(self, request: Request, visit: _Visit, delay_s: float, borders: Borders) -> Response:
        """The same in a turn that another crawler lends; it gets it back whatever happens.

        It is asked for in a turn of our own, so that nobody there waits for as many as wait here.
        """
        url, loan, said = request.url, uuid4().hex, Said(delay_s=delay_s)
        asked = self._clock.now()
        turn: Turn | None = None
        try:
            turn = await self._entered(borders, url, loan, delay_s)
            if turn.refused:
                raise _busy(turn.refused, self._clock.now() + (turn.wait_s or SOON_S))
            response = await self._fetch(replace(request, lent_until=asked + turn.seconds), visit)
            said = Said(response.status, self._asked_to_wait(response), delay_s=delay_s)
            return response
        except TransportError as failure:
            said = Said(failed=failure.reason if failure.reason in (*UNREACHABLE, *FALTERING) else "", delay_s=delay_s)
            raise
        finally:
            if turn is None or not turn.refused:
                borders.leave(url, loan, said)

    async def _entered(self, borders: Borders, url: str, loan: str, delay_s: float) -> Turn:
        try:
            async with asyncio.timeout(self._max_wait_s + ANSWER_S):
                return await borders.enter(url, loan, delay_s)
        except TimeoutError as error:
            raise _busy("no answer from the crawler that visits its host", self._clock.now() + SOON_S) from error

    # -- turns

    def _ours(self, url: str) -> bool:
        return self._borders is None or self._borders.ours(url)

    def _end_turn(self, key: str, delay_s: float = 0.0) -> None:
        self._slots.done(key, self._clock.now(), delay_s)
        self._wake(key)

    async def _turn(self, key: str) -> None:
        """Wait until the host may be asked, and take the turn."""
        now = self._clock.now()
        last = now + self._max_wait_s
        while (free := self._slots.free_at(key)) > now:
            if free > last and (math.isfinite(free) or now >= last):
                raise _busy(self._slots.waits_for(key, now), free if math.isfinite(free) else now)
            if math.isfinite(free):
                await self._clock.sleep(free - now)
            else:
                await self._awaken(key, last - now)
            now = self._clock.now()
        self._slots.take(key, now)

    async def _awaken(self, key: str, at_most_s: float) -> None:
        """Wait until a request to the host ends."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(waiter)
        await asyncio.wait((waiter,), timeout=at_most_s)

    def _wake(self, key: str) -> None:
        for waiter in self._waiting.pop(key, ()):
            if not waiter.done():
                waiter.set_result(None)

    # -- robots.txt

    async def _permitted(self, visit: _Visit, origin: str) -> float:
        """Pass if robots.txt allows it; the delay the host asks for, in seconds."""
        if not visit.obeys_robots:
            return 0.0
        rules = await self._known(origin) or await self._asked(origin, visit)
        if rules.refusal:
            raise _StoppedError(refused=rules.refusal, reason="robots", retry_at=rules.expires)
        large = rules.characters > LARGE_ROBOTS_BYTES
        if not (await asyncio.to_thread(rules.allow, visit.url) if large else rules.allow(visit.url)):
            raise _StoppedError(refused="robots.txt does not allow it", reason="robots", retry_at=rules.expires)
        if rules.crawl_delay_s:
            self._slots.asks(self._slots.key_of(visit.url), rules.crawl_delay_s, self._clock.now())
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

    async def _asked(self, origin: str, visit: _Visit) -> Rules:
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

    async def _fetch_robots(self, origin: str, visit: _Visit) -> Rules:
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

    async def _robots_response(self, url: str, visit: _Visit) -> Response:
        """The answer after redirects; too many of them count as no file [RFC 9309, 2.3.1.2]."""
        for hop in range(ROBOTS_REDIRECTS + 1):
            accept = {"Accept": "text/plain, */*;q=0.5"}
            request = Request(url, accept, MAX_TEXT_BYTES + 1, cut=True, load=visit.load)
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
