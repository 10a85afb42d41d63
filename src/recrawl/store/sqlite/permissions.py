"""Who may read a store: its owner. Headers of sources are in it, and what its owner reads.

A new file is for its owner alone from its first byte; the files SQLite puts beside it take the same mode. One that
everybody may read, as older versions made them, is closed when its owner next opens it for writing. A mode that shuts
out others but not the group was set on purpose, and stays.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

PRIVATE = 0o600
BESIDE = ("-wal", "-shm", "-journal", ".lock")


def create(path: Path) -> None:
    """Make an empty file for the owner alone, unless there is one; whoever opens it says what is wrong if it fails.

    One that is there is not touched: to close it would take the locks of this process from it.
    """
    with suppress(OSError):
        os.close(os.open(path.resolve(), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))


def shut_out_others(path: Path) -> None:
    """Take everybody else's permission from a store and the files beside it, if there is any for others."""
    for name in (str(path), *(f"{path}{end}" for end in BESIDE)):
        with suppress(OSError):
            found = os.stat(name)
            if found.st_mode & stat.S_IRWXO and found.st_uid == os.geteuid():
                os.chmod(name, stat.S_IMODE(found.st_mode) & stat.S_IRWXU)


def mode_beside(path: Path) -> int:
    """For a file beside a store: the mode the store has."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode) & 0o666 or PRIVATE
    except OSError:
        return PRIVATE
