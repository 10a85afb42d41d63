"""Sessions: a signed cookie says who one is, and a token bound to it proves that a form is ours.

A cookie is `id.expiry.level.signature`; the key is made anew at every start, so nobody stays logged in across one. A
page's forms carry a token derived from the session's id: a page of another origin can send our cookie (SameSite forbids
even that), but cannot know the token.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass

COOKIE = "recrawl_session"
LASTS_S = 14 * 86400
REMEMBERED = 10_000
"""Sessions ended before their time that are remembered."""


@dataclass(frozen=True, slots=True)
class Session:
    """One browser. `member` if it has shown the password, or if none is needed."""

    id: str
    expires: int
    member: bool
    token: str
    """For forms."""


class Sessions:
    """Makes, reads and ends sessions."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = secrets.token_bytes(32) if key is None else key
        self._ended: OrderedDict[str, None] = OrderedDict()

    def begin(self, now: float, *, member: bool) -> Session:
        """A new one."""
        id, expires = secrets.token_urlsafe(24), int(now) + LASTS_S
        return Session(id, expires, member, self._form_token(id))

    def cookie(self, session: Session) -> str:
        """What to send to the browser."""
        text = f"{session.id}.{session.expires}.{int(session.member)}"
        return f"{text}.{self._sign('cookie', text)}"

    def read(self, cookie: str, now: float) -> Session | None:
        """The session a cookie stands for, if it is ours, not over and not ended."""
        text, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign("cookie", text).encode()):
            return None
        id, expires, member = text.split(".")
        if int(expires) <= now or id in self._ended:
            return None
        return Session(id, int(expires), member == "1", self._form_token(id))

    def end(self, session: Session) -> None:
        """Its cookie is worth nothing from now on."""
        self._ended[session.id] = None
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    def vouches(self, session: Session | None, token: str | None) -> bool:
        """Whether a form with this token was made for this session."""
        if session is None or not token:
            return False
        return hmac.compare_digest(token.encode("utf-8", "replace"), session.token.encode())

    def _form_token(self, id: str) -> str:
        return self._sign("form", id)

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode("utf-8", "replace"), "sha256").hexdigest()


def cookie_in(header: str | None) -> str:
    """Our cookie's value in a Cookie header; empty if it is not there.

    >>> cookie_in("a=b; recrawl_session=x.y; c=d"), cookie_in(None)
    ('x.y', '')
    """
    for part in (header or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def set_cookie(value: str, *, secure: bool, lasts_s: int = LASTS_S) -> str:
    """The Set-Cookie header for a session."""
    return f"{COOKIE}={value}; Path=/; Max-Age={lasts_s}; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")
