"""Who sends a request, and whether it may pass: asked of every request, before any route sees it.

By the head alone, before a byte of a body is read: is it meant for us (Host), is it of a sane size, who sends it
(session cookie or bearer token), may they come in, and, if it changes something, can it have been sent on purpose. A
change is refused when its Origin or Sec-Fetch-Site says that another site made the browser send it, and needs the
session's form token, in a header `X-CSRF-Token` or, for the forms of our pages, in a field `csrf`; only for that field
is a body read that nobody vouches for yet. Programs are not browsers: they show a bearer token instead, or, where
nothing is locked, come from this machine without any of the headers by which a browser would give itself away.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recrawl.clock import Clock
from recrawl.web.safety.access import Access
from recrawl.web.safety.callers import is_call
from recrawl.web.safety.headers import ALWAYS, UNLESS_SET
from recrawl.web.safety.hosts import HostList
from recrawl.web.safety.proxies import client_place
from recrawl.web.safety.readers import is_of_reader
from recrawl.web.safety.request_bodies import (
    MULTIPART,
    URLENCODED,
    BodyError,
    announced,
    form_fields,
    kind_of,
    read_body,
    replayed,
)
from recrawl.web.safety.sessions import Session, cookie_in, set_cookie

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN = ("/static/", "/favicon.ico", "/healthz", "/readyz", "/login")
"""What anybody may see: nothing of the store."""
MOST_QUERY = 8192
MOST_HEADERS = 100
MOST_BODY = 64 * 1024
MOST_IMPORT = 10 * 1024 * 1024
IMPORTS = ("/api/v1/import", "/sources/import")
MOST_IMPORTS = 4
"""Lists in memory at once."""
LINGER_S, MOST_LINGERING = 5.0, 2
"""How long the rest of a body that was refused is passed over, so that the sender comes to read why; of how many."""
FORGED = "The form was too old, or not ours, and nothing was done. Go back, reload the page and try again."

Refusal = Callable[[Request, int, str], Response]


@dataclass(frozen=True)
class Refused:
    """An answer instead of what was asked for."""

    status: int
    words: str
    retry_s: float = 0.0


class Authentication:
    """ASGI middleware. It leaves `session`, `form`, `programme` and `secure` in the request's state."""

    def __init__(self, app: ASGIApp, access: Access, clock: Clock, refusal: Refusal) -> None:
        self._app, self._access, self._clock, self._refusal = app, access, clock, refusal
        self._imports = self._lingering = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if is_call(scope["path"]):
            await self._call(scope, receive, send, self._access.callers)
            return
        if is_of_reader(scope["path"]):
            await self._call(scope, receive, send, self._access.hosts)
            return
        headers = Headers(scope=scope)
        known = self._access.sessions.read(cookie_in(headers.get("cookie")), self._clock.now())
        session = known or self._access.sessions.begin(self._clock.now(), member=not self._access.credentials.locked)
        cookie = self._access.sessions.cookie(session) if known is None and _is_page(scope) else None
        state = scope.setdefault("state", {})
        state["session"], state["form"], state["programme"] = session, {}, False
        state["secure"] = self._access.secure or scope["scheme"] == "https"
        sender = _sealed(send, cookie, state["secure"])
        refused = self._refused(scope, headers, session)
        if refused is None and scope["method"] in SAFE:
            await self._app(scope, receive, sender)
        elif refused is None:
            await self._change(scope, headers, known, receive, sender)
        else:
            await self._answer(refused, scope, announced(headers), receive, sender)

    async def _call(self, scope: Scope, receive: Receive, send: Send, names: HostList) -> None:
        """Of a hub, site or reader: it shows what it knows to the route itself, which reads no more than it must."""
        refused = _refused_head(scope, Headers(scope=scope), names)
        sender = _sealed(send, None, secure=False)
        if refused is None:
            await self._app(scope, receive, sender)
        else:
            await PlainTextResponse(refused.words + "\n", refused.status)(scope, receive, sender)

    def _refused(self, scope: Scope, headers: Headers, session: Session) -> Refused | None:
        """What can be said of any request by its head."""
        refused = _refused_head(scope, headers, self._access.hosts)
        if refused is not None:
            return refused
        wait_s = self._read_bearer(scope, headers)
        if wait_s > 0.0:
            return Refused(429, "Too many wrong tokens came from there: try again later.", wait_s)
        programme = scope["state"]["programme"]
        if self._access.credentials.locked and not (programme or session.member or _is_open(scope["path"])):
            return Refused(401, "Log in, or send the token as `Authorization: Bearer …`.")
        return None

    def _read_bearer(self, scope: Scope, headers: Headers) -> float:
        """See whether it shows the token; how long to wait if too many wrong ones came from the same place."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not self._access.credentials.has_token:
            return 0.0
        right = self._access.credentials.takes_token(token.strip())
        wait_s = self._access.guesses.wait_s(client_place(scope), self._clock.now(), take=not right)
        scope["state"]["programme"] = right and wait_s == 0.0
        return wait_s

    async def _change(
        self, scope: Scope, headers: Headers, known: Session | None, receive: Receive, send: Send
    ) -> None:
        """Let a change through if it was sent on purpose; its body is read here, and only if need be."""
        limit = _limit(scope["path"], headers)
        large = limit > MOST_BODY
        refused, vouched = self._refused_change(scope, headers, known, limit)
        if refused is None and large and self._imports >= MOST_IMPORTS:
            refused = Refused(503, "Other lists are being taken in: try again in a moment.", LINGER_S)
        if refused is not None:
            await self._answer(refused, scope, announced(headers), receive, send)
            return
        self._imports += large
        try:
            body = await read_body(receive, limit, announced(headers))
            if not scope["path"].startswith("/api/"):
                form = scope["state"]["form"] = await _form(headers, body)
                vouched = vouched or self._access.sessions.vouches(known, form.get("csrf"))
            if not vouched:
                raise BodyError(403, FORGED)
            await self._app(scope, replayed(body, receive), send)
        except BodyError as error:
            rest = None if error.status == 413 else 0
            await self._answer(Refused(error.status, error.words), scope, rest, receive, send)
        finally:
            self._imports -= large

    def _refused_change(
        self, scope: Scope, headers: Headers, known: Session | None, limit: int
    ) -> tuple[Refused | None, bool]:
        """What can be said of a change by its head: why it is refused, and whether it is known to be on purpose."""
        vouched = scope["state"]["programme"]
        if not vouched and not _same_origin(headers):
            return Refused(403, "This was sent by a page of another site, and not done."), False
        page = not scope["path"].startswith("/api/")
        vouched = vouched or self._access.sessions.vouches(known, headers.get("x-csrf-token"))
        vouched = vouched or (_is_programme(scope, headers) and not self._access.credentials.locked)
        kind = kind_of(headers)
        if not vouched and (known is None or not page or kind not in (URLENCODED, MULTIPART)):
            return Refused(403, FORGED), False
        if not vouched and announced(headers) is None:
            return Refused(411, "Say beforehand how long it is."), False
        if not page and kind == MULTIPART:
            return Refused(415, "Send the list itself, not a form with it inside."), False
        if (announced(headers) or 0) > limit:
            return Refused(413, "What was sent is too large."), False
        return None, vouched

    async def _answer(self, refused: Refused, scope: Scope, rest: int | None, receive: Receive, send: Send) -> None:
        """Say why not. Pages ask the store, so they are made off the loop.

        What comes of the rest of a body is passed over for a moment: cut off at once, the sender would see a broken
        connection instead of the answer. A rest of unknown length is, and that of many senders at a time.
        """
        answer = await run_in_threadpool(self._refusal, Request(scope), refused.status, refused.words)
        if refused.retry_s > 0.0:
            answer.headers["Retry-After"] = str(math.ceil(refused.retry_s))
        if rest == 0:
            await answer(scope, receive, send)
            return
        answer.headers["Connection"] = "close"
        await answer(scope, receive, _unfinished(send))
        if rest is not None and rest <= 2 * MOST_IMPORT and self._lingering < MOST_LINGERING:
            self._lingering += 1
            try:
                await _pass_over(receive)
            finally:
                self._lingering -= 1
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _refused_head(scope: Scope, headers: Headers, names: HostList) -> Refused | None:
    """Whether it is meant for us, and of a sane size."""
    if len(scope["headers"]) > MOST_HEADERS:
        return Refused(431, "There are too many headers.")
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not names.allows(hosts[0]):
        text = "This server does not answer to that name. If the name is yours, start it with --allow-host NAME."
        return Refused(421, text)
    if len(scope.get("query_string", b"")) > MOST_QUERY or len(scope["path"]) > MOST_QUERY:
        return Refused(414, "The address is too long.")
    if scope["method"] in SAFE and announced(headers) != 0:
        return Refused(400, "Something was sent along with a question that needs nothing.")
    return None


def _limit(path: str, headers: Headers) -> int:
    """How many bytes a body may have. Lists come as files or bare: in a form without files each byte costs more."""
    if path not in IMPORTS or (not path.startswith("/api/") and kind_of(headers) == URLENCODED):
        return MOST_BODY
    return MOST_IMPORT


async def _form(headers: Headers, body: bytes) -> dict[str, str]:
    content_type = headers.get("content-type", "")
    if len(body) <= MOST_BODY:
        return form_fields(content_type, body)
    return await asyncio.to_thread(form_fields, content_type, body)


async def _pass_over(receive: Receive) -> None:
    """Take the rest of a body for a while, and forget it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while (await receive()).get("more_body", False):
                pass


def _unfinished(send: Send) -> Send:
    """A `send` after which there is an end still to be sent."""

    async def unfinished(message: Message) -> None:
        await send({**message, "more_body": True} if message["type"] == "http.response.body" else message)

    return unfinished


def _is_page(scope: Scope) -> bool:
    """Whether a browser that opens this may need a session."""
    path = scope["path"]
    return (
        scope["method"] in ("GET", "HEAD")
        and not path.startswith(("/static/", "/api/", "/go/"))
        and path
        not in (
            "/healthz",
            "/readyz",
            "/metrics",
        )
    )


def _is_open(path: str) -> bool:
    return any(path == each or (each.endswith("/") and path.startswith(each)) for each in OPEN)


def _same_origin(headers: Headers) -> bool:
    """What browsers say of where a request comes from; programs say nothing."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2].lower() == headers.get("host", "").lower()


def _is_programme(scope: Scope, headers: Headers) -> bool:
    """A request to the API that no browser makes on its own."""
    told = ("origin", "cookie", "sec-fetch-site", "sec-fetch-mode", "referer")
    return scope["path"].startswith("/api/") and not any(name in headers for name in told)


def _sealed(send: Send, cookie: str | None, secure: bool) -> Callable[[Message], Awaitable[None]]:
    """A `send` that adds what every answer carries."""

    async def sealed(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", [])}
            more = [each for each in (*ALWAYS, *UNLESS_SET) if each[0] not in present]
            if cookie is not None and b"set-cookie" not in present:
                more.append((b"set-cookie", set_cookie(cookie, secure=secure).encode()))
            message["headers"] = [*message.get("headers", []), *more]
        await send(message)

    return sealed
