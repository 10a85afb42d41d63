"""`/indexnow`: where sites say that pages of theirs have changed. Off unless the settings say otherwise.

Only addresses in the catalogue count. Whether a key is the site's own is for the crawler to see
(`recrawl.crawl.push.key_checks`): until it has, the answer is 202, and the signals wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response

from recrawl.crawl.push import index_now
from recrawl.crawl.push.index_now import Ping, PingError
from recrawl.store.records import Signal
from recrawl.web.context import Context
from recrawl.web.safety.callers import INDEXNOW, MOST_PING, Strangers, read_within
from recrawl.web.safety.throttle import Throttle

MOST_WAITING = 100
"""Keys that wait to be looked at."""
MOST_LISTS = 4
"""Lists in memory at once."""
BUSY_S = 5.0


def router(context: Context) -> APIRouter:
    """The endpoint; without it in the settings it is not there."""
    routes = APIRouter(include_in_schema=False)
    if not context.config.push.takes_pings:
        return routes
    strangers = Strangers(context.clock, Throttle(burst=60.0, every_s=1.0, burst_of_all=600.0, every_s_of_all=0.1))
    lists = [0]

    def answered(request: Request, read: Callable[[], Ping]) -> Response:
        wait_s = strangers.wait_s(request.scope)
        if wait_s > 0.0:
            return _too_many(wait_s)
        try:
            status = _taken(context, read())
        except PingError as error:
            return PlainTextResponse(f"{error}\n", error.status)
        return _too_many(BUSY_S) if status == 429 else PlainTextResponse("", status)

    @routes.get(INDEXNOW)
    def one(request: Request) -> Response:
        return answered(request, lambda: index_now.ping_of_query(request.query_params))

    @routes.post(INDEXNOW)
    async def many(request: Request) -> Response:
        if lists[0] >= MOST_LISTS:
            return _too_many(BUSY_S)
        lists[0] += 1
        try:
            body = await read_within(request, MOST_PING)
            if body is None:
                return PlainTextResponse("What was sent is too large.\n", 413, {"Connection": "close"})
            return await run_in_threadpool(answered, request, lambda: index_now.ping_of_json(body))
        finally:
            lists[0] -= 1

    return routes


def _taken(context: Context, ping: Ping) -> int:
    """The status that says what became of a ping."""
    store, now = context.store, context.now()
    ids = store.numbers(ping.urls)
    if not ids:
        return 202  # nobody's file is looked at for what nobody watches
    good = index_now.verdict_of(store, ping.proof, now)
    if good is False:
        return 403
    if good is None:
        waiting = store.proofs(MOST_WAITING)
        if len(waiting) >= MOST_WAITING and ping.proof not in waiting:
            return 429
    proof = "" if good else ping.proof
    store.record_signals([Signal(source=id, at=now, came=now, by="indexnow", proof=proof) for id in ids.values()])
    return 200 if good else 202


def _too_many(wait_s: float) -> Response:
    return PlainTextResponse("Try again later.\n", 429, {"Retry-After": str(math.ceil(wait_s))})
