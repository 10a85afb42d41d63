"""The gate every request passes, before any route sees it.

In this order: is it meant for us (Host), is it of a sane size, who sends it (session cookie or bearer token), may they
come in, and, if it changes something, was it sent on purpose. A change is refused when its Origin or Sec-Fetch-Site
says that another site made the browser send it, and needs the session's form token, in a field `csrf` or a header
`X-CSRF-Token`. Programs are not browsers: they show a bearer token instead, or, where nothing is locked, come from this
machine without any of the headers by which a browser would give itself away.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recrawl.clock import Clock
from recrawl.web.safety.bodies import TooLargeError, form_fields, read_body, replayed
from recrawl.web.safety.headers import ALWAYS, UNLESS_SET
from recrawl.web.safety.hosts import HostList
from recrawl.web.safety.passwords import Keyhole
from recrawl.web.safety.sessions import Session, Sessions, cookie_in, set_cookie
from recrawl.web.safety.throttle import Throttle

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN = ("/static/", "/favicon.ico", "/healthz", "/readyz", "/login")
"""What anybody may see: nothing of the store."""
MOST_QUERY = 8192
MOST_BODY = 64 * 1024
MOST_IMPORT = 10 * 1024 * 1024
IMPORTS = ("/api/v1/import", "/sources/import")

Refusal = Callable[[Request, int, str], Response]


@dataclass(frozen=True)
class Door:
    """What the gate knows: names, secrets, sessions. One per server.

    Parameters
        hosts: names the server answers to
        keyhole: what opens it
        secure: whether it is reached by https, so that cookies may insist on it
    """

    hosts: HostList
    keyhole: Keyhole = field(default_factory=Keyhole)
    sessions: Sessions = field(default_factory=Sessions)
    throttle: Throttle = field(default_factory=Throttle)
    secure: bool = False


class Gate:
    """ASGI middleware. It leaves `session` and `form` in the request's state."""

    def __init__(self, app: ASGIApp, door: Door, clock: Clock, refusal: Refusal) -> None:
        self._app, self._door, self._clock, self._refusal = app, door, clock, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        session = self._door.sessions.read(cookie_in(headers.get("cookie")), self._clock.now())
        fresh = session is None and _is_page(scope)
        if session is None:
            session = self._door.sessions.begin(self._clock.now(), member=not self._door.keyhole.locked)
        cookie = self._door.sessions.cookie(session) if fresh else None
        state = scope.setdefault("state", {})
        state["session"], state["form"] = session, {}
        state["programme"] = self._bearer(headers)
        sender = _sealed(send, cookie, self._door.secure)
        refused = self._refused(scope, headers, session, state["programme"])
        if refused is None and scope["method"] not in SAFE:
            receive, refused = await self._opened(scope, headers, receive, session)
        if refused is not None:
            await refused(scope, receive, sender)
            return
        await self._app(scope, receive, sender)

    def _bearer(self, headers: Headers) -> bool:
        """Whether it shows the token."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and self._door.keyhole.takes_token(token.strip())

    def _refused(self, scope: Scope, headers: Headers, session: Session, programme: bool) -> Response | None:
        request = Request(scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._door.hosts.allows(hosts[0]):
            text = "This server does not answer to that name. If the name is yours, start it with --allow-host NAME."
            return self._refusal(request, 421, text)
        if len(scope.get("query_string", b"")) > MOST_QUERY or len(scope["path"]) > MOST_QUERY:
            return self._refusal(request, 414, "The address is too long.")
        if self._door.keyhole.locked and not (programme or session.member or _is_open(scope["path"])):
            return self._refusal(request, 401, "Log in, or send the token as `Authorization: Bearer …`.")
        return None

    async def _opened(
        self, scope: Scope, headers: Headers, receive: Receive, session: Session
    ) -> tuple[Receive, Response | None]:
        """Read the body of a change, and see whether it was sent on purpose."""
        request = Request(scope)
        try:
            body = await read_body(receive, MOST_IMPORT if scope["path"] in IMPORTS else MOST_BODY)
        except TooLargeError:
            return receive, self._refusal(request, 413, "What was sent is too large.")
        form = form_fields(headers.get("content-type", ""), body)
        scope["state"]["form"] = form
        again = replayed(body, receive)
        if scope["state"]["programme"]:
            return again, None
        if not _same_origin(headers):
            return again, self._refusal(request, 403, "This was sent by a page of another site, and not done.")
        if self._door.sessions.vouches(self._known(headers), form.get("csrf") or headers.get("x-csrf-token")):
            return again, None
        if _is_programme(scope, headers) and not self._door.keyhole.locked:
            return again, None
        text = "The form was too old, or not ours, and nothing was done. Go back, reload the page and try again."
        return again, self._refusal(request, 403, text)

    def _known(self, headers: Headers) -> Session | None:
        return self._door.sessions.read(cookie_in(headers.get("cookie")), self._clock.now())


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
