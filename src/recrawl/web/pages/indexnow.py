"""`/indexnow`: where sites say that pages of theirs have changed. Off unless the settings say otherwise.

Only addresses in the catalogue count. Whether a key is the site's own is for the crawler to see
(`recrawl.crawl.push.key_checks`): until it has, the answer is 202, and the signals wait.

A stranger must not keep others out: what is bounded is bounded per address first, and before anything is read.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Sequence

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response

from recrawl.crawl.push import index_now
from recrawl.crawl.push.index_now import Ping, PingError
from recrawl.store.records import Signal
from recrawl.web.context import Context
from recrawl.web.safety.callers import INDEXNOW, MOST_PING, Strangers, read_within
from recrawl.web.safety.proxies import client_place
from recrawl.web.safety.throttle import Throttle

MOST_LISTS, LISTS_EACH = 16, 2
"""Lists in memory at once, in all and from one address."""
READ_S, BUSY_S = 20.0, 5.0
"""Within which a list must arrive, and when to come back where there are too many."""
URLS_PER_ATTEMPT = 100
PIECE = 500
"""Addresses spelt at a time, between which others get on."""


def router(context: Context) -> APIRouter:
    """The endpoint; without it in the settings it is not there."""
    routes = APIRouter(include_in_schema=False)
    if not context.config.push.takes_pings:
        return routes
    strangers = Strangers(context.clock, Throttle(burst=60.0, every_s=1.0, burst_of_all=600.0, every_s_of_all=0.1))
    with_keys = Strangers(context.clock, Throttle(burst=10.0, every_s=360.0, burst_of_all=math.inf))
    lists = Counter[str]()

    async def answered(request: Request, read: Callable[[], Ping]) -> Response:
        try:
            ping = await run_in_threadpool(read)
            strangers.charge(request.scope, len(ping.urls) // URLS_PER_ATTEMPT)
            urls = list[str]()
            for start in range(0, len(ping.urls), PIECE):
                urls += await run_in_threadpool(ping.spelt, ping.urls[start : start + PIECE])
        except PingError as error:
            return PlainTextResponse(f"{error}\n", error.status)

        def may_wait() -> bool:
            return ping.proof in context.store.proofs() or with_keys.wait_s(request.scope) == 0.0

        status = await run_in_threadpool(_taken, context, ping.proof, urls, may_wait)
        return _too_many(BUSY_S) if status == 429 else PlainTextResponse("", status)

    async def listed(request: Request) -> Response:
        try:
            async with asyncio.timeout(READ_S):
                body = await read_within(request, MOST_PING)
        except TimeoutError:
            return PlainTextResponse("What was sent took too long.\n", 408, {"Connection": "close"})
        if body is None:
            return PlainTextResponse("What was sent is too large.\n", 413, {"Connection": "close"})
        return await answered(request, lambda: index_now.ping_of_json(body))

    @routes.get(INDEXNOW)
    async def one(request: Request) -> Response:
        wait_s = strangers.wait_s(request.scope)
        if wait_s > 0.0:
            return _too_many(wait_s)
        return await answered(request, lambda: index_now.ping_of_query(request.query_params))

    @routes.post(INDEXNOW)
    async def many(request: Request) -> Response:
        place, wait_s = client_place(request.scope), strangers.wait_s(request.scope)
        if wait_s > 0.0 or lists[place] >= LISTS_EACH or lists.total() >= MOST_LISTS:
            return _too_many(wait_s or BUSY_S)
        lists[place] += 1
        try:
            return await listed(request)
        finally:
            lists[place] -= 1
            if not lists[place]:
                del lists[place]

    return routes


def _taken(context: Context, proof: str, urls: Sequence[str], may_wait: Callable[[], bool]) -> int:
    """The status that says what became of a ping."""
    store, now = context.store, context.now()
    ids = store.numbers(urls).values()
    if not ids:
        return 202  # nobody's file is looked at for what nobody watches
    verdict = index_now.verdict_of(store, proof, now)
    if verdict is not None and not verdict.good:
        return 403

    def record(proof: str) -> int:
        return store.record_signals([Signal(source=id, at=now, came=now, by="indexnow", proof=proof) for id in ids])

    if index_now.is_to_be_seen(verdict, now) and may_wait() and record(proof):
        return 202 if verdict is None else 200
    if verdict is None:
        return 429
    record("")
    return 200


def _too_many(wait_s: float) -> Response:
    return PlainTextResponse("Try again later.\n", 429, {"Retry-After": str(math.ceil(wait_s))})
