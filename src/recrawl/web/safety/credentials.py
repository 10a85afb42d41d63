"""Passwords and tokens: kept as hashes, compared in constant time.

A password is hashed by scrypt [RFC 7914], with N = 2¹⁵, r = 8, p = 1 (32 MiB, some 100 ms), and written as one line,
`scrypt$15$8$1$salt$hash`, so that a file of it can be made here and read by another version with other numbers. A token
is long and random, so one round of SHA-256 is enough.
"""

from __future__ import annotations

import hmac
import os
from base64 import b64decode, b64encode
from hashlib import scrypt, sha256
from pathlib import Path
from threading import BoundedSemaphore

from recrawl.errors import ConfigError, OutputError, ParameterError

COST, BLOCK, LANES = 15, 8, 1
LEAST_CHARACTERS, MOST_CHARACTERS = 8, 1024
MOST_MEMORY = 256 * 2**20
AT_ONCE = BoundedSemaphore(2)
"""Hashing is costly on purpose: no more than two at a time, however many knock."""


def hashed(password: str, salt: bytes | None = None) -> str:
    """The line to keep instead of a password."""
    if not LEAST_CHARACTERS <= len(password) <= MOST_CHARACTERS:
        expected = f"{LEAST_CHARACTERS} to {MOST_CHARACTERS} characters"
        raise ParameterError("password", expected, f"one of {len(password)}")
    salt = os.urandom(16) if salt is None else salt
    digest = _scrypt(password, salt, COST, BLOCK, LANES)
    return f"scrypt${COST}${BLOCK}${LANES}${b64encode(salt).decode()}${b64encode(digest).decode()}"


def matches(password: str, line: str) -> bool:
    """Whether a password is the one a line was made from."""
    name, cost, block, lanes, salt, digest = line.split("$")
    if name != "scrypt":
        raise ValueError(name)
    if len(password) > MOST_CHARACTERS:
        return False
    with AT_ONCE:
        found = _scrypt(password, b64decode(salt), int(cost), int(block), int(lanes))
    return hmac.compare_digest(found, b64decode(digest))


def _scrypt(password: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    data = password.encode("utf-8", "surrogatepass")
    return scrypt(data, salt=salt, n=2**cost, r=block, p=lanes, maxmem=MOST_MEMORY, dklen=32)


def checked(line: str, where: str) -> str:
    """A line read from somewhere, if it can be used; ConfigError naming the place otherwise."""
    try:
        matches("", line.strip())
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise ConfigError(f"{where}: not a password kept by `recrawl serve --set-password`") from error
    return line.strip()


def read_file(path: Path) -> str:
    """The hash kept in a file."""
    try:
        return checked(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the password cannot be read ({error})") from error


def write_file(path: Path, password: str) -> None:
    """Keep a password's hash in a file that only its owner may read."""
    line = hashed(password)
    fresh = path.with_name(path.name + ".new")
    try:
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(line + "\n")
        fresh.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: the password cannot be written ({error.strerror or error})") from error


class Credentials:
    """What lets somebody in: a password, a token, both, or nothing at all.

    Parameters
        password: the line `hashed` gives, or None
        token: as given to programs, or None
    """

    def __init__(self, password: str | None = None, token: str | None = None) -> None:
        if token is not None and len(token) < 2 * LEAST_CHARACTERS:
            raise ParameterError("token", f"at least {2 * LEAST_CHARACTERS} characters", f"one of {len(token)}")
        self._password = password
        self._token = sha256(token.encode("utf-8", "surrogatepass")).digest() if token is not None else None

    @property
    def locked(self) -> bool:
        """Whether anything is needed to come in."""
        return self._password is not None or self._token is not None

    @property
    def has_token(self) -> bool:
        """Whether there is a token to show."""
        return self._token is not None

    def takes_token(self, token: str) -> bool:
        """Whether it is the token."""
        given = sha256(token.encode("utf-8", "surrogatepass")).digest()
        return self._token is not None and hmac.compare_digest(given, self._token)

    def takes(self, secret: str) -> bool:
        """Whether it is the password, or the token; takes a tenth of a second."""
        if self.takes_token(secret):
            return True
        return self._password is not None and matches(secret, self._password)
