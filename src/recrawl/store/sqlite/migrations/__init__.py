"""The schema, as numbered steps: `NNN_what.sql`, applied in order, all pending ones in one transaction.

A step that was released is never edited: databases that took it do not take it again. `user_version` in the file's
header is the number of the last step taken.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from importlib.resources import files


@cache
def steps() -> tuple[str, ...]:
    """The scripts, in order; step n is the n-th of them."""
    scripts = sorted((f for f in files(__name__).iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return tuple(f.read_text(encoding="utf-8") for f in scripts)


def statements(script: str) -> list[str]:
    """The statements of a script, triggers whole.

    >>> statements("CREATE TABLE a (b);\\nCREATE TABLE c (d);\\n")
    ['CREATE TABLE a (b);', 'CREATE TABLE c (d);']
    """
    found, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending.strip())
            pending = ""
    return found


def migrate(connection: sqlite3.Connection) -> None:
    """Take the steps this database has not taken; called inside a transaction, which the caller commits."""
    taken = connection.execute("PRAGMA user_version").fetchone()[0]
    for number, script in enumerate(steps()[taken:], taken + 1):
        for statement in statements(script):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
