"""`/push/websub/TOKEN`: where hubs call. The crawler's side of it is `recrawl.crawl.push.subscriber`.

    W3C, WebSub (2018): verification of intent (5.3), denial (5.2), distribution of content (7) and its signature (7.1).

What a hub sends is read only to see whether it is signed as it should be; then the source is said to have changed.
"""

from __future__ import annotations

import math

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response

from recrawl.crawl.push import subscriptions as rules
from recrawl.crawl.push.signatures import Signature
from recrawl.store.records import Signal, Subscription
from recrawl.web.context import Context
from recrawl.web.safety.callers import MOST_MESSAGE, Strangers
from recrawl.web.safety.throttle import Throttle

NOTED_S = 60.0
"""That something came is noted at most so often."""
LONGEST_REASON = 200


def router(context: Context) -> APIRouter:
    """The callback; without it in the settings it is not there."""
    routes = APIRouter(include_in_schema=False)
    if not context.config.push.subscribes:
        return routes
    strangers = Strangers(context.clock, Throttle(burst=30.0, every_s=2.0, burst_of_all=math.inf))

    def known(token: str) -> Subscription | None:
        return context.store.subscription(token) if rules.is_token(token) else None

    def refused(request: Request, status: int) -> Response:
        wait_s = strangers.wait_s(request.scope)
        if wait_s > 0.0:
            return PlainTextResponse("Try again later.\n", 429, {"Retry-After": str(math.ceil(wait_s))})
        return PlainTextResponse("There is no such subscription.\n", status)

    @routes.get(rules.PATH + "{token}")
    def verify(token: str, request: Request) -> Response:
        subscription, asked = known(token), dict(request.query_params)
        if subscription is None:
            return refused(request, 404)
        if asked.get("hub.mode") == "denied":
            if asked.get("hub.topic", subscription.topic) == subscription.topic:
                _deny(context, subscription, asked.get("hub.reason", ""))
            return PlainTextResponse("")
        challenge = asked.get("hub.challenge", "")
        meant = (subscription.mode, subscription.topic) == (asked.get("hub.mode"), asked.get("hub.topic"))
        if not (meant and challenge and subscription.asked):
            return PlainTextResponse("This was not asked for.\n", 404)
        _confirm(context, subscription, asked.get("hub.lease_seconds", ""))
        return PlainTextResponse(challenge)

    @routes.post(rules.PATH + "{token}")
    async def deliver(token: str, request: Request) -> Response:
        subscription = await run_in_threadpool(known, token)
        if subscription is None or subscription.mode == "unsubscribe":
            return refused(request, 410)
        signature = Signature(request.headers.get("x-hub-signature", ""), subscription.secret)
        size = 0
        try:
            async for part in request.stream():
                size += len(part)
                if size > MOST_MESSAGE:
                    return PlainTextResponse("What was sent is too large.\n", 413, {"Connection": "close"})
                signature.update(part)
        except ClientDisconnect:
            return PlainTextResponse("", 400)
        if signature.is_right():  # otherwise nobody is told that it is not [7.1]
            await run_in_threadpool(_hear, context, subscription)
        return PlainTextResponse("", 202)

    return routes


def _confirm(context: Context, subscription: Subscription, lease: str) -> None:
    if subscription.mode == "unsubscribe":
        context.store.forget_subscriptions([subscription.token])
        return
    now = context.now()
    until, due = rules.lease_of(lease, context.config.push.lease_s, now)
    context.store.confirm_subscription(subscription.token, now, until, due)


def _deny(context: Context, subscription: Subscription, reason: str) -> None:
    if subscription.mode == "unsubscribe":
        context.store.forget_subscriptions([subscription.token])
        return
    words = "".join(letter if letter.isprintable() else " " for letter in reason[:LONGEST_REASON])
    note = f"the hub refuses: {words}" if words else "the hub refuses"
    context.store.refuse_subscription(subscription.token, context.now() + rules.REFUSED_S, note)


def _hear(context: Context, subscription: Subscription) -> None:
    now = context.now()
    context.store.record_signals([Signal(source=subscription.source, at=now, came=now, by="websub")])
    if now - subscription.delivered >= NOTED_S:
        context.store.note_delivery(subscription.token, now)
