"""A copy of a store in use. One read transaction sees one moment of it, however long the copy takes.

The copy appears under its name only when it is whole and on disk; a copy cut short leaves a `.part` file behind.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from recrawl.errors import StoreError
from recrawl.store.sqlite import permissions
from recrawl.store.sqlite.database import Database, translated


def copy(database: Database, to: Path) -> int:
    """Copy all of it into a new file; the size of that, in bytes."""
    if to.exists():
        raise StoreError(f"{to} is there already: name a new file")
    if not to.absolute().parent.is_dir():
        raise StoreError(f"there is no folder {to.absolute().parent} to put a copy in")
    part = Path(f"{to}.part")
    with translated(to):
        part.unlink(missing_ok=True)
        permissions.create(part)
        with database.reading() as source, closing(sqlite3.connect(part)) as target:
            source.backup(target)
        _flush(part)
        os.replace(part, to)
        _flush(to.absolute().parent)
        return to.stat().st_size


def _flush(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
