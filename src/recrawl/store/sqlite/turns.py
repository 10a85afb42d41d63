"""Who writes next: a lock that is handed on, so that one who writes without a pause does not keep another waiting.

Python's own may be taken again at once by whoever let go of it, however long another thread has waited.
"""

from __future__ import annotations

import threading
from contextlib import suppress


class Turns:
    """Threads take turns; one that has its turn may take it again within. One interrupted while it waits gets none."""

    def __init__(self) -> None:
        # The second knows whose it is, so that it is never let go of for somebody else.
        self._next, self._free = threading.Lock(), threading.RLock()
        self._thread, self._depth = 0, 0

    def __enter__(self) -> None:
        me = threading.get_ident()
        try:
            self._take(again=self._thread == me)
        except BaseException:  # Ctrl-C may come when the turn is in hand, before anybody knows of it
            with suppress(RuntimeError):  # or it was not
                self._free.release()
            raise
        self._thread = me
        self._depth += 1

    def _take(self, again: bool) -> None:
        if again:
            self._free.acquire()
            return
        # Whoever is next waits for the turn with this in hand, and whoever had the turn waits behind.
        with self._next:
            self._free.acquire()

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._thread = 0
        self._free.release()
