"""Who a reader is: an app password, given once, for a token that every further request shows.

Passwords are made here, long and random, and kept as slow, salted hashes. A token says whose it is and since when, and
is signed with a key of that reader's: with another password comes another key, and every token given before is worth
nothing. Nothing is said that tells a name that is there from one that is not, in words or in time.
"""

from __future__ import annotations

import hmac
import math
import re
import secrets

from starlette.requests import Request

from recrawl.clock import Clock
from recrawl.errors import ParameterError
from recrawl.store.reader_records import Reader
from recrawl.store.roles import Readers
from recrawl.web.safety.credentials import hashed, matches
from recrawl.web.safety.proxies import client_place
from recrawl.web.safety.throttle import Throttle

_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}", re.ASCII)
_TOKEN = re.compile(r"([a-z0-9][a-z0-9._@+-]{0,63})/([0-9a-f]{8,12})-([0-9a-f]{64})", re.ASCII)
LIFE_S = 365 * 86400.0
"""How long a token is good for; programs then show the password anew."""
WRITE_TOKEN = 57
"""Characters of the token for changes, as Google's had."""
_STAND_IN = hashed("somebody who is not there")


class TooManyError(Exception):
    """Too many wrong passwords or tokens came from one place.

    Parameters
        wait_s: until there may be another
    """

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"too many wrong ones: try again in {math.ceil(wait_s)} s")
        self.wait_s = wait_s


def new_reader(name: str, at: float) -> tuple[Reader, str]:
    """Somebody new, and the password, which is kept nowhere."""
    known = name.strip().lower()
    if not _NAME.fullmatch(known):
        expected = "1 to 64 of the letters a to z, digits and . _ @ + -, beginning with a letter or digit"
        raise ParameterError("the reader's name", expected, repr(name))
    password, line, key = new_password()
    return Reader(name=known, password=line, key=key, added=at), password


def new_password() -> tuple[str, str, str]:
    """A password, its hash, and a key for tokens."""
    password = "-".join(secrets.token_hex(3) for _ in range(4))
    return password, hashed(password), secrets.token_hex(32)


def token_of(reader: Reader, at: float) -> str:
    """What lets a reader's program in from now on."""
    return f"{reader.name}/{int(at):08x}-{_signed(reader, f'{int(at):08x}')}"


def write_token(reader: Reader) -> str:
    """What programs send along with changes. Nobody is let in by it, and nothing rests on it."""
    return _signed(reader, "write")[:WRITE_TOKEN]


def _signed(reader: Reader, text: str) -> str:
    return hmac.new(reader.key.encode(), f"{reader.id}\0{reader.name}\0{text}".encode(), "sha256").hexdigest()


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
        reader = self._store.reader(known) if _NAME.fullmatch(known) else None
        right = matches(password, reader.password if reader is not None else _STAND_IN)
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
        place, now = client_place(request.scope), self._clock.now()
        wait_s = self._guesses.wait_s(place, now, take=False)
        if wait_s > 0.0:
            raise TooManyError(wait_s)
        reader = self._whose(token.strip().strip('"'), now)
        if reader is None:
            self._guesses.wait_s(place, now)
        return reader

    def _whose(self, token: str, now: float) -> Reader | None:
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            return None
        found = self._store.reader(parts[1])
        reader = found or Reader(name=parts[1], password="", key="nobody's")
        right = hmac.compare_digest(_signed(reader, parts[2]), parts[3])
        return found if right and 0.0 <= now - int(parts[2], 16) + 1.0 <= LIFE_S else None
