"""What the server's errors mean to a person, and what can be done about them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from recrawl.errors import StoreError, StoreFullError

_AWAY = "the server does not answer, or went away: is it running, and can it be reached? The next call tries again"
_MEANING: tuple[tuple[str, str], ...] = (
    ("28", "the server refused the user or the password: set PGPASSWORD or write ~/.pgpass, and check the user's name"),
    ("3D000", "there is no such database: make one with createdb"),
    ("22", "a value does not fit"),
    ("25P03", "nothing was heard from here for too long in the middle of a write. The next call tries again"),
    ("25006", "it can only be read: it was opened so, or the server is a standby"),
    ("42501", "the user may not do that: it needs CREATE on the database, and to own the store's tables"),
    ("42P01", "a table of it is missing: was it dropped?"),
    ("3F000", "its schema is missing: was it dropped?"),
    ("53300", "the server has no connections left"),
    ("53200", "the server has not enough memory"),
    ("53400", "a limit set on the server was reached"),
    ("54", "something in it is larger than the server can hold"),
    ("57014", "the server cancelled the work"),
    ("57P03", "the server is starting or stopping: try again"),
    ("57P", _AWAY),
    ("08", _AWAY),
    ("40", "others wrote to the same rows all the time: try again"),
    ("55P03", "another program holds what is needed and did not finish in time: try again"),
    ("58", "the server's disk did not do what it was asked to"),
    ("XX001", "the database is damaged"),
    ("XX002", "the database is damaged"),
)
# Of a connection that was refused there is no state, only the server's words.
_REFUSALS = (
    (re.compile("database .* does not exist"), "3D000"),
    (re.compile('password|role "|pg_hba'), "28"),
    (re.compile("too many|slots"), "53300"),
    (re.compile("starting up|shutting down|recovery"), "57P03"),
)


def _state(error: BaseException) -> str:
    state: str | None = getattr(error, "sqlstate", None)
    if state is None and isinstance(error, psycopg.OperationalError):
        words = str(error).rpartition(" failed: ")[2]
        state = next((state for pattern, state in _REFUSALS if pattern.search(words)), None)
    return state or ""


def meaning(error: BaseException) -> str:
    """In words, with the server's own in brackets."""
    state = _state(error)
    for beginning, words in _MEANING:
        if state.startswith(beginning):
            return f"{words} ({_said(error)})"
    if isinstance(error, OverflowError | psycopg.DataError):  # what the driver cannot encode
        return f"a value does not fit ({_said(error)})"
    if not state and isinstance(error, OSError | psycopg.OperationalError | psycopg.InterfaceError):
        return f"{_AWAY} ({_said(error)})"
    return _said(error)


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:299] + "…"


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Turn errors of the driver, the server and the network into ours."""
    try:
        yield
    except psycopg.errors.DiskFull as error:
        raise StoreFullError(
            f"store {name}: the server has no space left; nothing of the last write was kept. Make room, or run "
            f"`recrawl vacuum` ({_said(error)})"
        ) from error
    except (psycopg.Error, OSError, OverflowError) as error:
        raise StoreError(f"store {name}: {meaning(error)}") from error
