"""The hub of the synthetic web over real sockets: who is told of what, and what it does wrong when asked to.

Virtual time stands still but for what a test lets pass, so that a source publishes when the test says so.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode

import feedparser
import msgspec
import pytest
from aiohttp import web as http

from raw_requests import Answer, get, served
from recrawl.clock import ManualClock
from recrawl.synthweb import hub as hub_module
from recrawl.synthweb.hub import HubTruth
from recrawl.synthweb.server import SynthWeb
from until import soon

SECRET = "between us"


@dataclass
class Subscriber:
    """Answers a hub as told, and remembers what it was sent.

    Parameters
        meant: whether it says that it meant what it is asked
        statuses: of the answers to deliveries, one after the other; 200 when there are no more
    """

    url: str = ""
    meant: bool = True
    statuses: list[int] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    told: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    async def answer(self, request: http.BaseRequest) -> http.Response:
        if request.method == "GET":
            self.asked.append(dict(request.query))
            return http.Response(text=request.query["hub.challenge"] if self.meant else "what?")
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.told.append((headers, await request.read()))
        return http.Response(status=self.statuses.pop(0) if self.statuses else 200)

    def signed(self, place: int = -1) -> bool:
        headers, body = self.told[place]
        return headers["x-hub-signature"] == "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


@asynccontextmanager
async def listening() -> AsyncIterator[Subscriber]:
    subscriber = Subscriber()
    protocols = http.Server(subscriber.answer)
    server = await asyncio.get_running_loop().create_server(protocols, "127.0.0.1", 0)
    subscriber.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/back?who=me"
    try:
        yield subscriber
    finally:
        server.close()
        await protocols.shutdown(0.05)


async def ask(web: SynthWeb, callback: str, mode: str = "subscribe", topic: str = "", **more: str) -> Answer:
    fields = {"hub.mode": mode, "hub.topic": topic or web.urls()[0], "hub.callback": callback}
    fields |= {f"hub.{name}": value for name, value in more.items()}
    sort = "application/x-www-form-urlencoded"
    return await get(web.base + "/hub", method="POST", body=urlencode(fields).encode(), Content_Type=sort)


async def truth(web: SynthWeb, method: str = "GET", **faults: object) -> HubTruth:
    body = msgspec.json.encode(faults) if faults else b""
    answer = await get(web.base + "/_synthweb/hub", method="POST" if faults else method, body=body)
    assert answer.status == 200, answer.body
    return msgspec.json.decode(answer.body, type=HubTruth)


async def subscribed(web: SynthWeb, subscriber: Subscriber, **more: str) -> None:
    before = web.hub.tally.confirmed
    assert (await ask(web, subscriber.url, secret=SECRET, **more)).status == 202
    await soon(lambda: web.hub.tally.confirmed > before)


def publish(web: SynthWeb, clock: ManualClock) -> int:
    """Let time pass until the first source has published something more; how many items it has now."""
    before = now = len(web.truth(0).times)
    while now == before:
        clock.advance(0.5)
        now = len(web.truth(0).times)
    return now


def visited(visit: Callable[[SynthWeb, Subscriber, ManualClock], Awaitable[None]], **world: object) -> SynthWeb:
    """Let a subscriber visit a small web with a hub."""
    clock = ManualClock()

    async def with_subscriber(web: SynthWeb) -> None:
        async with listening() as subscriber:
            await visit(web, subscriber, clock)

    return served(with_subscriber, clock=clock, hub=True, **{"mix": "feeds", **world})


@pytest.mark.parametrize("kind", ["rss", "atom", "json", "page"])
def test_documents_name_their_hub_and_themselves(kind: str) -> None:
    async def visit(web: SynthWeb, subscriber: Subscriber, clock: ManualClock) -> None:
        source = next(each for each in web.world.sources if each.kind == kind)
        answer = await get(web.url(source))
        assert answer.headers["link"] == f'<{web.base}/hub>; rel="hub", <{web.url(source)}>; rel="self"'
        if kind in ("rss", "atom"):
            named = {
                each.rel: each.href for each in feedparser.parse(answer.body).feed.links if each.rel != "alternate"
            }
            assert named == {"hub": f"{web.base}/hub", "self": web.url(source)}
        elif kind == "json":
            assert msgspec.json.decode(answer.body)["hubs"] == [{"type": "WebSub", "url": f"{web.base}/hub"}]

    visited(visit, mix="mixed", sources=60)


def test_without_a_hub_nobody_names_one() -> None:
    async def visit(web: SynthWeb) -> None:
        answer = await get(web.urls()[0])
        assert "link" not in answer.headers
        assert b"hub" not in answer.body
        assert (await ask(web, "http://127.0.0.1:9/")).status == 404
        assert (await get(web.base + "/_synthweb/hub")).status == 404

    served(visit, clock=ManualClock())


def test_whoever_means_it_is_told_of_everything_new_with_a_signature() -> None:
    async def visit(web: SynthWeb, subscriber: Subscriber, clock: ManualClock) -> None:
        await subscribed(web, subscriber, lease_seconds="500")
        question = subscriber.asked[0]
        assert question["who"] == "me"
        assert (question["hub.mode"], question["hub.topic"]) == ("subscribe", web.urls()[0])
        assert question["hub.lease_seconds"] == "500"
        for turn in range(3):
            count = publish(web, clock)
            await soon(lambda turn=turn: web.hub.tally.delivered == turn + 1)
            headers, body = subscriber.told[-1]
            assert body == (await get(web.urls()[0])).body
            assert f'<{web.urls()[0]}>; rel="self"' in headers["link"]
            assert subscriber.signed()
            assert f"synth:0:{count - 1}".encode() in body
        (kept,) = (await truth(web)).subscribers
        assert (kept.callback, kept.topic) == (subscriber.url, web.urls()[0])

    visited(visit)


def test_whoever_did_not_mean_it_is_not_told() -> None:
    async def visit(web: SynthWeb, subscriber: Subscriber, clock: ManualClock) -> None:
        subscriber.meant = False
        assert (await ask(web, subscriber.url)).status == 202
        await soon(lambda: web.hub.tally.denied)
        assert (await truth(web)).subscribers == []
        subscriber.meant = True
        await subscribed(web, subscriber)
        subscriber.meant = False
        assert (await ask(web, subscriber.url, "unsubscribe")).status == 202
        await soon(lambda: web.hub.tally.denied == 2)
        assert len((await truth(web)).subscribers) == 1

    visited(visit)


def test_whoever_unsubscribes_or_is_gone_is_told_no_more() -> None:
    async def visit(web: SynthWeb, subscriber: Subscriber, clock: ManualClock) -> None:
        await subscribed(web, subscriber)
        assert (await ask(web, subscriber.url, "unsubscribe")).status == 202
        await soon(lambda: web.hub.tally.ended == 1)
        assert "hub.lease_seconds" not in subscriber.asked[-1]
        await subscribed(web, subscriber)
        subscriber.statuses = [410]
        publish(web, clock)
        await soon(lambda: web.hub.tally.ended == 2)
        assert (await truth(web)).subscribers == []
        assert (len(subscriber.told), web.hub.tally.delivered) == (1, 0)

    visited(visit)


def test_a_lease_ends_unless_it_is_renewed() -> None:
    async def visit(web: SynthWeb, subscriber: Subscriber, clock: ManualClock) -> None:
        await truth(web, longest_lease_s=100)
        await subscribed(web, subscriber, lease_seconds="5000")
        assert subscriber.asked[-1]["hub.lease_seconds"] == "100"
        clock.advance(90.0)
        await subscribed(web, subscriber)
        await soon(lambda: web.hub.tally.delivered == 1)
        clock.advance(90.0)
        await soon(lambda: web.hub.tally.delivered == 2)
        assert web.hub.tally.expired == 0
        clock.advance(11.0)
        await soon(lambda: web.hub.tally.expired == 1)
        assert (await truth(web)).subscribers == []

    visited(visit, median_rate=0.5)


def test_a_failed_delivery_is_tried_again_and_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "RETRY_S", 0.001)

    async def visit(web: SynthWeb, subscriber: Subscriber, clock: ManualClock) -> None:
        await subscribed(web, subscriber)
        subscriber.statuses = [500, 503]
        publish(web, clock)
        await soon(lambda: web.hub.tally.delivered == 1)
        assert len(subscriber.told) == 3
        subscriber.statuses = [500] * (1 + hub_module.RETRIES)
        publish(web, clock)
        await soon(lambda: web.hub.tally.failed == 1)
        assert len(subscriber.told) == 3 + 1 + hub_module.RETRIES
        publish(web, clock)
        await soon(lambda: web.hub.tally.delivered == 2)

    visited(visit)


def test_a_dead_hub_answers_nobody_tells_nobody_and_goes_on_when_it_lives_again() -> None:
    async def visit(web: SynthWeb, subscriber: Subscriber, clock: ManualClock) -> None:
        await subscribed(web, subscriber)
        await truth(web, dead="500")
        assert (await ask(web, subscriber.url)).status == 500
        await truth(web, dead="refuses")
        refused = await ask(web, subscriber.url)
        assert (refused.reset, refused.raw) == (True, b"")
        publish(web, clock)
        await asyncio.sleep(5 * hub_module.PULSE_S)  # many times as long as a living hub takes
        assert subscriber.told == []
        count = publish(web, clock)
        await truth(web, dead="")
        await soon(lambda: web.hub.tally.delivered == 1)
        assert f"synth:0:{count - 1}".encode() in subscriber.told[0][1]
        assert (await truth(web, "DELETE")).subscribers == []

    visited(visit)


def test_a_forgetful_hub_makes_its_share_of_deliveries() -> None:
    async def visit(web: SynthWeb, subscriber: Subscriber, clock: ManualClock) -> None:
        await subscribed(web, subscriber)
        await truth(web, forgets=0.5)
        for turn in range(1, 21):
            publish(web, clock)
            await soon(lambda turn=turn: web.hub.tally.delivered + web.hub.tally.forgotten == turn)
        assert 4 <= web.hub.tally.forgotten <= 16
        assert len(subscriber.told) == web.hub.tally.delivered

    visited(visit)


def test_a_forging_hub_signs_with_another_secret() -> None:
    async def visit(web: SynthWeb, subscriber: Subscriber, clock: ManualClock) -> None:
        await subscribed(web, subscriber)
        await truth(web, forges=1.0)
        publish(web, clock)
        await soon(lambda: web.hub.tally.delivered == 1)
        assert subscriber.told[0][0]["x-hub-signature"].startswith("sha256=")
        assert not subscriber.signed()
        assert web.hub.tally.forged == 1

    visited(visit)


def test_requests_that_make_no_sense_are_refused_and_logged() -> None:
    async def visit(web: SynthWeb, subscriber: Subscriber, clock: ManualClock) -> None:
        foreign = await ask(web, "http://example.org/")
        assert (foreign.status, b"hub.callback" in foreign.body) == (400, True)
        assert (await ask(web, subscriber.url, topic="http://example.org/feed")).status == 400
        assert (await get(web.base + "/hub")).status == 405
        assert (await get(web.base + "/hub", method="POST", body=b"x" * 20_000)).status == 400
        assert (await get(web.base + "/_synthweb/hub", method="POST", body=b'{"forgets": 2}')).status == 400
        assert (await truth(web)).tally.asked == 0

    web = visited(visit)
    assert [(entry.path, entry.status) for entry in web.log] == [("/hub", status) for status in (400, 400, 405, 400)]


def test_questions_at_a_time_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "QUESTIONS", 0)

    async def visit(web: SynthWeb, subscriber: Subscriber, clock: ManualClock) -> None:
        assert (await ask(web, subscriber.url)).status == 503
        assert subscriber.asked == []

    visited(visit)
