"""Waiting for what another task, thread or process does: look again until it is so, and fail if it never is.

The only place where tests sleep. A sleep elsewhere is what its test is about, and says so on its line
(`tests/unit/test_tests.py`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

AT_MOST_S = 120.0
"""Far longer than anything waited for takes on a busy machine."""
AGAIN_S = 0.01


def until(happened: Callable[[], object], at_most_s: float = AT_MOST_S, again_s: float = AGAIN_S) -> None:
    """Wait for something that another thread or process does."""
    last = time.monotonic() + at_most_s
    while not happened():
        assert time.monotonic() < last, f"it did not happen within {at_most_s:g} s"
        time.sleep(again_s)


async def soon(happened: Callable[[], object], at_most_s: float = AT_MOST_S, again_s: float = AGAIN_S) -> None:
    """Wait for something that another task does, or a thread or process while tasks go on."""
    last = time.monotonic() + at_most_s
    while not happened():
        assert time.monotonic() < last, f"it did not happen within {at_most_s:g} s"
        await asyncio.sleep(again_s)
