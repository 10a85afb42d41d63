"""The schema, as numbered steps: `NNN_what.sql`, applied in order, all pending ones in one transaction.

A step that was released is never edited: databases that took it do not take it again. The table `migrations` says which
were taken. A lock of the server's keeps two programs from bringing one store up to date at the same time.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import psycopg

from recrawl.errors import StoreError
from recrawl.store import upgrading
from recrawl.store.postgres.connection import PostgresConnection

# One statement, so that no other program's migration comes between the two looks.
_LOOK = """
SELECT coalesce(bool_or(relname = 'migrations'), FALSE), count(*) FROM pg_class
WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'
"""
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'
"""


@cache
def steps() -> tuple[str, ...]:
    """The scripts, in order; step n is the n-th of them."""
    scripts = sorted((f for f in files(__name__).iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return tuple(f.read_text(encoding="utf-8") for f in scripts)


def taken(connection: PostgresConnection, name: str, schema: str) -> int:
    """How many steps a schema has taken, looking only; one of another program, or from the future, is refused."""
    ours, tables = connection.fetchrow(_LOOK, f'"{schema}"')
    if not ours:
        if tables:
            raise StoreError(f"store {name}: schema {schema} is of another program: name one by ?schema=…")
        return 0
    number = int(connection.fetchval(f'SELECT coalesce(max(number), 0) FROM "{schema}".migrations'))
    if number > len(steps()):
        raise StoreError(
            f"store {name} was written by a newer recrawl (schema {number}, this one knows {len(steps())}): "
            "upgrade recrawl to open it"
        )
    return number


def migrate(connection: PostgresConnection, name: str, schema: str, lock: int) -> None:
    """Take the steps this schema has not taken."""
    if taken(connection, name, schema) == len(steps()):
        return
    with connection.transaction():
        connection.run("SELECT pg_advisory_xact_lock($1)", lock)
        before, size = taken(connection, name, schema), int(connection.fetchval(_SIZE, f'"{schema}"'))
        upgrading.tell(name, before, len(steps()), size)
        connection.run(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        connection.run(
            "CREATE TABLE IF NOT EXISTS migrations (number bigint PRIMARY KEY, taken timestamptz DEFAULT now())"
        )
        try:
            for number, script in enumerate(steps()[before:], before + 1):
                connection.run(script)
                connection.run("INSERT INTO migrations VALUES ($1)", number)
        except psycopg.errors.DiskFull as error:
            if not before:
                raise
            raise upgrading.no_room(name, before, len(steps()), size, "free it on the server's disk") from error


def refuse_older(number: int, name: str) -> None:
    """For those who may only read: a store that is not there, or not up to date, cannot be made so."""
    if not number:
        raise StoreError(f"there is no store at {name}")
    if number < len(steps()):
        raise StoreError(
            f"store {name} was written by an older recrawl (schema {number}, this one needs {len(steps())}): "
            "open it for writing once to bring it up to date"
        )
