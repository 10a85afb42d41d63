"""A publisher and its hub on loopback, as the W3C's WebSub has them: small, correct, and able to fall ill.

The hub verifies intent in the background, delivers what is published with the signature its subscriber asked for, and
drops whoever answers 410.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from aiohttp import ClientSession, web

from servers import serving

ATOM = "http://www.w3.org/2005/Atom"


@dataclass
class Subscriber:
    """Who is told of one topic, where, and how it is signed."""

    callback: str
    topic: str
    secret: str
    lease_s: float


@dataclass
class Hub:
    """The hub at `/hub` and a feed at `/feed`.

    Parameters
        grants_s: the lease it grants, whatever was asked for
        method: of its signatures
        status: how it answers requests to subscribe, if not by accepting them
        denies: it refuses, after it has accepted the request
    """

    base: str = ""
    grants_s: int = 1000
    method: str = "sha256"
    status: int = 0
    denies: bool = False
    max_age_s: int = 0
    asked: list[dict[str, str]] = field(default_factory=list)
    verified: list[tuple[str, str]] = field(default_factory=list)
    subscribers: dict[str, Subscriber] = field(default_factory=dict)
    items: list[str] = field(default_factory=list)
    fetched: int = 0
    _client: ClientSession | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def topic(self) -> str:
        return self.base + "/feed"

    async def handle(self, request: web.BaseRequest) -> web.Response:
        if request.path == "/hub":
            return await self._requested(request)
        if request.path == "/feed":
            self.fetched += 1
            headers = {"Cache-Control": f"max-age={self.max_age_s}"} if self.max_age_s else {}
            return web.Response(text=self.document(), content_type="application/atom+xml", headers=headers)
        return web.Response(status=404)

    def document(self) -> str:
        entries = "".join(f"<entry><id>{each}</id><title>{each}</title></entry>" for each in self.items)
        links = f'<link rel="hub" href="{self.base}/hub"/><link rel="self" href="{self.topic}"/>'
        return f'<feed xmlns="{ATOM}"><title>A</title>{links}{entries}</feed>'

    async def _requested(self, request: web.BaseRequest) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.asked.append(form)
        if self.status:
            return web.Response(status=self.status)
        if form.get("hub.mode") not in ("subscribe", "unsubscribe") or not form.get("hub.callback"):
            return web.Response(status=400, text="what is wanted?")
        task = asyncio.create_task(self._verify(form))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return web.Response(status=202)

    async def _verify(self, form: dict[str, str]) -> None:
        """Ask the subscriber whether it is meant, and then do it [5.3]."""
        mode, topic, callback = form["hub.mode"], form["hub.topic"], form["hub.callback"]
        if self.denies:
            await self._get(callback, {"hub.mode": "denied", "hub.topic": topic, "hub.reason": "not for you"})
            return
        challenge = secrets.token_hex(8)
        question = {"hub.mode": mode, "hub.topic": topic, "hub.challenge": challenge}
        if mode == "subscribe":
            question["hub.lease_seconds"] = str(self.grants_s)
        status, text = await self._get(callback, question)
        if 200 <= status < 300 and text == challenge:
            self.verified.append((mode, topic))
            if mode == "unsubscribe":
                self.subscribers.pop(callback, None)
            else:
                secret = form.get("hub.secret", "")
                self.subscribers[callback] = Subscriber(callback, topic, secret, self.grants_s)

    async def _get(self, url: str, query: dict[str, str]) -> tuple[int, str]:
        assert self._client is not None
        async with self._client.get(url, params=query) as answer:
            return answer.status, await answer.text()

    async def publish(self, item: str = "", *, secret: str | None = None, quiet: bool = False) -> list[int]:
        """Have something new, and tell everybody; their answers. With another secret, as somebody else would."""
        if item:
            self.items.insert(0, item)
        return [] if quiet else [await self._deliver(each, secret) for each in list(self.subscribers.values())]

    async def _deliver(self, to: Subscriber, secret: str | None) -> int:
        assert self._client is not None
        body = self.document().encode()
        signed = hmac.new((to.secret if secret is None else secret).encode(), body, self.method).hexdigest()
        headers = {
            "Content-Type": "application/atom+xml",
            "X-Hub-Signature": f"{self.method}={signed}",
            "Link": f'<{self.base}/hub>; rel="hub", <{to.topic}>; rel="self"',
        }
        async with self._client.post(to.callback, data=body, headers=headers) as answer:
            if answer.status == 410:
                self.subscribers.pop(to.callback, None)
            return answer.status


@contextlib.asynccontextmanager
async def a_hub(**given: object) -> AsyncIterator[Hub]:
    """A hub and its publisher, until the block ends."""
    hub = Hub(**given)  # type: ignore[arg-type]
    async with ClientSession() as client, serving(hub.handle) as base:
        hub.base, hub._client = base, client
        yield hub
        for task in list(hub._tasks):
            task.cancel()
        await asyncio.gather(*hub._tasks, return_exceptions=True)
