"""Where compiled code is kept. It has to be somewhere: numba refuses to load a function that it could not keep.

That is beside the program, or in the user's cache, or where `NUMBA_CACHE_DIR` says. Where none of these can be written
to, as in a container with a read-only disk, a folder of this process takes it, and goes with it.
"""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
PASSING = "recrawl-compiled-"
"""How the name of a folder begins that goes with its process."""


def passing() -> bool:
    """Whether what is compiled now has to be compiled again at the next start."""
    return Path(os.environ.get(VARIABLE, "")).name.startswith(PASSING)


def find_a_place() -> None:
    """See to it that compiled code can be kept."""
    given = os.environ.get(VARIABLE)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if any(_writable(Path(place)) for place in ([given] if given else [os.path.dirname(__file__), cache])):
        return
    import shutil
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix=PASSING)
    except OSError:  # numba will say what is wrong
        return
    os.environ[VARIABLE] = folder
    if sys.modules.get("numba"):  # which has read its settings
        sys.modules["numba"].config.CACHE_DIR = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


def _writable(place: Path) -> bool:
    """Whether a folder can be written to, or made."""
    there = next((each for each in (place, *place.parents) if each.exists()), None)
    return there is not None and there.is_dir() and os.access(there, os.W_OK | os.X_OK)
