"""Who is let in: whoever has a reader's password, and then whoever shows the token that was given for it.

Wrong ones are limited. Nothing is said that tells a name that is there from one that is not, in words or in time.
"""

from __future__ import annotations

import math

from starlette.requests import Request

from recrawl.clock import Clock
from recrawl.store.reader_records import Reader
from recrawl.store.roles import Readers
from recrawl.web.reader_api.credentials import is_name, stand_in, token_of, whose
from recrawl.web.safety.credentials import matches
from recrawl.web.safety.proxies import client_place
from recrawl.web.safety.throttle import Throttle


class TooManyError(Exception):
    """Too many wrong passwords or tokens came from one place.

    Parameters
        wait_s: until there may be another
    """

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"too many wrong ones: try again in {math.ceil(wait_s)} s")
        self.wait_s = wait_s


class Doorkeeper:
    """Lets readers in.

    Parameters
        logins: attempts at passwords, which cost much to look at
        guesses: wrong tokens, per client alone, so that nobody's guessing keeps others out
    """

    def __init__(self, store: Readers, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._logins = Throttle()
        self._guesses = Throttle(burst=20.0, burst_of_all=math.inf)

    def log_in(self, request: Request, name: str, password: str) -> str | None:
        """A token for the right password, None for a wrong one."""
        place, now = client_place(request.scope), self._clock.now()
        wait_s = self._logins.wait_s(place, now)
        if wait_s > 0.0:
            raise TooManyError(wait_s)
        known = name.strip().lower()
        reader = self._store.reader(known) if is_name(known) else None
        right = matches(password, reader.password if reader is not None else stand_in())
        if reader is None or not right:
            return None
        self._logins.charge(place, now, -1.0)
        return token_of(reader, now)

    def reader(self, request: Request) -> Reader | None:
        """Whoever shows a token that is good; None for everybody else."""
        kind, _, shown = request.headers.get("authorization", "").partition(" ")
        name, _, token = shown.strip().partition("=")
        if kind.lower() != "googlelogin" or name.strip().lower() != "auth":
            return None
        return self.whose(request, token)

    def whose(self, request: Request, token: str) -> Reader | None:
        """Whose token it is, wherever in the request it stood."""
        place, now = client_place(request.scope), self._clock.now()
        wait_s = self._guesses.wait_s(place, now, take=False)
        if wait_s > 0.0:
            raise TooManyError(wait_s)
        reader = whose(self._store, token.strip().strip('"'), now)
        if reader is None:
            self._guesses.wait_s(place, now)
        return reader
