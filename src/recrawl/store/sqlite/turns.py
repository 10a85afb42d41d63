"""Who writes next: a lock that is handed on, so that one who writes without a pause does not keep another waiting.

Python's own may be taken again at once by whoever let go of it, however long another thread has waited.
"""

from __future__ import annotations

import threading


class Turns:
    """Threads take turns; one that has its turn may take it again within."""

    def __init__(self) -> None:
        self._next, self._free = threading.Lock(), threading.Lock()
        self._thread, self._depth = 0, 0

    def __enter__(self) -> None:
        me = threading.get_ident()
        if self._thread != me:
            # Whoever is next waits for the turn with this in hand, and whoever had the turn waits behind.
            with self._next:
                self._free.acquire()
            self._thread = me
        self._depth += 1

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._thread = 0
            self._free.release()
