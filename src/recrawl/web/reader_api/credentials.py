"""What makes a reader known: an app password, given once, for a token that every further request shows.

Passwords are made here, long and random, and kept as slow, salted hashes. A token says whose it is and since when, and
is signed with a key of that reader's: with another password comes another key, and every token given before is worth
nothing. Who shows one is let in by `door`.
"""

from __future__ import annotations

import hmac
import re
import secrets
from functools import cache

from recrawl.errors import ParameterError
from recrawl.store.reader_records import Reader
from recrawl.store.roles import Readers
from recrawl.web.safety.credentials import hashed

_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}", re.ASCII)
_TOKEN = re.compile(r"([a-z0-9][a-z0-9._@+-]{0,63})/([0-9a-f]{8,12})-([0-9a-f]{64})", re.ASCII)
LIFE_S = 365 * 86400.0
"""How long a token is good for; programs then show the password anew."""
WRITE_TOKEN = 57
"""Characters of the token for changes, as Google's had."""


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


@cache
def stand_in() -> str:
    """What the password of somebody who is not there is held against: that takes as long as with anybody."""
    return hashed("somebody who is not there")


def _signed(reader: Reader, text: str) -> str:
    return hmac.new(reader.key.encode(), f"{reader.id}\0{reader.name}\0{text}".encode(), "sha256").hexdigest()


def is_name(text: str) -> bool:
    """Whether a reader may be called that."""
    return bool(_NAME.fullmatch(text))


def whose(store: Readers, token: str, now: float) -> Reader | None:
    """The reader whose token it is, if it is good now."""
    parts = _TOKEN.fullmatch(token)
    if parts is None:
        return None
    found = store.reader(parts[1])
    reader = found or Reader(name=parts[1], password="", key="nobody's")
    right = hmac.compare_digest(_signed(reader, parts[2]), parts[3])
    return found if right and 0.0 <= now - int(parts[2], 16) + 1.0 <= LIFE_S else None
