"""What the server's errors mean to a person, and what can be done about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

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
FULL = "53100"


class SilenceError(Exception):
    """The server took longer than it may."""


def is_away(error: BaseException) -> bool:
    """Whether the connection is of no more use."""
    state = getattr(error, "sqlstate", None) or ""
    if isinstance(error, asyncpg.PostgresError):
        return state.startswith(("08", "57P", "25P03"))
    away = (SilenceError, OSError, asyncpg.InterfaceError, asyncpg.InternalClientError)
    return isinstance(error, away) and not isinstance(error, ValueError)


def meaning(error: BaseException) -> str:
    """In words, with the server's own in brackets."""
    state = getattr(error, "sqlstate", None) or ""
    for beginning, words in _MEANING:
        if state.startswith(beginning):
            return f"{words} ({_said(error)})"
    if isinstance(error, SilenceError):
        return f"the server did not answer in {error} s. The next call tries again"
    if isinstance(error, ValueError | OverflowError):  # among them what the driver cannot encode
        return f"a value does not fit ({_said(error)})"
    if is_away(error):
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
    except StoreError:
        raise
    except asyncpg.DiskFullError as error:
        raise StoreFullError(
            f"store {name}: the server has no space left; nothing of the last write was kept. Make room, or run "
            f"`recrawl vacuum` ({_said(error)})"
        ) from error
    except (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
        SilenceError,
        OSError,
        OverflowError,
    ) as error:
        raise StoreError(f"store {name}: {meaning(error)}") from error
