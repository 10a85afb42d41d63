"""Sessions: a signed cookie says who one is, and a token bound to it proves that a form is ours.

A cookie is `id.expiry.level.signature`, signed by itsdangerous; the expiry is judged by the server's own clock. The key
is made anew at every start, so nobody stays logged in across one. A page's forms carry a token derived from the
session's id: a page of another origin can send our cookie (SameSite forbids even that), but cannot know the token.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256

from itsdangerous import BadSignature, Signer

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
        key = secrets.token_bytes(32) if key is None else key
        self._cookies, self._forms = (Signer(key, purpose, digest_method=sha256) for purpose in ("cookie", "form"))
        self._ended: OrderedDict[str, None] = OrderedDict()

    def begin(self, now: float, *, member: bool) -> Session:
        """A new one."""
        return self._session(secrets.token_urlsafe(24), int(now) + LASTS_S, member)

    def cookie(self, session: Session) -> str:
        """What to send to the browser."""
        return self._cookies.sign(f"{session.id}.{session.expires}.{int(session.member)}").decode()

    def read(self, cookie: str, now: float) -> Session | None:
        """The session a cookie stands for, if it is ours, not over and not ended."""
        try:
            id, expires, member = self._cookies.unsign(cookie.encode("utf-8", "replace")).decode().split(".")
        except BadSignature:
            return None
        over = int(expires) <= now or id in self._ended
        return None if over else self._session(id, int(expires), member == "1")

    def end(self, session: Session) -> None:
        """Its cookie is worth nothing from now on."""
        self._ended[session.id] = None
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    def vouches(self, session: Session | None, token: str | None) -> bool:
        """Whether a form with this token was made for this session."""
        return session is not None and self._forms.verify_signature(
            session.id, (token or "").encode("utf-8", "replace")
        )

    def _session(self, id: str, expires: int, member: bool) -> Session:
        return Session(id, expires, member, self._forms.get_signature(id).decode())


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
