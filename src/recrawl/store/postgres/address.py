"""Where a store in PostgreSQL is: `postgresql://user@host:port/database?schema=name`.

What is left out comes from the environment, as for every PostgreSQL program (PGHOST, PGUSER, PGDATABASE, PGPASSWORD,
PGPASSFILE, ~/.pgpass). A password in the address is refused: addresses are seen in lists of processes, in settings
files and in logs.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from recrawl.errors import StoreError

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SECRETS = {"password", "sslpassword"}


class Address(msgspec.Struct, frozen=True):
    """One store.

    Parameters
        dsn: for the driver
        name: for people, without anything secret
        schema: whose tables are the store's
    """

    dsn: str
    name: str
    schema: str

    def lock(self, purpose: str) -> int:
        """The number of an advisory lock of this store's own."""
        text = f"recrawl/{self.schema}/{purpose}".encode()
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "big", signed=True)


def parsed(url: str) -> Address:
    """Of an address as people write it.

    >>> parsed("postgresql://crawler@db.example/news?schema=recrawl").name
    'postgresql://crawler@db.example/news'
    """
    try:
        parts = urlsplit(url)
        settings = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        _ = parts.port
    except ValueError:
        raise StoreError("the store's address is not of the form postgresql://user@host:port/database") from None
    if parts.password is not None or _SECRETS & {name.lower() for name in settings}:
        raise StoreError(
            "the store's address has a password in it, which others can read: leave it out, "
            "and set PGPASSWORD or write it into ~/.pgpass"
        )
    schema = settings.pop("schema", "recrawl")
    if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
        raise StoreError(f"schema={schema!r}: expected small letters, digits and _")
    name = urlunsplit(("postgresql", parts.netloc, parts.path, "", ""))
    if schema != "recrawl":
        name += f"?schema={schema}"
    return Address(urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(settings), "")), name, schema)
