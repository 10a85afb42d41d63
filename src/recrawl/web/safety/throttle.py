"""Attempts, limited: per client and over all, as buckets that fill slowly."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict


class Throttle:
    """So many attempts at once, then one every so often.

    Parameters
        burst, every_s: per client
        burst_of_all, every_s_of_all: of all clients together; infinite where nobody may keep others out
        clients: how many are remembered; the one not seen for longest is forgotten first
    """

    def __init__(
        self,
        burst: float = 5.0,
        every_s: float = 12.0,
        burst_of_all: float = 50.0,
        every_s_of_all: float = 1.0,
        clients: int = 10_000,
    ) -> None:
        self._burst, self._every_s = burst, every_s
        self._burst_of_all, self._every_s_of_all = burst_of_all, every_s_of_all
        self._clients = clients
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._all = (burst_of_all, -math.inf)
        self._lock = threading.Lock()

    def wait_s(self, client: str, now: float, *, take: bool = True) -> float:
        """How long until there is an attempt left, 0 if there is one, which is taken unless told otherwise."""
        with self._lock:
            own = _filled(self._buckets.get(client, (self._burst, now)), now, self._burst, self._every_s)
            common = _filled(self._all, now, self._burst_of_all, self._every_s_of_all)
            wait = max((1.0 - own) * self._every_s, (1.0 - common) * self._every_s_of_all, 0.0)
            if take:
                taken = 1.0 if wait == 0.0 else 0.0
                self._buckets[client] = (own - taken, now)
                self._buckets.move_to_end(client)
                self._all = (common - taken, now)
                if len(self._buckets) > self._clients:
                    self._buckets.popitem(last=False)
            return wait

    def charge(self, client: str, now: float, attempts: float) -> None:
        """Take more attempts, those that are still to come included."""
        with self._lock:
            own = _filled(self._buckets.get(client, (self._burst, now)), now, self._burst, self._every_s)
            self._buckets[client] = (own - attempts, now)


def _filled(bucket: tuple[float, float], now: float, burst: float, every_s: float) -> float:
    tokens, at = bucket
    return min(burst, tokens + max(now - at, 0.0) / every_s)
