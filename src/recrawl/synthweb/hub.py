"""A WebSub hub for the sources of a synthetic web: subscribe, confirm, be told; and what hubs do wrong.

`POST /hub` of every host takes `hub.mode`, `hub.topic` (the URL of any source), `hub.callback`, `hub.secret` and
`hub.lease_seconds` [WebSub, 5]. The answer is 202; then the hub asks the callback whether it meant it, and from the
answer on posts the source's document there whenever that publishes, signed with the secret (X-Hub-Signature, sha256).
A delivery that fails is tried again `RETRIES` times; a callback that answers 410 is told no more.

Everything is bounded: subscriptions, questions and deliveries at a time, what is read of an answer, and how long.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import random
import secrets
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

import msgspec
from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, web
from yarl import URL

from recrawl.errors import ParameterError
from recrawl.synthweb import documents
from recrawl.synthweb.subscriptions import Asked, Subscription, Subscriptions, asked

if TYPE_CHECKING:
    from recrawl.synthweb.server import SynthWeb

HUB = "/hub"
LONGEST_FORM, LONGEST_ANSWER = 16_384, 4_096
PULSE_S = 0.05
"""So often the hub looks for news."""
ANSWER_S = 5.0
"""How long a callback may take."""
RETRIES, RETRY_S = 3, 0.25
"""A failed delivery is tried so often again, after this time and then twice as long each time."""
AT_ONCE, QUESTIONS = 32, 1_000


class HubFaults(msgspec.Struct, frozen=True, kw_only=True):
    """What the hub does wrong.

    Parameters
        dead: "refuses" (cuts every connection) or "500"; a dead hub tells nobody anything, and goes on where it was
            when it lives again
        forgets: share of the deliveries that are never made
        forges: share of the deliveries signed with another secret
        longest_lease_s: it grants no longer leases
        seed: of the shares
    """

    dead: Literal["", "refuses", "500"] = ""
    forgets: float = 0.0
    forges: float = 0.0
    longest_lease_s: int = 864_000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("forgets", "forges"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ParameterError(name, "in [0, 1]", getattr(self, name))
        if self.longest_lease_s < 1:
            raise ParameterError("longest_lease_s", "at least 1", self.longest_lease_s)


class HubTally(msgspec.Struct, kw_only=True):
    """What happened, counted.

    Parameters
        asked: requests that made sense
        confirmed: subscriptions that callbacks said they meant, renewals too
        denied: questions a callback did not answer rightly
        ended: subscriptions ended by their callback
        expired: subscriptions whose lease was over
        delivered: deliveries answered with 2xx, of which `forged` were signed wrongly
        forgotten: deliveries never made
        failed: deliveries given up
    """

    asked: int = 0
    confirmed: int = 0
    denied: int = 0
    ended: int = 0
    expired: int = 0
    delivered: int = 0
    forged: int = 0
    forgotten: int = 0
    failed: int = 0


class HubSubscriber(msgspec.Struct, frozen=True):
    """One who is told."""

    topic: str
    callback: str
    expires: float


class HubTruth(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to know of a hub."""

    url: str
    faults: HubFaults
    tally: HubTally
    subscribers: list[HubSubscriber]


class Hub:
    """The hub of the web it belongs to; does nothing before the first request."""

    def __init__(self, synthweb: SynthWeb) -> None:
        self._web = synthweb
        self._kept = Subscriptions()
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions = 0
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._session: ClientSession | None = None
        self.tally = HubTally()
        self.misbehave(HubFaults())

    def misbehave(self, faults: HubFaults) -> None:
        """From now on do this wrong."""
        self.faults, self._chance = faults, random.Random(f"hub {faults.seed}")

    def forget(self) -> None:
        """Lose all subscriptions, and say nothing of it."""
        self._kept = Subscriptions()

    @property
    def url(self) -> str:
        """Where it is, for all hosts."""
        return self._web.base + HUB

    def truth(self) -> HubTruth:
        """Whom it tells, and what happened so far."""
        told = [HubSubscriber(each.topic, each.callback, each.expires) for each in self._kept.all]
        return HubTruth(url=self.url, faults=self.faults, tally=self.tally, subscribers=told)

    async def answer(self, request: web.BaseRequest) -> web.Response:
        """A request to subscribe or to unsubscribe."""
        if self.faults.dead:
            return web.Response(status=500, text="dead\n")
        if request.method != "POST":
            return web.Response(status=405, headers={"Allow": "POST"})
        try:
            one = asked(await _read(request.content, LONGEST_FORM), self._web.topics(), request.remote or "")
        except ValueError as error:
            return web.Response(status=400, text=f"{error}\n")
        if self._questions >= QUESTIONS or (one.mode == "subscribe" and self._kept.full(one)):
            return web.Response(status=503, text="too many subscriptions\n")
        self.tally.asked += 1
        self._questions += 1
        self._spawn(self._confirm(one))
        return web.Response(status=202)

    async def stop(self) -> None:
        """End everything that is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
        self._session = None

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        if self._session is None:
            self._session = ClientSession(
                timeout=ClientTimeout(total=ANSWER_S),
                cookie_jar=DummyCookieJar(),
                connector=TCPConnector(limit=AT_ONCE),
            )
            self._begin(self._watch())
        self._begin(work)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- intent

    async def _confirm(self, one: Asked) -> None:
        """Ask the callback whether it meant it [WebSub, 5.3]."""
        challenge, lease = secrets.token_urlsafe(24), min(one.lease_s, self.faults.longest_lease_s)
        said = {"hub.mode": one.mode, "hub.topic": one.topic, "hub.challenge": challenge}
        if one.mode == "subscribe":
            said["hub.lease_seconds"] = str(lease)
        url = one.callback + ("&" if "?" in one.callback else "?") + urlencode(said)
        try:
            status, body = await self._send("GET", url)
        finally:
            self._questions -= 1
        if not (200 <= status < 300 and body == challenge.encode()):
            self.tally.denied += 1
        elif one.mode == "unsubscribe":
            self.tally.ended += self._kept.end(one.topic, one.callback)
        elif not self._kept.full(one):
            now = self._web.clock.now()
            self._kept.begin(one, now + lease, self._web.published(one.source, now))
            self.tally.confirmed += 1

    # -- news

    async def _watch(self) -> None:
        """Look for news, and have it delivered."""
        while True:
            await asyncio.sleep(PULSE_S)
            now = self._web.clock.now()
            self.tally.expired += self._kept.expire(now)
            if self.faults.dead:
                continue
            for each in self._kept.all:
                if not each.busy and each.told < self._web.published(each.source, now):
                    each.busy = True
                    self._begin(self._deliver(each))

    async def _deliver(self, to: Subscription) -> None:
        """Tell one subscriber of all there is now, or give up."""
        try:
            count = self._web.published(to.source, self._web.clock.now())
            if self._chance.random() < self.faults.forgets:
                self.tally.forgotten += 1
            else:
                forged = self._chance.random() < self.faults.forges
                count = await self._persist(to, forged, count)
            to.told = count
        finally:
            to.busy = False

    async def _persist(self, to: Subscription, forged: bool, count: int) -> int:
        """Try to deliver, and try again; how many items the source had published at the last try."""
        for turn in range(1 + RETRIES):
            if turn:
                await asyncio.sleep(RETRY_S * 2.0 ** (turn - 1))
            now = self._web.clock.now()
            view = self._web.view(self._web.world.sources[to.source], now)
            body, count = documents.render(view), self._web.published(to.source, now)
            status, _ = await self._send("POST", to.callback, body, self._headers(to, view, body, forged))
            if status == 410:
                self.tally.ended += self._kept.end(to.topic, to.callback)
                return count
            if 200 <= status < 300:
                self.tally.delivered += 1
                self.tally.forged += forged
                return count
        self.tally.failed += 1
        return count

    def _headers(self, to: Subscription, view: documents.View, body: bytes, forged: bool) -> dict[str, str]:
        """The type, the topic and the hub, and the signature where there is a secret."""
        headers = {"Content-Type": documents.CONTENT_TYPES[view.source.kind], **documents.link_header(view)}
        if to.secret:
            key = to.secret.encode() + (b"?" if forged else b"")
            headers["X-Hub-Signature"] = "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest()
        return headers

    async def _send(
        self, method: str, url: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """One request; status 0 if it was not answered."""
        assert self._session is not None
        try:
            async with (
                self._turns,
                self._session.request(
                    method, URL(url, encoded=True), data=body, headers=headers, allow_redirects=False
                ) as answer,
            ):
                return answer.status, await _read(answer.content, LONGEST_ANSWER)
        except (ClientError, OSError, TimeoutError, ValueError):
            return 0, b""


async def _read(stream: Any, most: int) -> bytes:
    """A body, or an error if it is longer than that."""
    got = bytearray()
    while len(got) <= most and (part := await stream.read(most + 1 - len(got))):
        got += part
    if len(got) > most:
        raise ParameterError("body", f"at most {most} bytes", "more")
    return bytes(got)
