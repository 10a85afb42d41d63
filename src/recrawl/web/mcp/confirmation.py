"""Asking twice, where a client cannot ask its user: what is to be done is told first, and done when it is said again.

A code is good for one change, the very one it was given for, once, and for ten minutes. It shows that the client was
told to ask, not that it did: only a client that asks its user itself ("elicitation") can show that.
"""

from __future__ import annotations

import secrets
import threading

GOOD_FOR_S = 600.0
MOST = 1000
"""Codes waiting at a time; the oldest is forgotten for a new one."""


class Confirmations:
    """Codes that were given out, and what for. Its methods may be called from many threads."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def ask(self, what: str, now: float) -> str:
        """A code for a change, which is described in full."""
        code = secrets.token_urlsafe(9)
        with self._lock:
            self._waiting[code] = (what, now + GOOD_FOR_S)
            if len(self._waiting) > MOST:
                del self._waiting[next(iter(self._waiting))]
        return code

    def given(self, code: str, what: str, now: float) -> bool:
        """Whether this change was asked about under that code; it is good no more afterwards."""
        with self._lock:
            asked, until = self._waiting.pop(code, ("", 0.0))
        return asked == what and now < until
