"""Which store an address means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from recrawl.errors import StoreError, require
from recrawl.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from recrawl.store.postgres import PostgresStore


def open_store(url: str | Path, *, read_only: bool = False) -> SqliteStore | PostgresStore:
    """The store at an address: a path, or `sqlite:///path` (relative; a fourth slash makes it absolute).

    `postgresql://…` is for the team store, which comes with the `postgres` extra.
    """
    if isinstance(url, Path):
        return SqliteStore(url, read_only=read_only)
    scheme = urlsplit(url).scheme if "://" in url else ""
    if scheme in ("postgresql", "postgres"):
        require("psycopg", "a store in PostgreSQL", "postgres")
        from recrawl.store.postgres import PostgresStore

        return PostgresStore(url, read_only=read_only)
    if scheme == "sqlite":
        place = url.split("://", 1)[1]
        if not place.startswith("/") or len(place) < 2:
            raise StoreError(f"{url} names no file: write sqlite:///recrawl.db, or sqlite:////var/lib/recrawl.db")
        return SqliteStore(unquote(place[1:]), read_only=read_only)
    if scheme:
        # Not repeated: whoever mistypes a scheme may have written a password behind it.
        raise StoreError(f"a store is a file, sqlite:///file or postgresql://…, not {scheme}://")
    if not url:
        raise StoreError("no store was named: give a file")
    return SqliteStore(url, read_only=read_only)
