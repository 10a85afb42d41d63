"""A timer on whatever loop Scrapy runs: asyncio's, or a reactor of Twisted's without it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def call_later(delay_s: float, function: Callable[[], None]) -> Any:
    """Scrapy's own since 2.14, the reactor's before; what comes back can be cancelled."""
    try:
        from scrapy.utils.asyncio import call_later as later
    except ImportError:
        from twisted.internet import reactor

        return reactor.callLater(delay_s, function)  # type: ignore[arg-type]
    return later(delay_s, function)


class Alarm:
    """Calls a function once, at the earliest of the times asked for since it last did."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._call: Any = None
        self.at = float("inf")
        self.rang_for = float("inf")
        """The time it was last to ring at, by the monotonic clock."""

    def set(self, delay_s: float) -> None:
        """Ring in so many seconds, or earlier; inf asks for nothing."""
        at = time.monotonic() + delay_s
        if at >= self.at:
            return
        self.cancel()
        self.at = at
        self._call = call_later(max(delay_s, 0.0), self._ring)

    def cancel(self) -> None:
        """Do not ring."""
        call, self._call, self.at = self._call, None, float("inf")
        if call is not None:
            call.cancel()

    def _ring(self) -> None:
        self._call, self.rang_for, self.at = None, self.at, float("inf")
        self._function()
