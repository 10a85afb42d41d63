"""Calls from outside that need no login: hubs at the callback of WebSub, sites at IndexNow.

A hub shows that it is meant by a token in the path that nobody can guess, and signs what it sends; a site has its key
in a file of its own. Both only say that something has changed: nothing they send is kept. They may come by the public
name of the settings (`push.callback`), by which the pages and the API do not answer.
"""

from __future__ import annotations

from starlette.requests import ClientDisconnect, Request
from starlette.types import Scope

from recrawl.clock import Clock
from recrawl.crawl.push.subscriptions import PATH
from recrawl.web.safety.proxies import client_place
from recrawl.web.safety.throttle import Throttle

INDEXNOW = "/indexnow"
MOST_MESSAGE, MOST_PING = 10 * 1024 * 1024, 2 * 1024 * 1024
"""Bytes of what a hub sends, which is not kept, and of a list of addresses."""


def is_call(path: str) -> bool:
    """Whether a request is one of these."""
    return path.startswith(PATH) or path == INDEXNOW


class Strangers:
    """How often somebody unknown may try."""

    def __init__(self, clock: Clock, throttle: Throttle) -> None:
        self._clock, self._throttle = clock, throttle

    def wait_s(self, scope: Scope) -> float:
        """How long this one has to wait before another attempt, which is taken if it is none."""
        return self._throttle.wait_s(client_place(scope), self._clock.now())

    def charge(self, scope: Scope, attempts: float) -> None:
        """What this one asked for counts as further attempts."""
        self._throttle.charge(client_place(scope), self._clock.now(), attempts)


async def read_within(request: Request, most: int) -> bytes | None:
    """A body of at most so many bytes; None for a longer one, or one that ends early."""
    if _announced(request) > most:
        return None
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > most:
                return None
            parts.append(part)
    except ClientDisconnect:
        return None
    return b"".join(parts)


def _announced(request: Request) -> int:
    said = request.headers.get("content-length", "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) <= 18 else 0
