"""Work that is done again and again, as often as may be without taking more than a small part of the time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class BackgroundShare:
    """Does work, and says how long to rest after it.

    Parameters
        times: so many times as long as the work took the processor, the last time or this time: a first time, in which
            things are compiled or loaded, says nothing
        longest_s: but no longer than this
    """

    def __init__(self, times: float, longest_s: float) -> None:
        self._times, self._longest_s = times, longest_s
        self._took = 0.0
        self.rest_s = 0.0

    def do(self, work: Callable[[], Result]) -> Result:
        """What the work comes to; `rest_s` then is the pause to be made."""
        began = time.thread_time()
        result = work()
        before, self._took = self._took, time.thread_time() - began
        self.rest_s = min(self._times * min(before, self._took), self._longest_s)
        return result
